"""CUDA graphs of TensorRT engines: which shapes are captured, and how a captured one runs.

As Triton's ``optimization { cuda { graphs: true } }``. Never run on hardware yet.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from msgspec import Struct

from worker_runtime.backends.configuration import bad_value

logger = logging.getLogger(__name__)
_FIELD = "optimization.cuda"
_DEFAULT_ROWS = (1, 2, 3, 4, 6, 8, 12, 16)
Shape = tuple[int, ...]


class GraphSpec(Struct, frozen=True):
    """``shapes`` of the inputs, by name. Batches from ``fewest`` rows on may run in it, too."""

    shapes: Mapping[str, Shape]
    fewest: int

    @property
    def rows(self) -> int:
        return next(iter(self.shapes.values()))[0]


def wanted_graphs(config: Any, optimal: Mapping[str, Shape]) -> list[GraphSpec]:
    """The graphs that a configuration asks for. Raises ConfigInvalid.

    ``optimal`` are the inputs' best shapes in a profile: they fill what a specification leaves
    open. Without ``graph_spec`` there is one for each preferred batch size, or for some small
    ones, and one for the largest batch.
    """
    cuda, batches = config.optimization.cuda, config.max_batch_size > 0
    if not cuda.graphs:
        return []
    if not cuda.graph_spec:
        return [
            GraphSpec({name: _with_rows(shape, rows) for name, shape in optimal.items()}, rows)
            for rows in _usual_rows(config)
        ] or [GraphSpec(dict(optimal), 0)]
    found = []
    for spec in cuda.graph_spec:
        _check(spec.batch_size, config)
        shapes = {}
        for name, shape in optimal.items():
            if name in spec.input:
                dims = tuple(spec.input[name].dim)
                shape = (spec.batch_size, *dims) if batches else dims
            shapes[name] = _with_rows(shape, spec.batch_size) if batches else shape
        unknown = sorted(set(spec.input) - set(optimal))
        if unknown:
            raise bad_value(f"graph_spec names input '{unknown[0]}', which is not there", _FIELD)
        fewest = spec.batch_size
        if spec.HasField("graph_lower_bound"):
            fewest = spec.graph_lower_bound.batch_size or fewest
            _check(fewest, config)
        found.append(GraphSpec(shapes, fewest))
    return found


def _check(rows: int, config: Any) -> None:
    lowest = 1 if config.max_batch_size else 0
    if not lowest <= rows <= config.max_batch_size:
        raise bad_value(
            f"graph_spec of model '{config.name}' has batch_size {rows}, expected {lowest} to "
            f"{config.max_batch_size}",
            _FIELD,
        )


def _usual_rows(config: Any) -> list[int]:
    if not config.max_batch_size:
        return []
    choice = config.WhichOneof("scheduling_choice")
    preferred: Sequence[int] = _DEFAULT_ROWS
    if choice == "dynamic_batching":
        preferred = config.dynamic_batching.preferred_batch_size
    elif choice == "sequence_batching" and config.sequence_batching.HasField("oldest"):
        preferred = config.sequence_batching.oldest.preferred_batch_size
    return sorted(
        {*(rows for rows in preferred if rows <= config.max_batch_size)} | {config.max_batch_size}
    )


def _with_rows(shape: Shape, rows: int) -> Shape:
    return (rows, *shape[1:])


class CapturedGraph:
    """One context's work for one set of shapes, captured with the memory that it reads and writes.

    ``inputs`` and ``outputs`` are that memory. Raises RuntimeError when it cannot be captured.
    """

    def __init__(
        self,
        context: Any,
        spec: GraphSpec,
        inputs: Mapping[str, torch.Tensor],
        outputs: Mapping[str, torch.Tensor],
        stream: Any,
    ) -> None:
        self.spec = spec
        self._inputs = inputs
        self._outputs = outputs
        handle = int(stream.cuda_stream) if stream is not None else 0
        with torch.cuda.stream(stream):
            # why once before: what TensorRT allocates for new shapes must not be captured.
            if not context.execute_async_v3(handle):
                raise RuntimeError("the engine could not be run")
            if stream is not None:
                stream.synchronize()
        make: Any = torch.cuda.CUDAGraph
        self._graph = make()
        # why thread_local: other models' threads go on using the device meanwhile.
        with torch.cuda.graph(self._graph, stream=stream, capture_error_mode="thread_local"):
            if not context.execute_async_v3(handle):
                raise RuntimeError("the engine could not be captured")

    def takes(self, shapes: Mapping[str, Shape]) -> bool:
        """These shapes run in this graph: exactly, or with fewer rows where that is allowed."""
        wanted = self.spec.shapes
        if shapes.keys() != wanted.keys():
            return False
        if all(shapes[name] == shape for name, shape in wanted.items()):
            return True
        rows = {shape[0] for shape in shapes.values() if shape}
        return (
            len(rows) == 1
            and self.spec.fewest <= next(iter(rows)) < self.spec.rows
            and all(shapes[name][1:] == shape[1:] for name, shape in wanted.items())
        )

    def run(self, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The outputs, still in the graph's memory: copy them before the next run."""
        for name, tensor in tensors.items():
            self._inputs[name][: len(tensor)].copy_(tensor, non_blocking=True)
        self._graph.replay()
        rows = len(next(iter(tensors.values())))
        return {
            name: tensor[:rows] if len(tensor) == self.spec.rows else tensor
            for name, tensor in self._outputs.items()
        }
