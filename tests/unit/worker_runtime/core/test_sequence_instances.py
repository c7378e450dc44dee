"""Instances of a sequence scheduler: who gets what, who comes, leaves, and is drained."""

import asyncio
from typing import Any

import pytest

from tests.unit.worker_runtime.core.sequence_models import (
    STATE,
    Bench,
    Recorder,
    config,
    oldest,
)
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.errors import (
    Unavailable,
)
from worker_runtime.types.instances import InstancePlace, ResourceNeed


async def test_instances_fill_evenly() -> None:
    bench = Bench(Recorder(2), config(slots=2))
    bench.model.gate.clear()
    for sequence in (1, 2, 3, 4):
        bench.send(sequence, "se", sequence)
    bench.model.gate.set()
    assert await bench.answers(4) == {"1se1": 1, "2se2": 2, "3se3": 3, "4se4": 4}
    await bench.scheduler.drain()
    assert [len(fed["x"]) for fed in bench.model.fed] == [2, 2]


async def test_passive_instances_get_nothing() -> None:
    places = [InstancePlace("m_0", passive=True), InstancePlace("m_1")]
    bench = Bench(Recorder(2), config(slots=1), places=places)
    bench.send(1, "s", 1)
    bench.send(2, "s", 2)
    await bench.answers(1)
    assert bench.scheduler.pending == 1
    bench.send(1, "e", 3)
    bench.send(2, "e", 4)
    assert len(await bench.answers(4)) == 4
    await bench.scheduler.drain()


@pytest.mark.parametrize("strategy", [config, oldest])
async def test_the_rate_limiter_lets_one_instance_run_at_a_time(strategy: Any) -> None:
    places = [InstancePlace(f"m_{i}", needs=(ResourceNeed("r", 1),)) for i in range(2)]
    limiter = RateLimiter()
    bench = Bench(Recorder(2), strategy(slots=1), places=places, limiter=limiter)
    bench.model.gate.clear()
    bench.send(1, "se", 1)
    bench.send(2, "se", 2)
    await asyncio.sleep(0.02)
    assert len(limiter._staged) == 1
    bench.model.gate.set()
    assert await bench.answers(2) == {"1se1": 1, "2se2": 2}
    await bench.scheduler.drain()


@pytest.mark.parametrize("strategy", [config, oldest])
async def test_instances_change_while_sequences_go_on(strategy: Any) -> None:
    """One of two leaves with its sequence; a new one takes what comes, the backlog first."""
    first, second, third = Recorder(), Recorder(), Recorder()
    first.instances = [first, second]
    bench = Bench(first, strategy(slots=1, states=(STATE,)))
    bench.send(1, "s", 1)
    bench.send(2, "s", 2)
    await bench.answers(2)
    bench.send(3, "s", 3)
    gone: list[Any] = []
    bench.scheduler.resize([second, third], [InstancePlace("m")] * 2, gone.append)
    assert (await bench.answers(3))["3s3"] == 103
    assert [fed["x"].item() for fed in third.fed] == [3]
    bench.send(1, "", 4)
    assert (await bench.answers(4))["14"] == 105
    bench.send(4, "s", 7)
    assert not gone
    bench.send(1, "e", 5)
    assert (await bench.answers(5))["1e5"] == 110
    async with asyncio.timeout(10):
        while not gone:
            await asyncio.sleep(0.001)
    assert gone == [first]
    bench.send(2, "e", 6)
    assert (await bench.answers(7))["4s7"] == 107
    assert len(second.fed) == 3
    await bench.scheduler.drain()
    assert gone == [first]


async def test_an_idle_instance_leaves_at_once_and_a_busy_one_with_its_model() -> None:
    first, second = Recorder(), Recorder()
    first.instances = [first, second]
    bench = Bench(first, config(slots=1))
    bench.send(1, "s", 1)
    await bench.answers(1)
    gone: list[Any] = []
    bench.scheduler.resize([], [], gone.append)
    async with asyncio.timeout(10):
        while not gone:
            await asyncio.sleep(0.001)
    assert gone == [second]
    await bench.scheduler.drain()
    assert gone == [second, first]


async def test_draining_ends_running_sequences_but_begins_none() -> None:
    bench = Bench(Recorder(), config())
    bench.send(1, "s", 1)
    await bench.answers(1)
    finishing = asyncio.ensure_future(bench.scheduler.finish_sequences())
    await asyncio.sleep(0)
    with pytest.raises(Unavailable, match="has stopped accepting new inference requests"):
        bench.send(2, "s")
    assert not finishing.done()
    bench.send(1, "e", 2)
    await finishing
    await bench.scheduler.drain()
    assert await bench.answers(2) == {"1s1": 1, "1e2": 2}


async def test_closing_fails_what_waits() -> None:
    bench = Bench(Recorder(), config(slots=1))
    bench.model.gate.clear()
    bench.send(1, "s", 1)
    await asyncio.sleep(0.01)
    bench.send(1, "", 2)
    bench.send(2, "s", 3)
    bench.scheduler.close()
    assert {name for name, _ in bench.sink.failed} == {"12", "2s3"}
    bench.model.gate.set()
    await bench.answers(3)
