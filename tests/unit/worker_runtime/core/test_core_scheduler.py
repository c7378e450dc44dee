"""The scheduler over a fake backend: batches form, errors stay where they belong."""

import asyncio
import threading
from collections.abc import Sequence
from itertools import pairwise
from time import monotonic_ns
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from msgspec.structs import replace
from tritonclient.grpc import model_config_pb2

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core.model import scheduler_config
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.dynamic import DynamicScheduler, SchedulerConfig
from worker_runtime.core.scheduling.queue import QueueConfig, QueuePolicy, RequestQueue
from worker_runtime.core.statistics import FailureReason, Statistics
from worker_runtime.errors import BackendFailed, Cancelled, QueueFull, QueueTimeout
from worker_runtime.types.instances import InstancePlace
from worker_runtime.types.request import InferRequest
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

SPEC = TensorSpec("x", BY_NAME["FP32"], (2,))
SIGNATURE = Signature("m", 4, (SPEC,), (TensorSpec("y", BY_NAME["FP32"], (2,)),))


class FakeModel:
    """Doubles its input; blocks while ``gate`` is closed; raises when told to."""

    graph = None

    def __init__(self, *, inline: bool = False) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.error: Exception | None = None
        self.batches: list[int] = []
        self.wrong_rows = False
        self.threads: set[str] = set()
        self.instances = [self]
        self.inline = self if inline else None

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        self.entered.set()
        assert self.gate.wait(10)
        self.threads.add(threading.current_thread().name)
        array = inputs["x"]
        self.batches.append(len(array))
        if self.error is not None:
            raise self.error
        return [(array[:1] if self.wrong_rows else array) * 2 for _ in outputs]

    def close(self) -> None:
        self.instances = []


class Harness:
    def __init__(self, model: FakeModel, config: SchedulerConfig, max_rows: int = 4) -> None:
        signature = replace(SIGNATURE, max_batch_size=max_rows)
        self.model = model
        self.sink = RecordingSink()
        self.statistics = Statistics()
        self.scheduler = DynamicScheduler(
            signature, config, model, asyncio.get_running_loop(), self.statistics
        )
        self._planner = Planner(signature)

    def submit(self, name: str, value: float, rows: int = 1, timeout_ns: int = 0) -> InferRequest:
        plan = self._planner.plan((("x", "FP32", (rows, 2)),), None)
        data = np.full((rows, 2), value, np.float32).tobytes()
        request = InferRequest(plan=plan, inputs=[data], sink=self.sink, id=name)
        request.timeout_ns = timeout_ns
        self.scheduler.submit(request)
        return request

    async def answered(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.sink.delivered) + len(self.sink.failed) < count:
                await asyncio.sleep(0.001)

    async def running(self) -> None:
        """Until the instance holds a batch and the queue is empty."""
        async with asyncio.timeout(10):
            while self.scheduler.pending:
                await asyncio.sleep(0.001)


DYNAMIC = SchedulerConfig(BatchingConfig(max_rows=4, dynamic=True))


async def test_requests_of_one_turn_share_a_batch_and_get_their_own_rows() -> None:
    harness = Harness(FakeModel(), DYNAMIC)
    for i in range(3):
        harness.submit(str(i), float(i))
    await harness.answered(3)
    assert harness.model.batches == [3]
    for name, (array,) in harness.sink.delivered:
        assert array.tolist() == [[2 * float(name)] * 2]
    assert harness.statistics.success_count == 3
    assert harness.statistics.execution_count == 1
    assert harness.statistics.batches[3].count == 1
    await harness.scheduler.drain()


async def test_what_arrives_while_the_instance_works_becomes_the_next_batch() -> None:
    harness = Harness(FakeModel(), DYNAMIC)
    harness.model.gate.clear()
    harness.submit("a", 1)
    await harness.running()
    for name in "bcdef":
        harness.submit(name, 1)
    harness.model.gate.set()
    await harness.answered(6)
    assert harness.model.batches == [1, 4, 1]
    await harness.scheduler.drain()


async def test_without_dynamic_batching_each_request_runs_alone() -> None:
    harness = Harness(FakeModel(), SchedulerConfig(ahead=1))
    for name in "abc":
        harness.submit(name, 1)
    await harness.answered(3)
    assert harness.model.batches == [1, 1, 1]
    await harness.scheduler.drain()


