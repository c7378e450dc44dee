"""CUDA graphs of TensorRT engines: which shapes are captured, and how a captured one runs.

As Triton's ``optimization { cuda { graphs: true } }``. Never run on hardware yet.
"""

from collections.abc import Mapping
from typing import Any

import torch
from msgspec import Struct

from worker_runtime.backends.configuration import bad_value
from worker_runtime.backends.graph_sizes import FIELD, GraphSize, graph_sizes, padded
from worker_runtime.backends.tensorrt.contexts import Context, Workplace
from worker_runtime.backends.tensorrt.engines import Shape
from worker_runtime.errors import BackendFailed

Tail = frozenset[tuple[str, Shape]]


class GraphShapes(Struct, frozen=True):
    """``shapes`` of the inputs, by name, with the rows of ``size`` where the model batches."""

    size: GraphSize
    shapes: Mapping[str, Shape]


def wanted_graphs(config: Any, optimal: Mapping[str, Shape]) -> list[GraphShapes]:
    """The graphs that a configuration asks for. Raises ConfigInvalid.

    ``optimal`` are the inputs' best shapes in a profile: they fill what a specification leaves
    open. There are none for ragged batches, whose first axis is not the batch.
    """
    ragged = config.batch_input or any(item.allow_ragged_batch for item in config.input)
    if ragged or not config.optimization.cuda.graphs:
        return []
    return [GraphShapes(size, _shapes(size, optimal)) for size in graph_sizes(config)]


def _shapes(size: GraphSize, optimal: Mapping[str, Shape]) -> dict[str, Shape]:
    unknown = sorted(set(size.dims) - set(optimal))
    if unknown:
        raise bad_value(f"graph_spec names input '{unknown[0]}', which is not there", FIELD)
    lead = (size.rows,) if size.rows else ()
    found = {}
    for name, shape in optimal.items():
        dims = size.dims.get(name, shape[len(lead) :])
        if len(dims) != len(shape) - len(lead):
            raise bad_value(
                f"graph_spec gives input '{name}' {len(dims)} dimensions, expected "
                f"{len(shape) - len(lead)}",
                FIELD,
            )
        found[name] = (*lead, *dims)
    return found


class CapturedGraph:
    """One context's work for one set of shapes, captured with the memory that it reads and writes.

    ``inputs`` and ``outputs`` are that memory. Raises RuntimeError or BackendFailed when the work
    cannot be captured. Made and replayed within the stream of ``place``.
    """

    def __init__(
        self,
        place: Workplace,
        context: Context,
        wanted: GraphShapes,
        inputs: Mapping[str, torch.Tensor],
        outputs: Mapping[str, torch.Tensor],
    ) -> None:
        self.wanted = wanted
        self.inputs = inputs
        self._context = context  # why kept: the graph uses what it holds on the device
        self._outputs = outputs
        # why once before: what TensorRT does for new shapes must not be captured
        context.run()
        place.stream.drain()
        make: Any = torch.cuda.CUDAGraph
        self._graph = make()
        # why not torch.cuda.graph: it waits for the whole device and empties the allocator's cache,
        # while other models are served. why thread_local: they go on using the device meanwhile.
        self._graph.capture_begin(capture_error_mode="thread_local")
        try:
            context.run()
        except BackendFailed:
            self._abandon()
            raise
        self._graph.capture_end()

    def _abandon(self) -> None:
        """End a capture that failed, so that the stream is used as before."""
        try:
            self._graph.capture_end()
        except RuntimeError:
            # what it says is the consequence: why it failed is told already
            return

    @property
    def size(self) -> int:
        """Bytes of the fixed memory."""
        return sum(tensor.nbytes for tensor in (*self.inputs.values(), *self._outputs.values()))

    def fronts(self, rows: int) -> dict[str, torch.Tensor]:
        """Where inputs of ``rows`` belong; 0 where the model does not batch."""
        return {name: tensor[:rows] if rows else tensor for name, tensor in self.inputs.items()}

    def replay(self, rows: int) -> dict[str, torch.Tensor]:
        """The outputs of ``rows``, in the fixed memory. Inputs behind them are what was there."""
        self._graph.replay()
        whole = self.wanted.size.rows
        return {
            name: tensor[:rows] if rows and tensor.dim() and len(tensor) == whole else tensor
            for name, tensor in self._outputs.items()
        }


class Graphs:
    """The captured graphs of an instance, found by what their shapes have besides the rows."""

    def __init__(self, *, batched: bool) -> None:
        self._batched = batched
        self._found: dict[Tail, dict[int, CapturedGraph]] = {}

    def has(self, wanted: GraphShapes) -> bool:
        _, tail = self._split(wanted.shapes)
        return wanted.size.rows in self._found.get(tail, {})

    def add(self, graph: CapturedGraph) -> None:
        _, tail = self._split(graph.wanted.shapes)
        self._found.setdefault(tail, {})[graph.wanted.size.rows] = graph

    def all(self) -> list[CapturedGraph]:
        return [graph for held in self._found.values() for graph in held.values()]

    def find(self, shapes: Mapping[str, Shape]) -> tuple[CapturedGraph | None, int]:
        """The one that takes these shapes with the least padding, if any does, and their rows."""
        if not self._found:
            return None, 0
        rows, tail = self._split(shapes)
        held = self._found.get(tail, {})
        size = padded(rows, [graph.wanted.size for graph in held.values()])
        return (None if size is None else held[size]), rows

    def _split(self, shapes: Mapping[str, Shape]) -> tuple[int, Tail]:
        """The rows that all inputs have, and the rest; no rows where they do not agree."""
        if not self._batched:
            return 0, frozenset(shapes.items())
        rows = {shape[0] for shape in shapes.values()}
        tail = frozenset((name, shape[1:]) for name, shape in shapes.items())
        return (rows.pop() if len(rows) == 1 else -1), tail
