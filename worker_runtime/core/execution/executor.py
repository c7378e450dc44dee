"""One batch: inputs gathered into arrays, the model run, its outputs checked and handed out."""

from collections.abc import Collection
from time import monotonic_ns, time_ns
from typing import Any, NamedTuple, Protocol

import numpy as np

from worker_runtime.backends.base import Array, Instance
from worker_runtime.core.execution.answers import Answers, Times, backend_fault
from worker_runtime.core.statistics import FailureReason
from worker_runtime.errors import BackendFailed, RuntimeFault
from worker_runtime.types.device_memory import DeviceBuffer
from worker_runtime.types.request import Arrays, InferRequest, Plan, PlannedInput
from worker_runtime.types.signature import Signature

Batch = list[InferRequest]
_MAX_RECIPES = 1024
_ndarray = np.ndarray


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


class _Recipe(NamedTuple):
    """How to run one request of a plan: ``feed`` has each input's name, shape and type.

    ``feed`` is None where the general way is needed; ``lead`` is () where nothing is batched.
    """

    plan: Plan  # why: while it is held no other plan has its id
    feed: tuple[tuple[str, tuple[int, ...], Any], ...] | None
    outputs: tuple[str, ...]
    dtypes: tuple[Any, ...]
    lead: tuple[int, ...]


class Executor:
    """For models that take a whole batch: turns it into arrays and splits what comes back."""

    open = 0

    def __init__(self, signature: Signature, answers: Answers) -> None:
        self._batched = signature.max_batch_size > 0
        self._specs = {spec.name: spec for spec in signature.outputs}
        self._names = tuple(self._specs)
        self._recipes: dict[int, _Recipe] = {}
        self._answers = answers

    def attempt(
        self, instance: Instance, batch: Batch
    ) -> tuple[Arrays | None, RuntimeFault | None, Times]:
        start = monotonic_ns()
        try:
            outputs, times = self.run(instance, batch, start)
        except Exception as error:  # why so wide: a model's errors belong to its requests
            now = monotonic_ns()
            return None, backend_fault(error), (start, start, now, now)
        return outputs, None, times

    def settle(
        self, batch: Batch, outcome: Arrays | None, fault: RuntimeFault | None, times: Times
    ) -> None:
        answers = self._answers
        if outcome is None:
            fault = fault or BackendFailed("the model gave no outputs")
            answers.execution_failed(fault, times[0])
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

    def serve_alone(self, instance: Instance, request: InferRequest, start: int) -> int:
        """``attempt`` and ``settle`` for one request, in the loop; returns how long it took (ns).

        ``start`` is now. What can be known of a plan is found out once.
        """
        plan = request.plan
        recipe = self._recipes.get(id(plan))
        if recipe is None:
            recipe = self._recipe(plan)
        if recipe.feed is None:
            outcome, fault, times = self.attempt(instance, [request])
            self.settle([request], outcome, fault, times)
            return times[3] - start
        try:
            feed = {
                name: _ndarray(shape, dtype, buffer)
                for (name, shape, dtype), buffer in zip(recipe.feed, request.inputs, strict=True)
            }
        except TypeError:  # a DeviceBuffer
            outcome, fault, times = self.attempt(instance, [request])
            self.settle([request], outcome, fault, times)
            return times[3] - start
        try:
            fed = monotonic_ns()
            arrays = instance.execute(feed, recipe.outputs)
            computed = monotonic_ns()
            for expected, array in zip(recipe.dtypes, arrays, strict=True):
                # why `is`: numpy's own types exist once; the long way settles the rest.
                if (
                    array.dtype is not expected
                    or not array.flags.c_contiguous
                    or (recipe.lead and array.shape[:1] != recipe.lead)
                ):
                    arrays = self._all_checked(recipe.outputs, arrays, plan.rows)
                    break
        except Exception as error:  # why so wide: a model's errors belong to its requests
            fault = backend_fault(error)
            self._answers.execution_failed(fault, start)
            self._answers.fail(request, fault, FailureReason.BACKEND)
            return monotonic_ns() - start
        end = monotonic_ns()
        request.timings = times = (start, fed, computed, end)
        self._answers.statistics.executed_alone(
            plan.rows, request.arrived_ns, request.queued_ns, times, time_ns() // 1_000_000
        )
        self._answers.deliver(request, arrays)
        return end - start

    def _recipe(self, plan: Plan) -> "_Recipe":
        if len(self._recipes) >= _MAX_RECIPES:
            self._recipes.clear()
        specs = [self._specs[name] for name in plan.outputs]
        dtypes = [spec.datatype.dtype for spec in specs]
        simple = all(item.datatype.item_size for item in plan.inputs)
        feed = None
        if simple and not any(spec.reshape for spec in specs):
            feed = tuple((item.name, item.shape, item.datatype.dtype) for item in plan.inputs)
        lead = (plan.rows,) if self._batched else ()
        recipe = self._recipes[id(plan)] = _Recipe(plan, feed, plan.outputs, tuple(dtypes), lead)
        return recipe

    def _all_checked(self, names: tuple[str, ...], arrays: Arrays, rows: int) -> Arrays:
        return [self._checked(name, array, rows) for name, array in zip(names, arrays, strict=True)]

    def run(self, instance: Instance, batch: Batch, start: int) -> tuple[Arrays, Times]:
        first = batch[0].plan
        outputs = first.outputs
        if len(batch) == 1:
            feed = {}
            for item, buffer in zip(first.inputs, batch[0].inputs, strict=True):
                flat = buffer
                if not isinstance(buffer, np.ndarray):
                    flat = elements(buffer, item.datatype.dtype)
                feed[item.name] = flat.reshape(item.shape)
            rows = first.rows
        else:
            rows = sum([request.plan.rows for request in batch])
            feed = _gather(batch, rows)
            outputs = union(batch, self._names)
        fed = monotonic_ns()
        arrays = instance.execute(feed, outputs)
        computed = monotonic_ns()
        arrays = self._all_checked(outputs, arrays, rows)
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
    return elements(buffer, item.datatype.dtype)