async def test_an_error_fails_its_batch_and_the_next_one_works() -> None:
    harness = Harness(FakeModel(), DYNAMIC)
    harness.model.error = ValueError("no such luck")
    harness.submit("a", 1)
    await harness.answered(1)
    (name, error) = harness.sink.failed[0]
    assert name == "a"
    assert isinstance(error, BackendFailed)
    assert str(error) == "no such luck"  # the words of a backend pass as they are
    assert harness.statistics.failures[FailureReason.BACKEND] == 1
    harness.model.error = None
    harness.submit("b", 1)
    await harness.answered(2)
    assert [name for name, _ in harness.sink.delivered] == ["b"]
    await harness.scheduler.drain()


async def test_a_model_that_returns_too_few_rows_is_an_error_not_a_mix_up() -> None:
    harness = Harness(FakeModel(), DYNAMIC)
    harness.model.wrong_rows = True
    harness.submit("a", 1)
    harness.submit("b", 2)
    await harness.answered(2)
    assert "expected 2 rows" in str(harness.sink.failed[0][1])
    await harness.scheduler.drain()


async def test_a_cancelled_request_never_runs() -> None:
    harness = Harness(FakeModel(), DYNAMIC)
    harness.model.gate.clear()
    harness.submit("a", 1)
    await harness.running()
    waiting = harness.submit("b", 1)
    assert harness.scheduler.cancel(waiting)
    harness.model.gate.set()
    await harness.answered(2)
    assert isinstance(harness.sink.failed[0][1], Cancelled)
    assert harness.model.batches == [1]
    assert harness.statistics.failures[FailureReason.CANCELED] == 1
    await harness.scheduler.drain()


async def test_a_full_queue_refuses_at_once() -> None:
    config = SchedulerConfig(
        BatchingConfig(max_rows=4, dynamic=True), QueueConfig(default=QueuePolicy(max_size=1))
    )
    harness = Harness(FakeModel(), config)
    harness.model.gate.clear()
    harness.submit("a", 1)
    await harness.running()
    harness.submit("b", 1)
    with pytest.raises(QueueFull, match=r"\[request id: c\] Exceeds maximum queue size"):
        harness.submit("c", 1)
    assert harness.statistics.failures[FailureReason.REJECTED] == 1
    harness.model.gate.set()
    await harness.scheduler.drain()


async def test_a_request_that_waits_too_long_is_told_so_while_the_instance_is_busy() -> None:
    config = SchedulerConfig(
        BatchingConfig(max_rows=4, dynamic=True),
        QueueConfig(default=QueuePolicy(timeout_ns=20_000_000)),
    )
    harness = Harness(FakeModel(), config)
    harness.model.gate.clear()
    harness.submit("a", 1)
    await harness.running()
    harness.submit("b", 1)
    await harness.answered(1)
    assert isinstance(harness.sink.failed[0][1], QueueTimeout)
    harness.model.gate.set()
    await harness.answered(2)
    await harness.scheduler.drain()


def configured(text: str) -> Any:
    config = model_config_pb2.ModelConfig()
    return text_format.Parse(text, config)


@pytest.mark.parametrize("text", ["", "max_batch_size: 4 dynamic_batching {}"])
async def test_with_a_cap_whatever_waits_is_rejected_in_time(text: str) -> None:
    config = scheduler_config(configured(text), 20_000_000)
    harness = Harness(FakeModel(), config, max_rows=4)
    harness.model.gate.clear()
    harness.submit("runs", 1)
    await harness.running()
    for name in "bcd":
        harness.submit(name, 1, timeout_ns=10_000_000_000)
    await harness.answered(3)
    assert sorted(name for name, _ in harness.sink.failed) == ["b", "c", "d"]
    assert all(isinstance(error, QueueTimeout) for _, error in harness.sink.failed)
    assert harness.statistics.failures[FailureReason.REJECTED] == 3
    harness.model.gate.set()
    await harness.answered(4)
    await harness.scheduler.drain()


@pytest.mark.parametrize("text", ["", "max_batch_size: 4 dynamic_batching {}"])
def test_without_a_cap_nothing_is_other_than_before(text: str) -> None:
    config = scheduler_config(configured(text))
    assert not RequestQueue(config.queue).has_policy
    assert config.ahead == (0 if text else 1)


async def test_a_delay_lets_a_batch_fill_up() -> None:
    config = SchedulerConfig(BatchingConfig(max_rows=4, dynamic=True, delay_ns=10_000_000_000))
    harness = Harness(FakeModel(), config)
    harness.submit("a", 1)
    await asyncio.sleep(0)
    harness.submit("b", 1, rows=3)
    await harness.answered(2)
    assert harness.model.batches == [4]
    await harness.scheduler.drain()


