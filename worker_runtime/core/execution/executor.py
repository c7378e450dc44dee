"""One batch: inputs gathered into arrays, the model run, its outputs checked and handed out."""

from time import monotonic_ns
from typing import Any, Protocol

import numpy as np

from worker_runtime.backends.base import Array, Instance
from worker_runtime.core.execution.answers import Answers, Times, as_fault
from worker_runtime.core.statistics import FailureReason
from worker_runtime.errors import BackendFailed, RuntimeFault
from worker_runtime.types.request import Arrays, InferRequest, PlannedInput
from worker_runtime.types.signature import Signature

Batch = list[InferRequest]


class BatchExecutor(Protocol):
    """The way of one kind of instance: ``attempt`` in its thread, then ``settle`` in the loop."""

    @property
    def open(self) -> int:
        """Requests whose batch is over and that still send answers."""
        ...

    def attempt(self, instance: Any, batch: Batch) -> tuple[Any, RuntimeFault | None, Times]:
        """Run one batch; whatever the model raises comes back as a value."""
        ...

    def settle(self, batch: Batch, outcome: Any, fault: RuntimeFault | None, times: Times) -> None:
        """Count the batch and tell the sinks; the arguments are what ``attempt`` returned."""
        ...


class Executor:
    """For models that take a whole batch: turns it into arrays and splits what comes back."""

    open = 0

    def __init__(self, signature: Signature, answers: Answers) -> None:
        self._batched = signature.max_batch_size > 0
        self._specs = {spec.name: spec for spec in signature.outputs}
        self._names = tuple(self._specs)
        self._answers = answers

    def attempt(
        self, instance: Instance, batch: Batch
    ) -> tuple[Arrays | None, RuntimeFault | None, Times]:
        start = monotonic_ns()
        try:
            outputs, times = self.run(instance, batch, start)
        except Exception as error:  # why so wide: a model's errors belong to its requests
            now = monotonic_ns()
            return None, as_fault(error), (start, start, now, now)
        return outputs, None, times

    def settle(
        self, batch: Batch, outcome: Arrays | None, fault: RuntimeFault | None, times: Times
    ) -> None:
        answers = self._answers
        if outcome is None:
            fault = fault or BackendFailed("the model gave no outputs")
            for request in batch:
                answers.fail(request, fault, FailureReason.BACKEND)
            return
        answers.count(batch, times)
        if len(batch) == 1:
            answers.deliver(batch[0], outcome)
            return
        start, width = 0, len(outcome)
        for request in batch:
            plan = request.plan
            stop = start + plan.rows
            arrays = outcome
            if len(plan.outputs) != width:  # others asked for more
                given = dict(zip(union(batch, self._names), outcome, strict=True))
                arrays = [given[name] for name in plan.outputs]
            answers.deliver(request, [array[start:stop] for array in arrays])
            start = stop

    def run(self, instance: Instance, batch: Batch, start: int) -> tuple[Arrays, Times]:
        first = batch[0].plan
        outputs = first.outputs
        if len(batch) == 1:
            feed = {}
            for item, buffer in zip(first.inputs, batch[0].inputs, strict=True):
                flat = buffer
                if not isinstance(buffer, np.ndarray):
                    flat = np.frombuffer(buffer, item.datatype.dtype)
                feed[item.name] = flat.reshape(item.shape)
            rows = first.rows
        else:
            rows = sum([request.plan.rows for request in batch])
            feed = _gather(batch, rows)
            outputs = union(batch, self._names)
        fed = monotonic_ns()
        arrays = instance.execute(feed, outputs)
        computed = monotonic_ns()
        arrays = [
            self._checked(name, array, rows) for name, array in zip(outputs, arrays, strict=True)
        ]
        return arrays, (start, fed, computed, monotonic_ns())

    def _checked(self, name: str, array: Array, rows: int) -> Array:
        spec = self._specs[name]
        if array.dtype != spec.datatype.dtype:
            if array.dtype.kind not in "US" or spec.datatype.item_size:
                raise BackendFailed(
                    f"output '{name}' has data type {array.dtype}, the configuration says "
                    f"{spec.datatype.name}"
                )
            array = array.astype(object)
        if self._batched and (not array.ndim or array.shape[0] != rows):
            raise BackendFailed(
                f"output '{name}' has shape {list(array.shape)}: expected {rows} rows, one per "
                "batched input row; set max_batch_size to 0 if the model does not batch"
            )
        if spec.reshape is not None:
            array = restored(array, spec.dims, spec.reshape, batched=self._batched)
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def union(batch: Batch, configured: tuple[str, ...]) -> tuple[str, ...]:
    """What the requests of a batch ask for together, in the order of the configuration."""
    kinds = {request.plan.outputs for request in batch}
    if len(kinds) == 1:
        return kinds.pop()
    wanted = {name for outputs in kinds for name in outputs}
    return tuple(name for name in configured if name in wanted)


def flat(buffer: Any, item: PlannedInput) -> Array:
    """A request's tensor as one row of elements."""
    if isinstance(buffer, np.ndarray):
        return buffer.reshape(-1)
    return np.frombuffer(buffer, item.datatype.dtype)


def joined(parts: list[Any], item: PlannedInput, shape: tuple[int, ...]) -> Array:
    """The tensors of several requests as one, along the batch axis."""
    if item.datatype.item_size:
        return np.frombuffer(b"".join(parts), item.datatype.dtype).reshape(shape)
    return np.concatenate([part.reshape(-1) for part in parts]).reshape(shape)


def _gather(batch: Batch, rows: int) -> dict[str, Array]:
    """Join the inputs of all requests along the batch axis."""
    return {
        item.name: joined(
            [request.inputs[index] for request in batch], item, (rows, *item.shape[1:])
        )
        for index, item in enumerate(batch[0].plan.inputs)
    }


def restored(
    array: Array, dims: tuple[int, ...], reshape: tuple[int, ...], *, batched: bool
) -> Array:
    """Undo a configured reshape on an output; an array of another shape is left as it is."""
    lead, seen = (array.shape[:1], array.shape[1:]) if batched else ((), array.shape)
    if len(seen) != len(reshape):
        return array
    variable = iter([got for want, got in zip(reshape, seen, strict=True) if want == -1])
    return array.reshape((*lead, *(next(variable) if dim == -1 else dim for dim in dims)))
