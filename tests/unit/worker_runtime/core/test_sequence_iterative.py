"""Iterative sequences, and decoupled ones: requests that come again, or answer later."""

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.sequence_models import (
    Apart,
    Bench,
    config,
    oldest,
)
from worker_runtime.backends.base import BackendRequest
from worker_runtime.core.statistics import FailureReason
from worker_runtime.errors import (
    Cancelled,
)
from worker_runtime.types.request import Response


async def test_an_iterative_request_needs_no_sequence() -> None:
    bench = Bench(Apart(), config(slots=1, iterative=True))
    for value in (1, 2, 3):
        bench.send(0, "", value)
    assert await bench.answers(3) == {"01": 1, "02": 2, "03": 3}
    assert [fed["start"] for fed in bench.model.fed] == [[[1]]] * 3
    await bench.idle()
    await bench.scheduler.drain()


class Later(Apart):
    """Answers from a thread of its own, once the client has gone."""

    def execute_requests(self, requests: Sequence[BackendRequest]) -> None:
        def answer(request: BackendRequest) -> None:
            while not request.cancelled:
                time.sleep(0.001)
            request.send(None, final=True)

        for request in requests:
            threading.Thread(target=answer, args=(request,), daemon=True).start()


async def test_a_decoupled_model_hears_that_the_client_has_gone() -> None:
    bench = Bench(Later(), config(decoupled=True))
    request = bench.send(1, "s", 1)
    async with asyncio.timeout(10):
        while not bench.scheduler._executor.open:
            await asyncio.sleep(0.001)
        assert not bench.scheduler.cancel(request)
        await bench.scheduler.drain()
    assert bench.sink.responded == [("1s1", None, True)]


class Countdown(Apart):
    """Wants to see a request x times: answers x - 1, then less, each but the last not final."""

    def __init__(self) -> None:
        super().__init__()
        self.left: dict[Any, int] = {}
        self.delay_s = 0.0

    def execute_requests(self, requests: Sequence[BackendRequest]) -> None:
        time.sleep(self.delay_s)
        for request in requests:
            part = request.sequence
            if part is None or not request.inputs["ready"].item():
                continue
            if part.start:
                self.left[part.id] = int(request.inputs["x"].item())
            left = self.left[part.id] = self.left[part.id] - 1
            self.fed.append({"id": part.id, "start": part.start, "left": left})
            answer = Response(("y",), [np.full((1, 1), left, np.int32)])
            request.send(answer, final=left == 0)
            if left:
                request.reschedule()


@pytest.mark.parametrize("strategy", [config, oldest])
async def test_an_iterative_request_comes_again_until_it_is_done(strategy: Any) -> None:
    bench = Bench(Countdown(), strategy(slots=2, iterative=True, decoupled=True))
    for value in (3, 1, 2):
        bench.send(0, "", value)
    async with asyncio.timeout(10):
        while sum(final for _, _, final in bench.sink.responded) < 3:
            await asyncio.sleep(0.001)
    by_request: dict[str, list[Any]] = {}
    for name, response, final in bench.sink.responded:
        assert response is not None
        by_request.setdefault(name, []).append((int(response.arrays[0].item()), final))
    assert by_request == {
        "03": [(2, False), (1, False), (0, True)],
        "01": [(0, True)],
        "02": [(1, False), (0, True)],
    }
    await bench.idle()
    await bench.scheduler.drain()


@pytest.mark.parametrize("strategy", [config, oldest])
async def test_an_iterative_request_whose_client_has_gone_ends(strategy: Any) -> None:
    """The model does not look whether anybody waits: it would come again for ever."""
    bench = Bench(Countdown(), strategy(slots=1, iterative=True, decoupled=True))
    bench.model.delay_s = 0.001
    request = bench.send(0, "", 1_000_000_000)
    async with asyncio.timeout(10):
        while not bench.sink.responded:
            await asyncio.sleep(0)
        bench.scheduler.cancel(request)
        await bench.answers(1)
        ((_, error),) = bench.sink.failed
        assert isinstance(error, Cancelled)
        bench.send(0, "", 1)  # the slot is free
        while not any(final for _, _, final in bench.sink.responded):
            await asyncio.sleep(0.001)
        await bench.idle()
        await bench.scheduler.drain()
    assert bench.statistics.failures[FailureReason.CANCELED] == 1


async def test_a_row_that_is_not_ready_needs_no_answer() -> None:
    bench = Bench(Countdown(), config(decoupled=True))

    async def finals(count: int) -> None:
        async with asyncio.timeout(10):
            while len(bench.sink.responded) < count:
                await asyncio.sleep(0.001)

    bench.send(1, "s", 1)
    bench.send(2, "s", 1)
    await finals(2)
    bench.send(2, "s", 1)  # slot 0 has nothing to do: the model leaves that row alone
    await finals(3)
    async with asyncio.timeout(10):
        await bench.scheduler.drain()
    assert not bench.sink.failed
    assert bench.statistics.responses[0].success_count == 3


async def test_an_iteration_that_is_late_finds_its_sequence_gone() -> None:
    bench = Bench(Countdown(), config(iterative=True, decoupled=True, idle_ns=20_000_000))
    bench.model.delay_s = 0.08
    bench.send(0, "", 2)
    await bench.answers(1)
    ((_, error),) = bench.sink.failed
    assert "must specify the START flag on the first request of the sequence" in str(error)
    await bench.scheduler.drain()


async def test_only_iterative_sequences_may_come_again() -> None:
    bench = Bench(Countdown(), config(decoupled=True))
    bench.send(1, "s", 2)
    await bench.answers(1)
    ((_, error),) = bench.sink.failed
    assert str(error).startswith("Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE")
    await bench.scheduler.drain()
