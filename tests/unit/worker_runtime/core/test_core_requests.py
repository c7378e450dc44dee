"""Models that take requests apart: every way to answer, or not to answer, over a fake backend."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.backends.base import BackendRequest
from worker_runtime.core.execution.requests import _AT_ONCE
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.dynamic import DynamicScheduler, SchedulerConfig
from worker_runtime.core.statistics import (
    MOST_RESPONSES,
    FailureReason,
    ResponseEnd,
    Statistics,
)
from worker_runtime.errors import BackendFailed, Cancelled, Internal
from worker_runtime.types.request import InferRequest, Response
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

INT = BY_NAME["INT32"]
SIGNATURE = Signature(
    "m",
    4,
    (TensorSpec("x", INT, (1,)), TensorSpec("extra", INT, (1,), optional=True)),
    (TensorSpec("y", INT, (1,)), TensorSpec("z", INT, (1,))),
)
Work = Callable[[Sequence[BackendRequest]], None]


class FakeModel:
    graph = None
    inline = None

    def __init__(self, work: Work) -> None:
        self.execute_requests = work
        self.instances: list[Any] = [self]

    def close(self) -> None:
        self.instances = []


class Harness:
    def __init__(self, work: Work, *, decoupled: bool = False, max_rows: int = 4) -> None:
        self.sink = RecordingSink()
        self.statistics = Statistics()
        batching = BatchingConfig(max_rows=max_rows, dynamic=max_rows > 1)
        self.scheduler = DynamicScheduler(
            SIGNATURE,
            SchedulerConfig(batching, decoupled=decoupled),
            FakeModel(work),
            asyncio.get_running_loop(),
            self.statistics,
        )
        self._planner = Planner(SIGNATURE)

    def submit(
        self, name: str, *values: int, outputs: tuple[str, ...] | None = None
    ) -> InferRequest:
        plan = self._planner.plan((("x", "INT32", (len(values), 1)),), outputs)
        data = np.array(values, np.int32).tobytes()
        request = InferRequest(plan=plan, inputs=[data], sink=self.sink, id=name)
        self.scheduler.submit(request)
        return request

    async def ended(self, count: int) -> None:
        """Until ``count`` requests have been told their end."""
        async with asyncio.timeout(10):
            while self.ends < count:
                await asyncio.sleep(0.001)

    @property
    def ends(self) -> int:
        finals = sum(final for _, _, final in self.sink.responded)
        return finals + len(self.sink.delivered) + len(self.sink.failed)


def both(request: BackendRequest, factor: int = 2) -> Response:
    x = request.inputs["x"]
    return Response(("y", "z"), [x * factor, x + 1])


async def test_each_request_keeps_its_own_tensors_and_gets_its_own_answer() -> None:
    seen = []

    def work(requests: Sequence[BackendRequest]) -> None:
        seen.append([dict(request.inputs) for request in requests])
        for request in requests:
            request.send(both(request), final=True)

    harness = Harness(work)
    harness.submit("a", 1)
    harness.submit("b", 2, 3)
    await harness.ended(2)
    assert [[feed["x"].tolist() for feed in batch] for batch in seen] == [[[[1]], [[2], [3]]]]
    assert all("extra" not in feed for feed in seen[0])
    answers = {
        name: [array.tolist() for array in arrays] for name, arrays in harness.sink.delivered
    }
    assert answers == {"a": [[[2]], [[2]]], "b": [[[4], [6]], [[3], [4]]]}
    assert harness.statistics.success_count == 2
    assert harness.statistics.row_count == 3
    assert harness.statistics.batches[3].count == 1
    await harness.scheduler.drain()


async def test_an_answer_in_another_order_or_with_parameters_says_itself_what_is_in_it() -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        for request in requests:
            x = request.inputs["x"]
            if request.id == "swapped":
                request.send(Response(("z", "y"), [x, x]), final=True)
            elif request.id == "fewer":
                request.send(Response(("y",), [x]), final=True)
            else:
                request.send(Response(("y", "z"), [x, x], {"k": 1}), final=True)

    harness = Harness(work, max_rows=1)
    for name in ("swapped", "fewer", "parameters"):
        harness.submit(name, 1)
    await harness.ended(3)
    got = {
        name: (r.names, r.parameters) for name, r, final in harness.sink.responded if r and final
    }
    assert got == {
        "swapped": (("z", "y"), None),
        "fewer": (("y",), None),
        "parameters": (("y", "z"), {"k": 1}),
    }
    await harness.scheduler.drain()


async def test_outputs_that_nobody_asked_for_are_left_out() -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        assert requests[0].outputs == ("z",)
        requests[0].send(both(requests[0]), final=True)

    harness = Harness(work)
    harness.submit("a", 5, outputs=("z",))
    await harness.ended(1)
    ((_, (array,)),) = harness.sink.delivered
    assert array.tolist() == [[6]]
    await harness.scheduler.drain()


async def test_what_the_model_raises_fails_only_the_requests_without_an_answer() -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        requests[0].send(both(requests[0]), final=True)
        raise ValueError("no such luck")

    harness = Harness(work)
    harness.submit("a", 1)
    harness.submit("b", 1)
    await harness.ended(2)
    assert [name for name, _ in harness.sink.delivered] == ["a"]
    ((name, error),) = harness.sink.failed
    assert (name, str(error)) == ("b", "no such luck")
    assert isinstance(error, BackendFailed)
    stats = harness.statistics
    assert (stats.success_count, stats.fail_count, stats.row_count) == (1, 1, 1)
    assert (stats.execution_count, stats.batches[2].count) == (1, 1)
    assert stats.failures[FailureReason.BACKEND] == 1
    await harness.scheduler.drain()


async def test_an_error_given_as_an_answer_is_one() -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        requests[0].send(Response(error=Internal("bad")), final=True)

    harness = Harness(work)
    harness.submit("a", 1)
    await harness.ended(1)
    assert [str(error) for _, error in harness.sink.failed] == ["bad"]
    stats = harness.statistics
    assert (stats.success_count, stats.fail_count, stats.error_answer_count) == (1, 0, 1)
    await harness.scheduler.drain()


async def test_a_request_that_is_forgotten_fails() -> None:
    harness = Harness(lambda requests: None)
    harness.submit("a", 1)
    await harness.ended(1)
    assert "without a final response" in str(harness.sink.failed[0][1])
    assert harness.statistics.fail_count == 1
    await harness.scheduler.drain()


async def test_two_answers_where_one_is_allowed_are_an_error() -> None:
    raised: list[str] = []

    def work(requests: Sequence[BackendRequest]) -> None:
        (request,) = requests
        request.send(both(request), final=False)
        request.send(both(request), final=True)
        try:
            request.send(both(request), final=True)
        except Internal as error:
            raised.append(str(error))

    harness = Harness(work)
    harness.submit("a", 1)
    await harness.ended(1)
    assert [str(error) for _, error in harness.sink.failed] == ["expected a single response, got 2"]
    assert raised == ["a response was sent after the final one"]
    await harness.scheduler.drain()


async def test_an_answer_and_a_separate_final_flag_are_one_answer() -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        requests[0].send(both(requests[0]), final=False)
        requests[0].send(None, final=True)

    harness = Harness(work)
    harness.submit("a", 1)
    await harness.ended(1)
    assert len(harness.sink.delivered) == 1
    await harness.scheduler.drain()


async def test_decoupled_answers_come_as_they_are_sent_also_after_the_batch() -> None:
    threads = []
    gate = threading.Event()

    def work(requests: Sequence[BackendRequest]) -> None:
        (request,) = requests

        def later() -> None:
            for i in range(2):
                request.send(Response(("y",), [np.full((1, 1), i, np.int32)]), final=False)
            assert gate.wait(10)
            request.send(None, final=True)

        threads.append(threading.Thread(target=later))
        threads[-1].start()

    harness = Harness(work, decoupled=True)
    harness.submit("a", 1)
    async with asyncio.timeout(10):
        while len(harness.sink.responded) < 2 or not harness.statistics.success_count:
            await asyncio.sleep(0.001)
    assert harness.scheduler.busy
    drained = asyncio.ensure_future(harness.scheduler.drain())
    await asyncio.sleep(0.01)
    assert not drained.done(), "a drain waits for requests that still send"
    gate.set()
    await asyncio.wait_for(drained, 10)
    kinds = [(response is not None, final) for _, response, final in harness.sink.responded]
    assert kinds == [(True, False), (True, False), (False, True)]
    stats = harness.statistics
    assert (stats.success_count, stats.execution_count, stats.row_count) == (1, 1, 1)
    assert sorted(stats.responses) == [0, 1]
    assert stats.responses[0].success_count == 1
    threads[0].join(10)


async def test_many_answers_are_handed_on_in_turns_of_the_loop() -> None:
    """A model that answers as fast as it can held the loop up for as long as it did."""
    sent = threading.Event()

    def work(requests: Sequence[BackendRequest]) -> None:
        (request,) = requests
        for i in range(1000):
            request.send(Response(("y",), [np.full((1, 1), i, np.int32)]), final=False)
        request.send(None, final=True)
        sent.set()

    harness = Harness(work, decoupled=True)
    harness.submit("a", 1)
    await asyncio.sleep(0)  # the batch leaves
    assert sent.wait(10)
    turns = []
    while not harness.ends:
        before = len(harness.sink.responded)
        await asyncio.sleep(0)
        turns.append(len(harness.sink.responded) - before)
    assert max(turns) == _AT_ONCE
    assert [response.arrays[0].item() for _, response, _ in harness.sink.responded[:-1]] == list(
        range(1000)
    )
    await harness.scheduler.drain()


async def test_decoupled_failures_empty_and_cancelled_answers_are_counted_by_index() -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        (request,) = requests
        request.send(both(request), final=False, started_ns=1, output_ns=1)
        request.send(Response(error=Internal("bad")), final=False)
        request.skip()
        request.send(Response(error=Cancelled("gone")), final=False)
        request.send(None, final=True)

    harness = Harness(work, decoupled=True)
    harness.submit("a", 1)
    await harness.ended(1)
    rows = harness.statistics.responses
    counts = {
        index: (row.success_count, row.fail_count, row.empty_count, row.cancel_count)
        for index, row in rows.items()
    }
    assert counts == {0: (1, 0, 0, 0), 1: (0, 1, 0, 0), 2: (0, 0, 1, 0), 3: (0, 0, 0, 1)}
    assert rows[0].infer_ns == 0
    assert rows[0].output_ns == rows[0].success_ns > 0
    assert (rows[2].infer_count, rows[2].output_count) == (1, 0)
    assert len(harness.sink.responded) == 4, "an empty answer is counted, not sent"
    await harness.scheduler.drain()


def test_answers_of_an_endless_stream_are_counted_in_so_many_rows() -> None:
    statistics = Statistics()
    for index in range(MOST_RESPONSES + 10):
        statistics.responded(index, ResponseEnd.SUCCESS, (1, 2, 4))
    assert len(statistics.responses) == MOST_RESPONSES
    assert statistics.responses[MOST_RESPONSES - 2].success_count == 1
    assert statistics.responses[MOST_RESPONSES - 1].success_count == 11
    assert statistics.ends() == MOST_RESPONSES + 10


async def test_a_decoupled_model_that_raises_ends_what_is_open() -> None:
    def work(requests: Sequence[BackendRequest]) -> None:
        requests[0].send(both(requests[0]), final=False)
        raise ValueError("boom")

    harness = Harness(work, decoupled=True)
    harness.submit("a", 1)
    await harness.ended(1)
    assert len(harness.sink.responded) == 1
    assert str(harness.sink.failed[0][1]) == "boom"
    assert harness.statistics.fail_count == 1
    await asyncio.wait_for(harness.scheduler.drain(), 10)


async def test_a_model_can_see_that_its_client_has_gone() -> None:
    running, gone = threading.Event(), threading.Event()

    def work(requests: Sequence[BackendRequest]) -> None:
        running.set()
        assert gone.wait(10)
        error = Cancelled("gone") if requests[0].cancelled else None
        requests[0].send(Response(error=error), final=True)

    harness = Harness(work)
    request = harness.submit("a", 1)
    await asyncio.to_thread(running.wait, 10)
    assert not harness.scheduler.cancel(request)
    gone.set()
    await harness.ended(1)
    assert isinstance(harness.sink.failed[0][1], Cancelled)
    assert harness.statistics.error_answer_count == 0
    await harness.scheduler.drain()
