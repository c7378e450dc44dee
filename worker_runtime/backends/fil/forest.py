"""A forest in memory: read by Treelite, run by its inference library on the CPU."""

from pathlib import Path
from typing import Any

import numpy as np
import treelite

from worker_runtime.backends.base import Array
from worker_runtime.backends.fil.parameters import ForestOptions
from worker_runtime.errors import BackendFailed, LoadFailed, Problem

_MULTICLASS = 2  # treelite's TaskType.kMultiClf


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
    try:
        found = _read(path, options)
    # why so wide: a broken file may be anything from bad JSON to a wrong encoding.
    except Exception as error:
        message = f"Model failed to load into Treelite with error: {error}"
        problem = Problem(
            "ModelLoadFailed",
            f"Treelite {treelite.__version__} cannot read this as {options.model_type}",
            model=model,
            detail=str(error),
            hints=("parameter model_type says what kind of file it is",),
        )
        raise LoadFailed(message, problem) from error
    header = found.get_header_accessor()
    if int(header.get_field("num_target")[0]) != 1:
        message = (
            f"failed to load model '{model}': it has several targets, which fil does not serve"
        )
        raise LoadFailed(message, Problem("ModelLoadFailed", message, model=model))
    if options.probabilities and int(header.get_field("task_type")[0]) == _MULTICLASS:
        _give_probabilities(header)
    return found


def _give_probabilities(header: Any) -> None:
    """Some files ask for the class alone (multi:softmax); probabilities are wanted."""
    vectors = int(header.get_field("leaf_vector_shape")[1]) > 1
    header.set_field("postprocessor", "identity_multiclass" if vectors else "softmax")


def _read(path: Path, options: ForestOptions) -> Any:
    unknown = options.allow_unknown_field
    match options.model_type:
        case "xgboost":
            return treelite.frontend.load_xgboost_model_legacy_binary(path)
        case "xgboost_json":
            return treelite.frontend.load_xgboost_model(
                path, format_choice="json", allow_unknown_field=unknown
            )
        case "xgboost_ubj":
            return treelite.frontend.load_xgboost_model(
                path, format_choice="ubjson", allow_unknown_field=unknown
            )
        case "lightgbm":
            return treelite.frontend.load_lightgbm_model(path)
    return treelite.Model.deserialize(path)