def arrays_of(request: InferRequest) -> dict[str, Array]:
    """Views of the request's inputs, in the shapes that the model sees."""
    feed: dict[str, Array] = {}
    try:
        for item, buffer in zip(request.plan.inputs, request.inputs, strict=True):
            flat = buffer
            if not isinstance(buffer, np.ndarray):
                flat = np.frombuffer(buffer, item.datatype.dtype)
            feed[item.name] = flat.reshape(item.shape)
    except TypeError:  # a DeviceBuffer
        return host_arrays(request)
    return feed


def host_arrays(request: InferRequest, but: Collection[str] = ()) -> dict[str, Array]:
    """A request's inputs in the shapes that the model sees, but those of some names.

    What lies on a device is copied here. Raises Internal.
    """
    pairs = zip(request.plan.inputs, request.inputs, strict=True)
    return {
        item.name: flat(buffer, item).reshape(item.shape)
        for item, buffer in pairs
        if item.name not in but
    }


def elements(buffer: Any, dtype: "np.dtype[Any]") -> Array:
    """The numbers in a buffer; those on a device are copied here. Raises Internal."""
    try:
        return np.frombuffer(buffer, dtype)
    except TypeError:
        if not isinstance(buffer, DeviceBuffer):
            raise
    return np.frombuffer(buffer.read(), dtype)


def joined(parts: list[Any], item: PlannedInput, shape: tuple[int, ...]) -> Array:
    """The tensors of several requests as one, along the batch axis."""
    if item.datatype.item_size:
        try:
            raw = b"".join(parts)
        except TypeError:  # as above
            raw = b"".join([p.read() if isinstance(p, DeviceBuffer) else p for p in parts])
        return np.frombuffer(raw, item.datatype.dtype).reshape(shape)
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
