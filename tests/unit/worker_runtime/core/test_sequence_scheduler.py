"""The sequence scheduler over fake backends: controls, state, errors, statistics, draining."""

import asyncio
import gc
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.backends.base import BackendRequest
from worker_runtime.core.execution.controls import ControlKind, ControlSpec
from worker_runtime.core.execution.states import StateSpec
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.core.scheduling.sequence.config import SequenceConfig
from worker_runtime.core.scheduling.sequence.entries import Entry
from worker_runtime.core.scheduling.sequence.scheduler import SequenceScheduler
from worker_runtime.core.statistics import FailureReason, Statistics
from worker_runtime.errors import (
    BackendFailed,
    Cancelled,
    InvalidArgument,
    QueueFull,
    QueueTimeout,
    Unavailable,
)
from worker_runtime.types.instances import InstancePlace, ResourceNeed
from worker_runtime.types.request import InferRequest, Response, SequencePart
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_NAME

INT32 = BY_NAME["INT32"]
SIGNATURE = Signature(
    "m", 4, (TensorSpec("x", INT32, (1,)),), (TensorSpec("y", INT32, (1,)),)
)  # fmt: skip
CONTROLS = (
    ControlSpec("start", ControlKind.START, INT32, (0, 1)),
    ControlSpec("ready", ControlKind.READY, BY_NAME["FP32"], (0.0, 1.0)),
    ControlSpec("end", ControlKind.END, BY_NAME["BOOL"], (False, True)),
    ControlSpec("id", ControlKind.CORRID, BY_NAME["UINT64"]),
)
STATE = StateSpec("in", "out", INT32, (1,), np.full((1, 1), 100, np.int32))


class Recorder:
    """Gives back x; with a state y and the new state are x plus the old state."""

    graph = inline = None

    def __init__(self, count: int = 1) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.fed: list[dict[str, Any]] = []
        self.error: Exception | None = None
        self.instances = [self] * count

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        assert self.gate.wait(10)
        self.fed.append({name: array.copy() for name, array in inputs.items()})
        if self.error is not None:
            raise self.error
        total = inputs["x"] + inputs.get("in", 0)
        return [total for _ in outputs]

    def close(self) -> None:
        self.instances = []


