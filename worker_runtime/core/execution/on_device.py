"""Batches for instances on devices: parts go there one by one, and outputs stay where wanted."""

from collections.abc import Callable, Collection, Sequence
from time import monotonic_ns

from worker_runtime.backends.base import BatchInput, DeviceInstance, DeviceTarget, LoadedModel
from worker_runtime.core.execution.answers import Times
from worker_runtime.core.execution.executor import Batch, Executor, union
from worker_runtime.types.request import Arrays


class DeviceExecutor(Executor):
    """As an Executor, without joining the inputs of a batch on the host.

    ``soon`` is called once for each batch, from its thread and before its end: the next one should
    come.
    """

    soon: Callable[[], None] = staticmethod(lambda: None)

    def run(self, instance: DeviceInstance, batch: Batch, start: int) -> tuple[Arrays, Times]:  # type: ignore[override] # the kind of instance that it is for
        soon = _Once(self.soon)
        try:
            return self._run(instance, batch, start, soon)
        finally:
            soon()  # whatever happens: the next batch may wait for it

    def _run(
        self, instance: DeviceInstance, batch: Batch, start: int, soon: Callable[[], None]
    ) -> tuple[Arrays, Times]:
        first = batch[0].plan
        rows = sum([request.plan.rows for request in batch])
        outputs = first.outputs if len(batch) == 1 else union(batch, self._names)
        inputs = [
            BatchInput(
                item.name,
                item.datatype,
                item.shape if len(batch) == 1 else (rows, *item.shape[1:]),
                [request.inputs[index] for request in batch],
            )
            for index, item in enumerate(first.inputs)
        ]
        outcome = instance.execute_parts(
            inputs, outputs, _targets(batch, outputs), soon, _staying(batch)
        )
        computed = outcome.computed_at_ns
        # why not from `start`: a wait for the batch before is part of the queue, not of the model
        fed = max(start, computed - outcome.compute_ns)
        begun = max(start, fed - outcome.input_ns)
        arrays = self._all_checked(outputs, outcome.arrays, rows)
        return arrays, (begun, fed, computed, monotonic_ns())


class _Once:
    def __init__(self, call: Callable[[], None]) -> None:
        self._call: Callable[[], None] | None = call

    def __call__(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            call()


def takes_parts(loaded: LoadedModel) -> bool:
    """All its instances are of the `DeviceInstance` kind."""
    instances = loaded.instances
    return bool(instances) and all(hasattr(item, "execute_parts") for item in instances)


def _staying(batch: Batch) -> Collection[str]:
    """The outputs that all requests of a batch want left on the device."""
    stay = batch[0].stay
    if not stay or any(request.stay != stay or request.trace is not None for request in batch):
        return ()
    return stay


def _targets(batch: Batch, outputs: Sequence[str]) -> list[DeviceTarget]:
    """Where outputs are wanted on a device. The trace of a request sees them on the host."""
    found: list[DeviceTarget] = []
    start = 0
    for request in batch:
        stop = start + request.plan.rows
        windows = request.device_windows
        if windows and request.trace is None:
            found.extend(
                DeviceTarget(name, windows[name], *((start, stop) if len(batch) > 1 else ()))
                for name in outputs
                if name in windows
            )
        start = stop
    return found