async def test_the_delay_ends_by_itself() -> None:
    config = SchedulerConfig(BatchingConfig(max_rows=4, dynamic=True, delay_ns=5_000_000))
    harness = Harness(FakeModel(), config)
    harness.submit("a", 1)
    await harness.answered(1)
    assert harness.model.batches == [1]
    await harness.scheduler.drain()


async def test_tiny_models_move_into_the_event_loop() -> None:
    harness = Harness(FakeModel(inline=True), DYNAMIC)
    for i in range(200):
        harness.submit(str(i), 1)
        await harness.answered(i + 1)
        if threading.current_thread().name in harness.model.threads:
            break
    else:
        pytest.fail("never ran inline")
    await harness.scheduler.drain()


async def test_draining_answers_what_was_accepted() -> None:
    harness = Harness(FakeModel(), SchedulerConfig())
    for name in "abcd":
        harness.submit(name, 1)
    await harness.scheduler.drain()
    assert [name for name, _ in harness.sink.delivered] == list("abcd")


async def test_alone_in_the_loop_all_is_as_in_a_thread() -> None:
    harness = Harness(FakeModel(inline=True), SchedulerConfig(ahead=1))
    for i in range(40):
        harness.submit(f"warm {i}", 1)
        await harness.answered(i + 1)
    harness.scheduler._inline.governor.on = True  # a busy machine may have let it doubt
    before = len(harness.sink.delivered)
    request = harness.submit("a", 5, rows=2)
    assert len(harness.sink.delivered) == before + 1, "answered before submit returned"
    name, (array,) = harness.sink.delivered[-1]
    assert (name, array.tolist()) == ("a", [[10, 10], [10, 10]])
    assert request.timings[0] == request.queued_ns
    assert harness.statistics.success_count == 41
    assert harness.statistics.row_count == 42
    harness.model.error = ValueError("no such luck")
    harness.submit("b", 1)
    assert str(harness.sink.failed[-1][1]) == "no such luck"
    harness.model.error = None
    harness.model.wrong_rows = True
    harness.submit("c", 1, rows=2)
    assert "expected 2 rows" in str(harness.sink.failed[-1][1])
    assert harness.statistics.failures[FailureReason.BACKEND] == 2
    await harness.scheduler.drain()


async def test_a_growing_batch_leaves_whole_when_the_instance_is_free() -> None:
    config = SchedulerConfig(
        BatchingConfig(max_rows=8, preferred=(4,), dynamic=True, delay_ns=20_000_000)
    )
    harness = Harness(FakeModel(), config, max_rows=8)
    harness.model.gate.clear()
    for name in "abcd":
        harness.submit(name, 1)
    async with asyncio.timeout(10):
        while harness.scheduler.pending:
            await asyncio.sleep(0.001)
    for name in "ef":
        harness.submit(name, 1)
    await asyncio.sleep(0.05)  # the delay passes: the two are due, and the instance is busy
    assert harness.scheduler.pending == 2
    harness.submit("g", 1)
    await asyncio.sleep(0.01)
    waiting = harness.submit("h", 1)
    await asyncio.sleep(0.01)
    assert harness.scheduler.cancel(waiting), "also from a batch that waits"
    harness.model.gate.set()
    await harness.answered(8)
    assert harness.model.batches == [4, 3]
    await harness.scheduler.drain()


async def test_a_drain_is_not_held_up_by_requests_that_expire() -> None:
    config = SchedulerConfig(
        BatchingConfig(max_rows=4, dynamic=True, delay_ns=10_000_000_000),
        QueueConfig(default=QueuePolicy(timeout_ns=20_000_000)),
    )
    harness = Harness(FakeModel(), config)
    harness.submit("a", 1)
    await asyncio.wait_for(harness.scheduler.drain(), 10)
    assert isinstance(harness.sink.failed[0][1], QueueTimeout)
    assert str(harness.sink.failed[0][1]) == "Request timeout expired"


async def test_nothing_leaves_before_as_many_wait_as_the_test_wants() -> None:
    harness = Harness(FakeModel(), replace(DYNAMIC, first_at=3))
    harness.submit("a", 1)
    harness.submit("b", 1)
    await asyncio.sleep(0.02)
    assert harness.scheduler.pending == 2
    harness.submit("c", 1)
    await harness.answered(3)
    assert harness.model.batches == [3]
    harness.submit("d", 1)
    await harness.answered(4)
    await harness.scheduler.drain()