class Ragged(Recorder):
    """Sees one flat x."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        self.seen.append((inputs["x"].tolist(), inputs["id"].reshape(-1).tolist()))
        return [inputs["start"] for _ in outputs]


class Apart(Recorder):
    """The same for requests that stay apart."""

    def execute_requests(self, requests: Sequence[BackendRequest]) -> None:
        for request in requests:
            self.fed.append(
                {"sequence": request.sequence}
                | {name: array.tolist() for name, array in request.inputs.items()}
            )
            total = request.inputs["x"] + request.inputs.get("in", 0)
            request.send(Response(request.outputs, [total for _ in request.outputs]), final=True)


class Bench:
    def __init__(self, model: Any, config: SequenceConfig, **around: Any) -> None:
        self.sink = RecordingSink()
        self.statistics = Statistics()
        self.model = model
        self.planner = Planner(SIGNATURE)
        self.scheduler = SequenceScheduler(
            SIGNATURE, config, model, asyncio.get_running_loop(), self.statistics, **around
        )

    def send(
        self,
        sequence: int | str,
        flags: str = "",
        value: int = 1,
        *,
        rows: int = 1,
        timeout: int = 0,
    ) -> InferRequest:
        plan = self.planner.plan((("x", "INT32", (rows, 1)),), None)
        request = InferRequest(
            plan=plan,
            inputs=[np.full((rows, 1), value, np.int32).tobytes()],
            sink=self.sink,
            id=f"{sequence}{flags}{value}",
            timeout_ns=timeout,
        )
        if sequence:
            request.sequence = SequencePart(sequence, start="s" in flags, end="e" in flags)
        self.scheduler.submit(request)
        return request

    async def answers(self, count: int) -> dict[str, Any]:
        async with asyncio.timeout(10):
            while len(self.sink.delivered) + len(self.sink.failed) < count:
                await asyncio.sleep(0.001)
        return {name: int(arrays[0].reshape(-1)[0]) for name, arrays in self.sink.delivered}

    async def idle(self) -> None:
        async with asyncio.timeout(10):
            while self.scheduler.live_sequences:
                await asyncio.sleep(0.001)


def config(**changes: Any) -> SequenceConfig:
    return SequenceConfig(
        **({"slots": 4, "idle_ns": 60_000_000_000, "controls": CONTROLS} | changes)
    )


def oldest(**changes: Any) -> SequenceConfig:
    return config(oldest=BatchingConfig(max_rows=4, preferred=(4,), dynamic=True), **changes)


async def test_controls_tell_where_in_its_sequence_each_row_stands() -> None:
    bench = Bench(Recorder(), config())
    bench.model.gate.clear()
    bench.send(7, "se", 1)
    await asyncio.sleep(0)
    bench.send(8, "s", 2)
    bench.send(9, "s", 3)
    bench.send(9, "e", 4)
    bench.model.gate.set()
    await bench.answers(4)
    seen = [{k: v.reshape(-1).tolist() for k, v in fed.items()} for fed in bench.model.fed]
    await bench.scheduler.drain()
    assert seen[0] == {"x": [1], "start": [1], "ready": [1.0], "end": [True], "id": [7]}
    # 7 has left slot 0, so 8 sits in slot 1 alone at first or with 9 behind it
    last = seen[-1]
    assert last["end"][-1] is True
    assert last["id"][-1] == 9
    assert all(v.shape == (len(f["x"]), 1) for f in bench.model.fed for v in f.values())


async def test_rows_that_are_not_ready_do_not_count() -> None:
    bench = Bench(Recorder(), config())
    bench.send(1, "s")
    bench.send(2, "s")
    await bench.answers(2)
    bench.send(2, "e", 5)
    assert (await bench.answers(3))["2e5"] == 5
    await bench.scheduler.drain()
    assert bench.model.fed[-1]["ready"].reshape(-1).tolist() == [0.0, 1.0]
    assert bench.model.fed[-1]["id"].reshape(-1).tolist() == [0, 2]
    statistics = bench.statistics
    assert (statistics.success_count, statistics.row_count) == (3, 3)
    assert statistics.execution_count == 2
    assert {size: count.count for size, count in statistics.batches.items()} == {2: 2}


@pytest.mark.parametrize("strategy", [config, oldest])
@pytest.mark.parametrize("kind", [Recorder, Apart])
async def test_state_goes_from_request_to_request(strategy: Any, kind: Any) -> None:
    bench = Bench(kind(), strategy(states=(STATE,)))
    for value in (1, 2, 3):
        for sequence in (1, 2):
            flags = {1: "s", 3: "e"}.get(value, "")
            bench.send(sequence, flags, value * sequence)
    totals = await bench.answers(6)
    await bench.scheduler.drain()
    assert [totals["1s1"], totals["12"], totals["1e3"]] == [101, 103, 106]
    assert [totals["2s2"], totals["24"], totals["2e6"]] == [102, 106, 112]


async def test_a_second_start_begins_with_the_initial_state() -> None:
    bench = Bench(Recorder(), config(states=(STATE,)))
    bench.send(1, "s", 1)
    bench.send(1, "", 2)
    bench.send(1, "s", 5)
    assert (await bench.answers(3))["1s5"] == 105
    await bench.scheduler.drain()


async def test_models_that_take_requests_apart_see_sequence_and_controls() -> None:
    bench = Bench(Apart(), config())
    bench.send(3, "s", 9)
    assert await bench.answers(1) == {"3s9": 9}
    await bench.scheduler.drain()
    (fed,) = bench.model.fed
    assert fed == {
        "sequence": SequencePart(3, start=True),
        "x": [[9]],
        "start": [[1]],
        "ready": [[1.0]],
        "end": [[False]],
        "id": [[3]],
    }


@pytest.mark.parametrize("strategy", [config, oldest])
async def test_refusals_have_tritons_words(strategy: Any) -> None:
    bench = Bench(Recorder(), strategy())
    for arguments, text in (
        ({"sequence": 0}, "inference request to model 'm' must specify a non-zero or non-empty "
         "correlation ID"),
        ({"sequence": 5}, "inference request for sequence 5 to model 'm' must specify the START "
         "flag on the first request of the sequence"),
        ({"sequence": 5, "flags": "s", "rows": 2}, "inference request to model 'm' must specify "
         "batch-size 1 due to requirements of sequence batcher"),
        ({"sequence": "a", "flags": "s"}, "[request id: as1] sequence batching control 'id' "
         "data-type is 'BYTES', but model 'm' expects 'UINT64'"),
    ):  # fmt: skip
        with pytest.raises(InvalidArgument) as caught:
            bench.send(**arguments)
        assert str(caught.value) == text
    await bench.scheduler.drain()


async def test_an_idle_sequence_gives_its_slot_to_the_backlog() -> None:
    bench = Bench(Recorder(), config(slots=1, idle_ns=20_000_000))
    bench.send(1, "s")
    bench.send(2, "se")
    assert set(await bench.answers(2)) == {"1s1", "2se1"}
    with pytest.raises(InvalidArgument, match="must specify the START flag"):
        bench.send(1)
    await bench.scheduler.drain()


async def test_a_timeout_in_the_backlog_fails_the_sequence() -> None:
    bench = Bench(Recorder(), config(slots=1))
    bench.send(1, "s")
    bench.send(2, "s")
    bench.send(2, "e", timeout=1_000_000)
    await bench.answers(3)
    assert [name for name, _ in bench.sink.failed] == ["2s1", "2e1"]
    for _, error in bench.sink.failed:
        assert isinstance(error, QueueTimeout)
        assert str(error) == "timeout of the corresponding sequence has been expired"
    assert bench.statistics.failures[FailureReason.REJECTED] == 2
    bench.send(1, "e")
    await bench.answers(4)
    await bench.scheduler.drain()


async def test_a_full_backlog_rejects_new_sequences() -> None:
    bench = Bench(Recorder(), config(slots=1, backlog_limit=1))
    bench.send(1, "s")
    bench.send(2, "s")
    with pytest.raises(QueueFull) as caught:
        bench.send(3, "s")
    assert str(caught.value) == "[request id: 3s1] Exceeds maximum queue size"
    assert bench.statistics.failures[FailureReason.REJECTED] == 1
    bench.send(1, "e")
    bench.send(2, "e")
    await bench.answers(4)
    await bench.scheduler.drain()


@pytest.mark.parametrize("strategy", [config, oldest])
async def test_cancelling_a_waiting_request_cancels_its_sequence(strategy: Any) -> None:
    bench = Bench(Recorder(), strategy(slots=1))
    bench.model.gate.clear()
    running = bench.send(1, "s", 1)
    await asyncio.sleep(0.01)
    second = bench.send(1, "", 2)
    bench.send(1, "e", 3)
    bench.send(2, "se", 4)
    assert bench.scheduler.cancel(second)
    assert not bench.scheduler.cancel(running)
    bench.model.gate.set()
    assert await bench.answers(4) == {"1s1": 1, "2se4": 4}
    assert [name for name, _ in bench.sink.failed] == ["12", "1e3"]
    assert bench.statistics.failures[FailureReason.CANCELED] == 2
    await bench.scheduler.drain()


@pytest.mark.parametrize("strategy", [config, oldest])
async def test_an_error_fails_the_batch_and_the_sequence_goes_on(strategy: Any) -> None:
    bench = Bench(Recorder(), strategy(states=(STATE,)))
    bench.send(1, "s", 1)
    await bench.answers(1)
    bench.model.error = ValueError("no")
    bench.send(1, "", 2)
    await bench.answers(2)
    bench.model.error = None
    bench.send(1, "e", 3)
    assert (await bench.answers(3))["1e3"] == 104  # the state that the failed request found
    ((name, error),) = bench.sink.failed
    assert (name, str(error)) == ("12", "no")
    assert isinstance(error, BackendFailed)
    assert bench.statistics.failures[FailureReason.BACKEND] == 1
    await bench.scheduler.drain()


@pytest.mark.parametrize("kind", [Recorder, Apart])
async def test_requests_of_one_batch_get_the_outputs_they_asked_for(kind: Any) -> None:
    signature = Signature(
        "m", 4, SIGNATURE.inputs, (*SIGNATURE.outputs, TensorSpec("out", INT32, (1,)))
    )
    model, sink = kind(), RecordingSink()
    planner, loop = Planner(signature), asyncio.get_running_loop()
    scheduler = SequenceScheduler(signature, config(states=(STATE,)), model, loop, Statistics())
    for sequence, outputs in ((1, ("y",)), (2, ("out", "y")), (3, ("out",))):
        plan = planner.plan((("x", "INT32", (1, 1)),), outputs)
        request = InferRequest(plan, [np.full((1, 1), sequence, np.int32).tobytes()], sink)
        request.sequence, request.id = SequencePart(sequence, start=True), str(sequence)
        scheduler.submit(request)
    async with asyncio.timeout(10):
        while len(sink.delivered) < 3:
            await asyncio.sleep(0.001)
    shown = {name: [int(array.item()) for array in arrays] for name, arrays in sink.delivered}
    assert shown == {"1": [101], "2": [102, 102], "3": [103]}
    await scheduler.drain()


async def test_ragged_inputs_share_a_batch() -> None:
    spec = TensorSpec("x", INT32, (-1,), ragged=True)
    signature = Signature("m", 4, (spec,), SIGNATURE.outputs)
    model, sink = Ragged(), RecordingSink()
    planner, loop = Planner(signature), asyncio.get_running_loop()
    scheduler = SequenceScheduler(signature, config(), model, loop, Statistics())
    for sequence, size in ((1, 2), (2, 3)):
        plan = planner.plan((("x", "INT32", (1, size)),), None)
        request = InferRequest(plan, [np.full((1, size), sequence, np.int32).tobytes()], sink)
        request.sequence, request.id = SequencePart(sequence, start=True), str(sequence)
        scheduler.submit(request)
    async with asyncio.timeout(10):
        while len(sink.delivered) < 2:
            await asyncio.sleep(0.001)
    assert model.seen == [([1, 1, 2, 2, 2], [1, 2])]
    await scheduler.drain()


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
    bench.scheduler.resize([second, third], gone.append)
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
    bench.scheduler.resize([], gone.append)
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


@pytest.mark.parametrize("kind", [Recorder, Apart])
async def test_nothing_of_a_request_stays_behind(kind: Any) -> None:
    """Requests are hidden from the garbage collector: their circles have to be cut."""
    bench = Bench(kind(), config(states=(STATE,)))
    for number in range(1, 9):
        bench.send(number, "se", number)
    await bench.answers(8)
    bench.model.error = ValueError("no")
    bench.send(9, "se", 9)
    await bench.answers(9)
    await bench.scheduler.drain()
    bench.model.error = None  # its traceback knows the batch
    bench.sink.failed.clear()
    gc.collect()
    factory = bench.scheduler._factory
    left = [item for item in gc.get_objects() if type(item) is Entry]  # isinstance wakes proxies
    assert not [entry for entry in left if entry.factory is factory]


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


async def test_the_environment_holds_the_first_batch_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITONSERVER_DELAY_SCHEDULER", "3")
    monkeypatch.setenv("TRITONSERVER_BACKLOG_DELAY_SCHEDULER", "1")
    bench = Bench(Recorder(), config(slots=2))
    bench.send(1, "se", 1)
    bench.send(2, "s", 2)
    bench.send(2, "e", 3)
    await asyncio.sleep(0.02)
    assert not bench.sink.delivered
    bench.send(3, "se", 4)
    assert len(await bench.answers(4)) == 4
    await bench.scheduler.drain()
    assert [len(fed["x"]) for fed in bench.model.fed] == [2, 2]
