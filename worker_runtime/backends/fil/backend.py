"""Serves forests under the names and with the shapes of Triton's FIL backend."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from worker_runtime.backends.base import Array, Instance, LoadSpec
from worker_runtime.backends.capabilities import Capabilities
from worker_runtime.backends.configuration import bad_value
from worker_runtime.backends.fil.forest import Forest, read_forest
from worker_runtime.backends.fil.parameters import FILENAMES, ForestOptions, forest_options
from worker_runtime.errors import LoadFailed, Problem, Unavailable
from worker_runtime.types.signature import ModelGraph
from worker_runtime.types.tensor import BY_NUMBER

logger = logging.getLogger(__name__)
INPUT, OUTPUT, SHAPLEY = "input__0", "output__0", "treeshap_output"


class ForestInstance:
    """All instances of a model share its trees, which nobody changes."""

    def __init__(self, forest: Forest, width: int) -> None:
        self._forest: Forest | None = forest
        self._width = width

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        if self._forest is None:
            raise Unavailable("the model was unloaded")
        rows = inputs[INPUT]
        found = self._forest.predict(rows.reshape(len(rows), -1), self._width)
        return [found for _ in outputs]

    def close(self) -> None:
        self._forest = None


class ForestModel:
    """``graph`` is None: what comes out depends on the parameters, so the configuration says it."""

    graph: ModelGraph | None = None

    def __init__(self, instances: Sequence[ForestInstance], inline: Instance) -> None:
        self.instances = instances
        self.inline: Instance | None = inline

    def close(self) -> None:
        for instance in self.instances:
            instance.close()
        self.instances = ()
        self.inline = None


class FilBackend:
    capabilities = Capabilities(datatypes=frozenset({"FP32"}))

    def load(self, spec: LoadSpec) -> ForestModel:
        """Raises LoadFailed or ConfigInvalid."""
        options = forest_options(spec.parameters, spec.name)
        on_gpu = [place.name for place in spec.placements if place.gpu is not None]
        if on_gpu:
            logger.warning(
                "model '%s': forests run on the CPU here, also its instances of KIND_GPU (%s)",
                spec.name,
                ", ".join(on_gpu),
            )
        model = read_forest(_file(spec, options), options, spec.name)
        threads = options.threads
        if threads < 1:
            threads = max(1, spec.cores // max(1, len(spec.placements)))
        forest = Forest(model, options, threads)
        width = check(spec.config, forest, options)
        instances = [ForestInstance(forest, width) for _ in spec.placements]
        # why of one thread: the event loop must not wait for others to wake.
        alone = ForestInstance(Forest(model, options, 1), width)
        return ForestModel(instances, alone)


def check(config: Any, forest: Forest, options: ForestOptions) -> int:
    """How many values per row are configured. Raises ConfigInvalid when they cannot fit."""
    start = f"unable to load model '{config.name}', "
    inputs = {item.name: item for item in config.input}
    outputs = {item.name: item for item in config.output}
    if SHAPLEY in outputs:
        raise bad_value(f"{start}output '{SHAPLEY}' is not offered by this server", "output")
    if list(inputs) != [INPUT]:
        raise bad_value(f"{start}expected one input '{INPUT}', got {_list(inputs)}", "input")
    if list(outputs) != [OUTPUT]:
        raise bad_value(f"{start}expected one output '{OUTPUT}', got {_list(outputs)}", "output")
    for item in (inputs[INPUT], outputs[OUTPUT]):
        if BY_NUMBER[item.data_type].name != "FP32":
            raise bad_value(f"{start}tensor '{item.name}' must be TYPE_FP32", "data_type")
    columns = _columns(inputs[INPUT], config)
    if columns not in (-1, forest.features):
        raise bad_value(
            f"{start}configuration expects {columns} features, model provides {forest.features}",
            "input[0].dims",
        )
    width = _columns(outputs[OUTPUT], config)
    allowed = _widths(forest, options)
    if width != -1 and width not in allowed:
        raise bad_value(
            f"{start}configuration expects {width} values per row in '{OUTPUT}', model provides "
            f"{' or '.join(map(str, allowed))}",
            "output[0].dims",
        )
    return width


def _widths(forest: Forest, options: ForestOptions) -> tuple[int, ...]:
    """The numbers of values per row that a configuration may say."""
    if options.classifier and not options.probabilities:
        return (1,)
    if options.classifier and forest.classes == 1:
        return (1, 2)
    return (forest.classes,)


def _columns(item: Any, config: Any) -> int:
    """The elements of one row, -1 when the configuration leaves them open."""
    shape = tuple(item.reshape.shape) if item.HasField("reshape") else tuple(item.dims)
    dims = shape if config.max_batch_size > 0 else shape[1:]
    return -1 if -1 in dims else int(np.prod(dims, dtype=np.int64))


def _list(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


def _file(spec: LoadSpec, options: ForestOptions) -> Path:
    path = spec.path / (spec.filename or FILENAMES[options.model_type])
    if path.is_dir():
        path = path / FILENAMES[options.model_type]
    if not path.is_file():
        message = f"unable to find '{path}' for model '{spec.name}'"
        hint = f"model_type {options.model_type} is read from {FILENAMES[options.model_type]}"
        raise LoadFailed(
            message, Problem("ModelLoadFailed", message, model=spec.name, hints=(hint,))
        )
    return path
