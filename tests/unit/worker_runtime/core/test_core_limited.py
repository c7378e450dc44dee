"""Schedulers that share a rate limiter, over fake models."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.dynamic import DynamicScheduler, SchedulerConfig
from worker_runtime.core.scheduling.limited import LimitedScheduler
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.core.statistics import Statistics
from worker_runtime.types.instances import InstancePlace, ResourceNeed
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

SPEC = TensorSpec("x", BY_NAME["FP32"], (1,))
SIGNATURE = Signature("m", 4, (SPEC,), (TensorSpec("y", BY_NAME["FP32"], (1,)),))
BATCHED = SchedulerConfig(BatchingConfig(max_rows=4, dynamic=True))


class Model:
    """Doubles its input while its gate is open; counts who runs at the same time."""

    graph = None
    inline = None

    def __init__(self, count: int = 1) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.batches: list[int] = []
        self.started = 0
        self.instances: list[Any] = [self] * count

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        self.started += 1
        assert self.gate.wait(10)
        self.batches.append(len(inputs["x"]))
        return [inputs["x"] * 2 for _ in outputs]

    def close(self) -> None: ...


class Served:
    def __init__(
        self,
        model: Model,
        limiter: RateLimiter,
        places: Sequence[InstancePlace],
        config: SchedulerConfig = BATCHED,
    ) -> None:
        self._planner = Planner(SIGNATURE)
        self.sink = RecordingSink()
        self.scheduler = LimitedScheduler(
            SIGNATURE, config, model, asyncio.get_running_loop(), Statistics(), places, limiter
        )

    def submit(self, name: str) -> InferRequest:
        plan = self._planner.plan((("x", "FP32", (1, 1)),), None)
        data = np.ones((1, 1), np.float32).tobytes()
        request = InferRequest(plan=plan, inputs=[data], sink=self.sink, id=name)
        self.scheduler.submit(request)
        return request

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.sink.delivered]


async def until(condition: Any) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


def place(count: int) -> tuple[InstancePlace, ...]:
    return (InstancePlace("m_0", needs=(ResourceNeed("r", count),)),)


async def test_one_model_waits_for_the_units_of_another_and_its_batch_grows_meanwhile() -> None:
    limiter, first, second = RateLimiter(), Model(), Model()
    one, two = Served(first, limiter, place(4)), Served(second, limiter, place(2))
    first.gate.clear()
    one.submit("a")
    await until(lambda: first.started)
    two.submit("b")
    await asyncio.sleep(0.02)
    two.submit("c")
    await asyncio.sleep(0.02)
    assert not second.started
    assert two.scheduler.pending == 2
    first.gate.set()
    await until(lambda: len(two.names) == 2)
    assert second.batches == [2]
    await asyncio.gather(one.scheduler.drain(), two.scheduler.drain())


async def test_a_turn_that_nobody_needs_any_more_is_given_back() -> None:
    limiter, first, second = RateLimiter(), Model(), Model()
    one, two = Served(first, limiter, place(1)), Served(second, limiter, place(1))
    first.gate.clear()
    one.submit("a")
    await until(lambda: first.started)
    waiting = two.submit("b")
    await asyncio.sleep(0.02)
    assert two.scheduler.cancel(waiting)
    first.gate.set()
    one.submit("c")
    await until(lambda: one.names == ["a", "c"])
    two.submit("d")
    await until(lambda: two.names == ["d"])
    await asyncio.gather(one.scheduler.drain(), two.scheduler.drain())


async def test_every_instance_has_its_turns() -> None:
    limiter, model = RateLimiter(), Model(2)
    places = (InstancePlace("m_0"), InstancePlace("m_1"))
    served = Served(model, limiter, places, SchedulerConfig(ahead=1))
    model.gate.clear()
    for name in "abcd":
        served.submit(name)
    await until(lambda: model.started == 2)
    model.gate.set()
    await until(lambda: len(served.names) == 4)
    assert model.batches == [1] * 4
    await served.scheduler.drain()


async def test_passive_instances_get_nothing() -> None:
    active, passive = Model(), Model()
    active.instances = [passive, active]
    places = (InstancePlace("p_0", passive=True), InstancePlace("m_0"))
    sink, planner = RecordingSink(), Planner(SIGNATURE)
    scheduler = DynamicScheduler(
        SIGNATURE, SchedulerConfig(), active, asyncio.get_running_loop(), Statistics(), places
    )
    plan = planner.plan((("x", "FP32", (1, 1)),), None)
    for name in "abc":
        data = np.ones((1, 1), np.float32).tobytes()
        scheduler.submit(InferRequest(plan=plan, inputs=[data], sink=sink, id=name))
    await until(lambda: len(sink.delivered) == 3)
    assert (active.started, passive.started) == (3, 0)
    await scheduler.drain()


async def test_instances_change_under_the_limiter() -> None:
    """One of two leaves with the batch that it has; the units that it holds come back."""
    limiter, first, second, third = RateLimiter(), Model(), Model(), Model()
    first.instances = [first, second]
    served = Served(first, limiter, place(1) * 2, SchedulerConfig(BatchingConfig(max_rows=1)))
    first.gate.clear()
    served.submit("a")
    await until(lambda: first.started)
    served.submit("b")  # waits: there is one unit
    ended = served.scheduler.resize([second, third], place(1) * 2, lambda _gone: None)
    assert not second.started
    assert not third.started
    first.gate.set()
    await until(lambda: len(served.names) == 2)
    await asyncio.to_thread(ended)
    assert (first.started, second.started + third.started) == (1, 1)
    for name in "cd":
        served.submit(name)
    await until(lambda: len(served.names) == 4)
    assert first.started == 1
    assert (first.batches, limiter._used) == ([1], {("r", -2): 0})
    await served.scheduler.drain()
    assert not limiter._members


async def test_an_instance_that_waits_for_its_turn_can_leave() -> None:
    limiter, first, second, third = RateLimiter(), Model(), Model(), Model()
    other = Served(first, limiter, place(1))
    served = Served(second, limiter, place(1))
    first.gate.clear()
    other.submit("a")
    await until(lambda: first.started)
    served.submit("b")
    await until(lambda: limiter._staged)
    await asyncio.to_thread(served.scheduler.resize([third], place(1), lambda _gone: None))
    first.gate.set()
    await until(lambda: served.names)
    assert (second.started, third.started) == (0, 1)
    await asyncio.gather(other.scheduler.drain(), served.scheduler.drain())
