"""Batches of requests whose shapes differ: flat inputs, and tensors that tell them apart."""

from collections.abc import Sequence
from time import monotonic_ns

import numpy as np

from worker_runtime.backends.base import Array, Instance
from worker_runtime.core.execution.answers import Answers, Times
from worker_runtime.core.execution.executor import Batch, Executor, flat, joined, union
from worker_runtime.core.statistics import FailureReason
from worker_runtime.errors import BackendFailed, Internal, RuntimeFault
from worker_runtime.types.request import Arrays
from worker_runtime.types.signature import BatchInput, BatchInputKind, BatchTensors, Signature
from worker_runtime.types.tensor import element_count

Shape = tuple[int, ...]


class RaggedExecutor(Executor):
    """Inputs that allow ragged batches reach the model as one flat tensor, alone or in a batch.

    Its outcome is a list of arrays per request, each for the request's own outputs.
    """

    def __init__(self, signature: Signature, answers: Answers, tensors: BatchTensors) -> None:
        super().__init__(signature, answers)
        self._ragged = frozenset(spec.name for spec in signature.inputs if spec.ragged)
        self._tensors = tensors
        self._sources = dict(tensors.scattered)

    def run(self, instance: Instance, batch: Batch, start: int) -> tuple[list[Arrays], Times]:  # type: ignore[override] # its own settle takes it
        rows = sum([request.plan.rows for request in batch])
        feed: dict[str, Array] = {}
        shapes: dict[str, list[Shape]] = {}
        for index, item in enumerate(batch[0].plan.inputs):
            shapes[item.name] = [request.plan.inputs[index].shape for request in batch]
            parts = [flat(request.inputs[index], item) for request in batch]
            if item.name in self._ragged:
                feed[item.name] = np.concatenate(parts)
            else:
                lead = (rows, *item.shape[1:]) if self._batched else item.shape
                feed[item.name] = joined(parts, item, lead)
        for tensor in self._tensors.inputs:
            made = batch_input(tensor, self._shapes(shapes, tensor.source))
            for target in tensor.targets:
                feed[target] = made
        outputs = union(batch, self._names)
        fed = monotonic_ns()
        arrays = instance.execute(feed, outputs)
        computed = monotonic_ns()
        pieces = {
            name: self._pieces(name, array, batch, shapes, rows)
            for name, array in zip(outputs, arrays, strict=True)
        }
        outcome = [
            [pieces[name][number] for name in request.plan.outputs]
            for number, request in enumerate(batch)
        ]
        return outcome, (start, fed, computed, monotonic_ns())

    def settle(
        self,
        batch: Batch,
        outcome: list[Arrays] | None,  # type: ignore[override] # what its own run gives
        fault: RuntimeFault | None,
        times: Times,
    ) -> None:
        if outcome is None:
            fault = fault or BackendFailed("the model gave no outputs")
            self._answers.execution_failed(fault, times[0])
            for request in batch:
                self._answers.fail(request, fault, FailureReason.BACKEND)
            return
        self._answers.count(batch, times)
        for request, arrays in zip(batch, outcome, strict=True):
            self._answers.deliver(request, arrays)

    def _shapes(self, shapes: dict[str, list[Shape]], source: str) -> list[Shape]:
        found = shapes.get(source)
        if found is None:
            raise Internal(f"batch tensors of input '{source}' need it in every request")
        return found

    def _pieces(
        self, name: str, array: Array, batch: Batch, shapes: dict[str, list[Shape]], rows: int
    ) -> Arrays:
        """What each request of the batch gets of one output."""
        source = self._sources.get(name)
        if source is not None:
            return scattered(name, array, self._specs[name].dims, self._shapes(shapes, source))
        array = self._checked(name, array, rows)
        if not self._batched:
            return [array]
        ends = np.cumsum([request.plan.rows for request in batch])[:-1]
        return list(np.split(array, ends))


def batch_input(tensor: BatchInput, shapes: Sequence[Shape]) -> Array:
    """One tensor about a batch whose requests have an input of these shapes, batch axis first."""
    counts = [element_count(shape) for shape in shapes]
    dtype, kind = tensor.datatype.dtype, tensor.kind
    if kind is BatchInputKind.ELEMENT_COUNT:
        return np.array(counts, dtype)
    if kind is BatchInputKind.ACCUMULATED_ELEMENT_COUNT:
        return np.cumsum(counts).astype(dtype)
    if kind is BatchInputKind.ACCUMULATED_ELEMENT_COUNT_WITH_ZERO:
        return np.cumsum([0, *counts]).astype(dtype)
    if kind is BatchInputKind.MAX_ELEMENT_COUNT_AS_SHAPE:
        return np.zeros(max(counts), dtype)
    items = [shape[1:] for shape in shapes for _ in range(shape[0])]
    table = np.array(items, dtype).reshape(len(items), len(shapes[0]) - 1)
    return table.reshape(-1) if kind is BatchInputKind.ITEM_SHAPE_FLATTEN else table


def scattered(name: str, array: Array, dims: Shape, shapes: Sequence[Shape]) -> Arrays:
    """Cut a flat output: each request gets as much as its input's shape says, in that shape.

    Fixed ``dims`` of the output win over the input's. Raises BackendFailed.
    """
    whole, start = array.reshape(-1), 0
    pieces = []
    for shape in shapes:
        seen = shape[1:]
        if len(seen) == len(dims):
            seen = tuple(got if want == -1 else want for want, got in zip(dims, seen, strict=True))
        piece = (*shape[:1], *seen)
        stop = start + element_count(piece)
        if stop > whole.size:
            raise BackendFailed(
                f"output '{name}' has {whole.size} elements, too few to give each request the "
                "shape of its input"
            )
        pieces.append(np.ascontiguousarray(whole[start:stop]).reshape(piece))
        start = stop
    return pieces
