"""Instances with lanes under the scheduler: parts reach them unjoined, windows by rows."""

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from time import monotonic_ns
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.backends.base import BatchInput, DeviceOutcome, DeviceTarget
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.dynamic import DynamicScheduler, SchedulerConfig
from worker_runtime.core.statistics import Statistics
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

FP32 = BY_NAME["FP32"]
SIGNATURE = Signature("m", 4, (TensorSpec("x", FP32, (2,)),), (TensorSpec("y", FP32, (2,)),))
WORK_NS = 1000


class FakeLane:
    """Doubles its input; waits for its gate."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.near = threading.Event()  # the end, so that the next batch should come
        self.near.set()
        self.entered = threading.Event()
        self.error: Exception | None = None
        self.batches: list[list[BatchInput]] = []
        self.targets: list[tuple[str, Any, int, int]] = []
        self.stayed: list[tuple[str, ...]] = []

    def execute_parts(
        self,
        inputs: Sequence[BatchInput],
        outputs: Sequence[str],
        targets: Sequence[DeviceTarget],
        soon: Callable[[], None],
        stay: Collection[str] = (),
    ) -> DeviceOutcome:
        self.entered.set()
        assert self.near.wait(10)
        if self.error is not None:
            raise self.error
        soon()
        assert self.gate.wait(10)
        self.batches.append(list(inputs))
        self.stayed.append(tuple(stay))
        self.targets += [(t.output, t.window, t.start, t.stop) for t in targets]
        parts = [np.frombuffer(part, np.float32) for part in inputs[0].parts]
        whole = np.concatenate(parts).reshape(inputs[0].shape)
        return DeviceOutcome([whole * 2 for _ in outputs], WORK_NS, 2 * WORK_NS, monotonic_ns())


class FakeInstance(FakeLane):
    def __init__(self) -> None:
        super().__init__()
        self.lanes = [self, FakeLane()]


class Harness:
    def __init__(self, *, dynamic: bool = True) -> None:
        self.instance = FakeInstance()
        self.sink = RecordingSink()
        self.statistics = Statistics()
        loaded: Any = SimpleNamespace(instances=[self.instance], inline=None)
        self.scheduler = DynamicScheduler(
            SIGNATURE,
            SchedulerConfig(BatchingConfig(max_rows=4, dynamic=dynamic), ahead=1),
            loaded,
            asyncio.get_running_loop(),
            self.statistics,
        )
        self._planner = Planner(SIGNATURE)

    def submit(self, name: str, value: float, rows: int = 1, **more: Any) -> None:
        plan = self._planner.plan((("x", "FP32", (rows, 2)),), None)
        data = np.full((rows, 2), value, np.float32).tobytes()
        request = InferRequest(plan=plan, inputs=[data], sink=self.sink, id=name)
        self.scheduler.submit(replace(request, **more))

    async def answered(self, count: int) -> dict[str, Any]:
        async with asyncio.timeout(10):
            while len(self.sink.delivered) < count:
                await asyncio.sleep(0.001)
        await self.scheduler.drain()
        return {name: arrays[0].tolist() for name, arrays in self.sink.delivered}


async def test_parts_reach_the_device_as_they_came() -> None:
    harness = Harness()
    assert harness.scheduler.on_device
    harness.submit("a", 1.0)
    harness.submit("b", 2.0, rows=2)
    assert await harness.answered(2) == {"a": [[2.0, 2.0]], "b": [[4.0, 4.0]] * 2}
    ((batch,),) = [lane.batches for lane in harness.instance.lanes if lane.batches]
    (item,) = batch
    assert (item.name, item.shape, len(item.parts)) == ("x", (3, 2), 2)


async def test_a_second_batch_is_under_way_while_the_first_computes() -> None:
    """And no third one: who waits longest is the first to be batched."""
    harness = Harness(dynamic=False)
    for lane in harness.instance.lanes:
        lane.gate.clear()
    for number in range(3):
        harness.submit(f"{number}", float(number))
    async with asyncio.timeout(10):
        while not all(lane.entered.is_set() for lane in harness.instance.lanes):
            await asyncio.sleep(0.001)
    assert harness.scheduler.pending == 1
    for lane in harness.instance.lanes:
        lane.gate.set()
    assert len(await harness.answered(3)) == 3


async def test_a_batch_grows_until_the_one_before_is_near_its_end() -> None:
    """And comes at once when it cannot grow any more."""
    harness = Harness()
    first, second = harness.instance.lanes
    for lane in (first, second):
        lane.near.clear()
        lane.gate.clear()
    harness.submit("a", 1.0)
    await _until(lambda: first.entered.is_set() or second.entered.is_set())
    for name in "bc":
        harness.submit(name, 1.0)
    await asyncio.sleep(0)
    assert harness.scheduler.pending == 2
    busy, free = (first, second) if first.entered.is_set() else (second, first)
    busy.near.set()
    await _until(free.entered.is_set)
    assert harness.scheduler.pending == 0
    busy.gate.set()
    await _until(lambda: harness.sink.delivered)
    for name in "defg":  # a whole batch, and the one before is not near its end
        harness.submit(name, 1.0)
    await _until(lambda: harness.scheduler.pending == 0)
    for lane in (first, second):
        lane.near.set()
        lane.gate.set()
    assert len(await harness.answered(7)) == 7
    sizes = sorted(len(batch[0].parts) for lane in (first, second) for batch in lane.batches)
    assert sizes == [1, 2, 4]


async def test_a_batch_that_fails_lets_the_next_one_come() -> None:
    harness = Harness()
    for lane in harness.instance.lanes:
        lane.near.clear()
        lane.error = ValueError("no")
    harness.submit("a", 1.0)
    for lane in harness.instance.lanes:
        lane.near.set()
    await _until(lambda: harness.sink.failed)
    for lane in harness.instance.lanes:
        lane.error = None
    harness.submit("b", 1.0)
    assert await harness.answered(1) == {"b": [[2.0, 2.0]]}


async def _until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


async def test_a_wait_for_the_batch_before_is_part_of_the_queue() -> None:
    """The device says when it began; until then the request waited."""
    harness = Harness()
    harness.instance.gate.clear()
    harness.instance.lanes[1].gate.clear()
    harness.submit("a", 1.0)
    before = monotonic_ns()
    while monotonic_ns() - before < 100 * WORK_NS:
        pass
    for lane in harness.instance.lanes:
        lane.gate.set()
    await harness.answered(1)
    phases = harness.statistics
    assert phases.input_ns == WORK_NS
    assert phases.infer_ns == 2 * WORK_NS
    assert phases.queue_ns >= 97 * WORK_NS


async def test_windows_know_their_rows_and_traces_see_the_host() -> None:
    harness = Harness()
    window: Any = object()
    harness.submit("a", 1.0, rows=2)
    harness.submit("b", 2.0, device_windows={"y": window})
    harness.submit("c", 3.0, device_windows={"y": window}, trace=object())
    await harness.answered(3)
    (targets,) = [lane.targets for lane in harness.instance.lanes if lane.batches]
    assert targets == [("y", window, 2, 3)]


@pytest.mark.parametrize(
    ("asked", "stayed"),
    [
        ([("y",), ("y",)], ("y",)),
        ([("y",), ()], ()),  # one of them wants it on the host
        ([(), ("y",)], ()),
    ],
)
async def test_outputs_stay_on_the_device_where_a_whole_batch_wants_it(
    asked: list[tuple[str, ...]], stayed: tuple[str, ...]
) -> None:
    harness = Harness()
    for number, stay in enumerate(asked):
        harness.submit(f"{number}", 1.0, stay=stay)
    await harness.answered(2)
    assert [seen for lane in harness.instance.lanes for seen in lane.stayed] == [stayed]


async def test_a_trace_sees_on_the_host_what_would_have_stayed() -> None:
    harness = Harness()
    harness.submit("a", 1.0, stay=("y",), trace=object())
    await harness.answered(1)
    assert [seen for lane in harness.instance.lanes for seen in lane.stayed] == [()]