async def test_answers_keep_their_order_over_several_instances() -> None:
    config = SchedulerConfig(BatchingConfig(max_rows=1, dynamic=True), preserve_ordering=True)
    slow, quick = FakeModel(), FakeModel()
    slow.instances = [slow, quick]
    slow.gate.clear()
    quick.gate.clear()
    harness = Harness(slow, config)
    harness.submit("a", 1)
    harness.submit("b", 1)
    await harness.running()
    first, second = (slow, quick)
    second.gate.set()
    await asyncio.sleep(0.02)
    finished = len(harness.sink.delivered)
    first.gate.set()
    await harness.answered(2)
    assert [name for name, _ in harness.sink.delivered] == ["a", "b"]
    assert finished in (0, 1), "b never before a"
    await harness.scheduler.drain()


@pytest.mark.parametrize("delay_ns", [0, 1000])
async def test_a_drain_hears_of_what_was_executed_in_the_loop(delay_ns: int) -> None:
    """The last batch ran inline: no thread comes back to say so."""
    config = SchedulerConfig(BatchingConfig(max_rows=4, dynamic=True, delay_ns=delay_ns))
    harness = Harness(FakeModel(inline=True), config)
    harness.scheduler._inline.governor.on = True
    harness.submit("a", 1)
    async with asyncio.timeout(5):
        await harness.scheduler.drain()
    assert [name for name, _ in harness.sink.delivered] == ["a"]
    assert harness.model.threads == {threading.current_thread().name}


@pytest.mark.parametrize("delay_ns", [0, 1000])
async def test_answers_that_bring_the_next_requests_leave_others_their_turn(delay_ns: int) -> None:
    """As of a call with many rows, or a connection with many requests: the loop is not held up."""
    config = SchedulerConfig(BatchingConfig(max_rows=4, dynamic=True, delay_ns=delay_ns))
    harness = Harness(FakeModel(inline=True), config)
    harness.scheduler._inline.governor.on = True
    deliver, loop = harness.sink.deliver, asyncio.get_running_loop()
    left, turns, done = 3000, [0], asyncio.Event()

    def answered(request: InferRequest, outputs: Any) -> None:
        nonlocal left
        deliver(request, outputs)
        harness.scheduler._inline.governor.on = True  # a busy machine may have let it doubt
        left -= 1
        if left >= 8:
            harness.submit("next", 1, rows=4)
        if not left:
            done.set()

    def turn() -> None:
        turns.append(len(harness.model.batches))
        if not done.is_set():
            loop.call_soon(turn)

    harness.sink.deliver = answered  # type: ignore[method-assign]
    for _ in range(8):
        harness.submit("first", 1, rows=4)
    loop.call_soon(turn)
    await done.wait()
    assert max(after - before for before, after in pairwise(turns)) <= 32
    await harness.scheduler.drain()


DELAYED = SchedulerConfig(BatchingConfig(max_rows=4, dynamic=True, delay_ns=1))


async def test_a_batch_that_waits_starts_on_an_instance_that_comes() -> None:
    first, second = FakeModel(), FakeModel()
    harness = Harness(first, DELAYED)
    first.gate.clear()
    harness.submit("a", 1)
    async with asyncio.timeout(10):
        while not first.entered.is_set():
            await asyncio.sleep(0)
        harness.submit("b", 1)
        while not harness.scheduler._ready:
            await asyncio.sleep(0)
    harness.scheduler.resize([first, second], [InstancePlace("m")] * 2, lambda _gone: None)
    await harness.answered(1)
    assert [name for name, _ in harness.sink.delivered] == ["b"]
    first.gate.set()
    await harness.scheduler.drain()


async def test_what_is_late_when_a_batch_is_made_does_not_get_into_it() -> None:
    """The timer of its deadline has not had its turn of the loop yet."""
    model = FakeModel()
    harness = Harness(model, SchedulerConfig(replace(DELAYED.batching, delay_ns=10**12)))
    plan = harness._planner.plan((("x", "FP32", (1, 2)),), None)
    data = np.zeros((1, 2), np.float32).tobytes()
    late = InferRequest(plan=plan, inputs=[data], sink=harness.sink, id="late")
    late.deadline_ns = monotonic_ns() + 1
    harness.scheduler.submit(late)
    for name in "abc":
        harness.submit(name, 1)
    await harness.answered(1)
    assert [name for name, _ in harness.sink.failed] == ["late"]
    harness.submit("d", 1)
    await harness.answered(5)
    assert model.batches == [4]
    await harness.scheduler.drain()
