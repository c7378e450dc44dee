"""One model instance on a device: batches are copied in and out beside the one that computes."""

import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic_ns
from typing import Any, Protocol

import numpy as np
import torch

from worker_runtime.backends.base import Array, BatchInput, DeviceOutcome, DeviceTarget
from worker_runtime.backends.device.copies import as_array, bring, fetch, hand_over, numpy_type
from worker_runtime.backends.device.kept import KeptTensors
from worker_runtime.backends.device.streams import CAPTURES, Moment, Stream, Turn
from worker_runtime.errors import GpuMemoryFull, RuntimeFault
from worker_runtime.types.tensor import BY_DTYPE, DataType

logger = logging.getLogger(__name__)
_LOOK_NS = 500_000
_SHORT_NS = 100_000  # a sleep takes half of that longer than it was told
LANES = 2  # one batch computes while the other is copied; more gained nothing


class Program(Protocol):
    """A model as a lane runs it."""

    def prepare(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> None:
        """Called first, beside whatever other executions there are: a graph may be captured."""
        ...

    def places(self, inputs: Sequence[BatchInput], outputs: Sequence[str]) -> dict[str, Any]:
        """For each input a contiguous tensor on the device, to copy it to; texts as they are."""
        ...

    def compute(self, tensors: Mapping[str, Any], outputs: Sequence[str]) -> list[Any]:
        """The wanted outputs, on the stream that is entered; called in the instance's turn.

        A tensor wherever it is, contiguous; or an array. Nothing has to be waited for.
        """
        ...

    def finish(self) -> None:
        """The execution is over, its outputs are on the host."""
        ...

    def fault(self, error: Exception) -> RuntimeFault:
        """What an execution raised, as clients are told."""
        ...


class Lane:
    """Called by one thread at a time. ``turn`` is shared by all lanes of an instance."""

    def __init__(self, device: torch.device, turn: Turn, program: Program) -> None:
        self._device = device
        self._turn = turn
        self._program = program
        self._in, self._out = Stream(device), Stream(device)
        self._kept = KeptTensors(device)

    def execute_parts(
        self,
        inputs: Sequence[BatchInput],
        outputs: Sequence[str],
        targets: Sequence[DeviceTarget],
        soon: Callable[[], None],
        stay: Collection[str] = (),
    ) -> DeviceOutcome:
        try:
            with torch.no_grad():
                self._program.prepare(inputs, outputs)
                with CAPTURES.shared():
                    return self._execute(inputs, outputs, targets, soon, stay)
        except Exception as error:  # why so wide: models and their libraries raise what they like
            self._settle()
            if isinstance(error, RuntimeFault):
                raise
            if isinstance(error, torch.cuda.OutOfMemoryError):
                torch.cuda.empty_cache()
                raise GpuMemoryFull(
                    f"out of memory while the model ran; try smaller batches: {error}"
                ) from error
            raise self._program.fault(error) from error

    def _execute(
        self,
        inputs: Sequence[BatchInput],
        outputs: Sequence[str],
        targets: Sequence[DeviceTarget],
        soon: Callable[[], None],
        stay: Collection[str],
    ) -> DeviceOutcome:
        arrived = monotonic_ns()
        with self._in.entered():
            begun = self._in.mark()
            tensors = self._program.places(inputs, outputs)
            for item in inputs:
                if item.datatype.item_size:
                    bring(item, tensors[item.name], self._in.handle)
            copied = self._in.mark()
        compute = self._turn.stream
        with self._turn.lock:
            compute.after(copied)
            with compute.entered():
                started = compute.mark()
                made = self._program.compute(tensors, outputs)
                done = compute.mark()
            end = self._turn.forecast.started(_sizes(inputs), arrived, monotonic_ns())
        self._out.after(done)
        with self._out.entered():
            handed = self._hand_over(made, outputs, targets)
            left = [
                _absent(value)
                if _all_rows(handed, name, value)
                else self._stayed(value)
                if name in stay
                else _fetched(value)
                for name, value in zip(outputs, made, strict=True)
            ]
            gone = self._out.mark()
        if not done.past():
            _sleep_until(end, done)
        soon()
        done.wait()
        computed_at = monotonic_ns()
        gone.wait()
        for target in handed:
            target.window.filled = True
        self._program.finish()
        compute_ns = started.until(done)
        self._turn.forecast.ended(_sizes(inputs), compute_ns, computed_at)
        return DeviceOutcome(
            [as_array(item) if isinstance(item, torch.Tensor) else item for item in left],
            begun.until(copied),
            compute_ns,
            computed_at,
        )

    def _hand_over(
        self, made: Sequence[Any], outputs: Sequence[str], targets: Sequence[DeviceTarget]
    ) -> list[DeviceTarget]:
        """The windows that there was room in; copies to them have been started."""
        if not targets:
            return []
        values = dict(zip(outputs, made, strict=True))
        return [
            target
            for target in targets
            if isinstance(values[target.output], torch.Tensor)
            and hand_over(values[target.output], target, self._out.handle)
        ]

    def _stayed(self, value: Any) -> Any:
        kept = self._kept.copied(value)
        return _fetched(value) if kept is None else kept

    def _settle(self) -> None:
        """Nothing of a failed batch may still run while its memory goes to the next one."""
        self._turn.forecast.failed()
        for stream in (self._in, self._turn.stream, self._out):
            try:
                stream.drain()
            except Exception as error:  # why so wide: what is told depends on the library
                if not self._turn.device_lost:
                    self._turn.device_lost = True
                    logger.critical(
                        "%s is lost for this process, which must be restarted: %s",
                        self._device,
                        error,
                    )
                return


def _sleep_until(end_ns: int, done: Moment) -> None:
    """Other threads run meanwhile. It may come earlier than was thought: that is looked for."""
    while (left_ns := end_ns - monotonic_ns()) > _SHORT_NS and not done.past():
        time.sleep(min(left_ns, _LOOK_NS) / 1e9)


def _sizes(inputs: Sequence[BatchInput]) -> tuple[tuple[int, ...], ...]:
    return tuple([item.shape for item in inputs])


def _nobody_waits() -> None:
    """No batch comes after this one."""


def _all_rows(handed: Sequence[DeviceTarget], name: str, value: Any) -> bool:
    """Everybody has this output on the device, so nobody wants it on the host."""
    mine = [target for target in handed if target.output == name]
    if not mine:
        return False
    return not mine[0].stop or sum([item.stop - item.start for item in mine]) == len(value)


def _fetched(value: Any) -> Any:
    return fetch(value) if isinstance(value, torch.Tensor) else value


def _absent(value: Any) -> Array:
    """An array of the right shape that nobody reads: the output is where it was wanted."""
    return np.empty(tuple(value.shape), numpy_type(value.dtype))


class LaneInstance:
    """A DeviceInstance: lanes that share one turn, each with its own ``Program``."""

    def __init__(
        self, device: torch.device, programs: Sequence[Program], turn: Turn | None = None
    ) -> None:
        self._turn = turn = turn or Turn(device)
        self.lanes = [Lane(device, turn, program) for program in programs]

    @property
    def device_lost(self) -> bool:
        return self._turn.device_lost

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        batch = [
            BatchInput(name, self.datatype(name, array), array.shape, [array])
            for name, array in inputs.items()
        ]
        return self.execute_parts(batch, outputs, (), _nobody_waits).arrays

    def execute_parts(
        self,
        inputs: Sequence[BatchInput],
        outputs: Sequence[str],
        targets: Sequence[DeviceTarget],
        soon: Callable[[], None],
        stay: Collection[str] = (),
    ) -> DeviceOutcome:
        return self.lanes[0].execute_parts(inputs, outputs, targets, soon, stay)

    def datatype(self, name: str, array: Array) -> DataType:  # noqa: ARG002 # for those that know
        """The data type of an input that comes as an array."""
        return BY_DTYPE[array.dtype]
