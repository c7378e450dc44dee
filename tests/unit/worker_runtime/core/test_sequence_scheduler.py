"""The sequence scheduler over fake backends: controls, state, errors, statistics."""

import asyncio
import gc
from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from tests.unit.worker_runtime.core.sequence_models import (
    INT32,
    SIGNATURE,
    STATE,
    Apart,
    Bench,
    Ragged,
    Recorder,
    config,
    oldest,
)
from worker_runtime.core.plans import Planner
from worker_runtime.core.scheduling.base import Delays
from worker_runtime.core.scheduling.sequence.entries import Entry
from worker_runtime.core.scheduling.sequence.scheduler import SequenceScheduler
from worker_runtime.core.statistics import FailureReason, Statistics
from worker_runtime.errors import (
    BackendFailed,
    InvalidArgument,
    QueueFull,
    QueueTimeout,
)
from worker_runtime.types.request import InferRequest, SequencePart
from worker_runtime.types.signature import Signature, TensorSpec


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


async def test_tests_may_hold_the_first_batch_back() -> None:
    bench = Bench(Recorder(), config(slots=2), delays=Delays(queued=3, backlog=1))
    bench.send(1, "se", 1)
    bench.send(2, "s", 2)
    bench.send(2, "e", 3)
    await asyncio.sleep(0.02)
    assert not bench.sink.delivered
    bench.send(3, "se", 4)
    assert len(await bench.answers(4)) == 4
    await bench.scheduler.drain()
    assert [len(fed["x"]) for fed in bench.model.fed] == [2, 2]
