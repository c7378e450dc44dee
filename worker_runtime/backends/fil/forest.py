"""A forest in memory: read by Treelite, run by its inference library on the CPU."""

import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import treelite

from worker_runtime.backends.base import Array
from worker_runtime.backends.fil import trial
from worker_runtime.backends.fil.parameters import ForestOptions
from worker_runtime.errors import BackendFailed, InvalidArgument, LoadFailed, Problem

_MULTICLASS = 2  # treelite's TaskType.kMultiClf
# How long a file may take to read: damaged ones can make Treelite loop.
PATIENCE_S, _BYTES_PER_S = 20.0, 5_000_000


class Forest:
    """``classes`` is 1 for regressors and for classifiers with one score for two classes."""

    def __init__(self, model: Any, options: ForestOptions, threads: int) -> None:
        header = model.get_header_accessor()
        self.features: int = model.num_feature
        self.classes = int(header.get_field("num_class")[0])
        self._model = model
        self._options = options
        self._threads = threads
        self._precise = model.input_type == "float64"

    def predict(self, rows: Array, width: int) -> Array:
        """Scores, probabilities or classes, as FP32; ``width`` is how many are configured per row.

        One per row comes without an axis of its own, as from Triton.
        """
        if rows.shape[1] != self.features:
            raise InvalidArgument(
                f"unexpected number of features: expected {self.features}, got {rows.shape[1]}"
            )
        given = rows.astype(np.float64) if self._precise else rows
        try:
            found = treelite.gtil.predict(self._model, given, nthread=self._threads)
        except treelite.TreeliteError as error:
            raise BackendFailed(str(error)) from error
        scores = np.asarray(found).reshape(len(rows), -1)
        options = self._options
        if options.classifier and not options.probabilities:
            above: Array = scores[:, 0] > options.threshold
            chosen: Array = scores.argmax(axis=1) if self.classes > 1 else above
            return chosen.astype(np.float32)
        if options.classifier and self.classes == 1 and width == 2:
            scores = np.concatenate((1.0 - scores, scores), axis=1)
        scores = scores.astype(np.float32)
        return scores[:, 0].copy() if scores.shape[1] == 1 else scores


def read_forest(path: Path, options: ForestOptions, model: str) -> Any:
    """Raises LoadFailed with Treelite's own words."""
    stat = path.stat()
    stamp = (stat.st_ino, stat.st_mtime_ns, stat.st_size)
    unknown = options.allow_unknown_field
    wrong = tried(path, stamp, options.model_type, "1" if unknown else "0")
    if wrong:
        raise _refused(wrong, options, model)
    try:
        found = trial.read_file(str(path), options.model_type, allow_unknown_field=unknown)
    except Exception as error:  # why so wide: Treelite's own errors and Python's
        raise _refused(str(error), options, model) from error
    header = found.get_header_accessor()
    if int(header.get_field("num_target")[0]) != 1:
        message = (
            f"failed to load model '{model}': it has several targets, which fil does not serve"
        )
        raise LoadFailed(message, Problem("ModelLoadFailed", message, model=model))
    if options.probabilities and int(header.get_field("task_type")[0]) == _MULTICLASS:
        _give_probabilities(header)
    return found


def _refused(why: str, options: ForestOptions, model: str) -> LoadFailed:
    problem = Problem(
        "ModelLoadFailed",
        f"Treelite {treelite.__version__} cannot read this as {options.model_type}",
        model=model,
        detail=why,
        hints=("parameter model_type says what kind of file it is",),
    )
    return LoadFailed(f"Model failed to load into Treelite with error: {why}", problem)


def _give_probabilities(header: Any) -> None:
    """Some files ask for the class alone (multi:softmax); probabilities are wanted."""
    vectors = int(header.get_field("leaf_vector_shape")[1]) > 1
    header.set_field("postprocessor", "identity_multiclass" if vectors else "softmax")


@functools.lru_cache(maxsize=256)
def tried(
    path: Path,
    stamp: tuple[int, int, int],
    model_type: str,
    unknown: str,
) -> str:
    """Read the file in a process of its own; what is wrong with it, or "".

    ``stamp`` (inode, time, size) tells one file of that path from another, which is tried again.
    """
    command = [sys.executable, "-P", trial.__file__, str(path), model_type, unknown]
    limit_s = PATIENCE_S + stamp[2] / _BYTES_PER_S
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return f"the file is damaged: reading it takes more than {limit_s:.0f} s"
    if not done.returncode:
        return ""
    if done.returncode < 0:
        return f"the file is damaged: the process that read it ended by signal {-done.returncode}"
    said = done.stdout.decode("utf-8", "replace").rpartition("\n")[2]
    try:
        return str(json.loads(said))
    except ValueError:
        return done.stderr.decode("utf-8", "replace")[-500:]
