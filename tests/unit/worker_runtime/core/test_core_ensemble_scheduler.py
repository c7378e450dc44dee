"""Ensembles over fake models: order, failures, counts, what reaches the steps."""

import asyncio
import gc
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.ensemble_models import (
    CHAIN,
    QUIET,
    EnsembleHarness,
    FakeServed,
    answer_of,
    arrays_of,
    ensemble_text,
    model_text,
    parsed,
    plus,
    step_text,
    tensor_text,
)
from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core.scheduling.batching import BatchingConfig
from worker_runtime.core.scheduling.dynamic import DynamicScheduler, SchedulerConfig
from worker_runtime.core.statistics import FailureReason, Statistics
from worker_runtime.errors import (
    BackendFailed,
    InvalidArgument,
    NotFound,
    QueueFull,
)
from worker_runtime.types.request import Response, SequencePart


def test_steps_run_one_after_the_other_and_nothing_is_copied_on_the_way() -> None:
    kept: list[Any] = []

    def remember(request: Any) -> None:
        kept.append(np.ones(2, np.float32))
        request.sink.deliver(request, [kept[-1]])

    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), remember), FakeServed(model_text("b"), plus(10))
    )
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert answer_of(sink)["OUT"].tolist() == [11, 11]
    [seen] = harness.models["b"].scheduler.seen
    assert seen.inputs[0] is kept[0]
    assert not harness.scheduler.busy
    assert all(model.pins == 0 for model in harness.models.values())


@pytest.mark.parametrize("outcome", ["answer", "failure", "cancellation", "refusal"])
def test_nothing_of_a_request_stays_when_it_is_over(outcome: str) -> None:
    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), plus(0)), FakeServed(model_text("b"))
    )
    scheduler = harness.models["b"].scheduler
    if outcome == "refusal":
        scheduler.refuse = QueueFull("full")
    request = harness.request(RecordingSink(), IN=[1, 2])
    harness.scheduler.submit(request)
    if outcome == "refusal":
        [behind] = harness.models["a"].scheduler.seen
    else:
        [behind] = scheduler.seen
    middle = weakref.ref(behind.sink)
    if outcome == "answer":
        plus(0)(behind)
    elif outcome == "failure":
        behind.sink.fail(behind, BackendFailed("no"))
    elif outcome == "cancellation":
        harness.scheduler.cancel(request)
    for model in harness.models.values():
        model.scheduler.seen.clear()
        model.scheduler.waiting.clear()
        model.scheduler.refuse = None
    del behind, request
    gc.collect()
    assert middle() is None


def test_steps_that_do_not_need_each_other_run_at_the_same_time() -> None:
    text = ensemble_text(
        "diamond",
        ["IN"],
        ["OUT"],
        [
            step_text("left", {"x": "IN"}, {"y": "L"}),
            step_text("right", {"x": "IN"}, {"y": "R"}),
            step_text("tail", {"x": "L", "z": "R"}, {"y": "OUT"}),
        ],
    )
    left, right = FakeServed(model_text("left")), FakeServed(model_text("right"))
    tail = FakeServed(model_text("tail", ["x", "z"]), plus(0))
    harness = EnsembleHarness(text, left, right, tail)
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert len(left.scheduler.waiting) == len(right.scheduler.waiting) == 1
    plus(100)(right.scheduler.waiting[0])
    assert sink.responded == []
    plus(1)(left.scheduler.waiting[0])
    assert answer_of(sink)["OUT"].tolist() == [103, 105]


def test_a_step_gets_what_the_request_said() -> None:
    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), plus(0)), FakeServed(model_text("b"), plus(0))
    )
    request = harness.request(RecordingSink(), IN=[1, 2])
    request.sequence = SequencePart(5, start=True)
    request.priority, request.timeout_ns, request.parameters = 2, 3000, {"key": "value"}
    harness.scheduler.submit(request)
    for model in harness.models.values():
        [seen] = model.scheduler.seen
        assert (seen.id, seen.priority, seen.timeout_ns) == ("r", 2, 3000)
        assert seen.sequence == SequencePart(5, start=True)
        assert seen.parameters == {"key": "value"}


def test_a_step_may_move_the_rest_to_another_sequence() -> None:
    def moved(request: Any) -> None:
        response = Response(
            ("y",), [np.zeros(2, np.float32)], {"sequence_id": 9, "sequence_end": True}
        )
        request.sink.respond(request, response, final=True)

    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), moved), FakeServed(model_text("b"), plus(0))
    )
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [seen] = harness.models["b"].scheduler.seen
    assert seen.sequence == SequencePart(9, end=True)
    [(_, response, _)] = sink.responded
    assert response is not None
    assert response.parameters == {"sequence_id": 9, "sequence_start": False, "sequence_end": True}


def test_answers_say_their_sequence_even_without_one() -> None:
    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), plus(0)), FakeServed(model_text("b"), plus(0))
    )
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert sink.responded[0][1] is not None
    assert sink.responded[0][1].parameters == QUIET


@pytest.mark.parametrize(
    "error", [BackendFailed("words"), InvalidArgument("[request id: r] words")]
)
def test_a_failing_step_fails_the_request_in_the_name_of_the_ensemble(error: Exception) -> None:
    harness = EnsembleHarness(CHAIN, FakeServed(model_text("a")), FakeServed(model_text("b")))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [waiting] = harness.models["a"].scheduler.waiting
    waiting.sink.fail(waiting, error)
    [(_, fault)] = sink.failed
    assert type(fault) is type(error)
    assert str(fault) == f"in ensemble 'chain', {error}"
    assert harness.models["b"].scheduler.seen == []
    assert harness.statistics.failures[FailureReason.OTHER] == 2  # its step's, and its own
    assert all(model.pins == 0 for model in harness.models.values())


def test_a_failure_waits_for_the_steps_that_still_run() -> None:
    text = ensemble_text(
        "fork",
        ["IN"],
        ["L", "R"],
        [step_text("left", {"x": "IN"}, {"y": "L"}), step_text("right", {"x": "IN"}, {"y": "R"})],
    )
    left, right = FakeServed(model_text("left")), FakeServed(model_text("right"))
    harness = EnsembleHarness(text, left, right)
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    left.scheduler.waiting[0].sink.fail(left.scheduler.waiting[0], BackendFailed("first"))
    assert sink.failed == []
    right.scheduler.waiting[0].sink.fail(right.scheduler.waiting[0], BackendFailed("second"))
    assert [str(error) for _, error in sink.failed] == ["in ensemble 'fork', first"]


def test_a_scheduler_that_refuses_a_step_fails_the_request() -> None:
    full = FakeServed(model_text("a"))
    full.scheduler.refuse = QueueFull("[request id: r] Exceeds maximum queue size")
    harness = EnsembleHarness(CHAIN, full, FakeServed(model_text("b")))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [(_, fault)] = sink.failed
    assert isinstance(fault, QueueFull)
    assert str(fault) == "in ensemble 'chain', [request id: r] Exceeds maximum queue size"


def test_a_missing_model_fails_the_request() -> None:
    harness = EnsembleHarness(CHAIN, FakeServed(model_text("a"), plus(0)))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [(_, fault)] = sink.failed
    assert isinstance(fault, NotFound)
    assert str(fault) == "in ensemble 'chain', Request for unknown model: 'b' is not found"
    assert harness.models["a"].pins == 0


def test_a_tensor_that_does_not_fit_after_all_names_the_model_behind() -> None:
    def wide(request: Any) -> None:
        request.sink.deliver(request, [np.zeros(3, np.float32)])

    text = ensemble_text(
        "loose",
        ["IN"],
        ["OUT"],
        [step_text("a", {"x": "IN"}, {"y": "MID"}), step_text("b", {"x": "MID"}, {"y": "OUT"})],
    )
    loose = FakeServed(model_text("a", ["x"], [tensor_text("output", "y", [-1])]), wide)
    harness = EnsembleHarness(text, loose, FakeServed(model_text("b"), plus(0)))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [(_, fault)] = sink.failed
    assert isinstance(fault, InvalidArgument)
    assert str(fault).startswith(
        "in ensemble 'loose', [request id: r] unexpected shape for input 'x' for model 'b'."
    )


OPTIONAL = ensemble_text(
    "maybe",
    ["IN", tensor_text("input", "MORE", [2], optional=True)],
    ["OUT", "EXTRA"],
    [
        step_text("a", {"x": "IN", "z": "MORE"}, {"y": "MID", "w": "GIVEN"}),
        step_text("b", {"x": "MID", "z": "GIVEN"}, {"y": "OUT", "w": "EXTRA"}),
    ],
)


def _optional_model(name: str) -> FakeServed:
    def answer(request: Any) -> None:
        arrays = arrays_of(request)
        response = Response(("y",), [arrays["x"] + 1])
        if "z" in arrays:
            response = Response(("w", "y"), [arrays["z"] * 2, arrays["x"] + 1])
        request.sink.respond(request, response, final=True)

    inputs = ["x", tensor_text("input", "z", [2], optional=True)]
    return FakeServed(model_text(name, inputs, ["y", "w"]), answer)


def test_what_was_left_out_is_left_out_all_the_way() -> None:
    harness = EnsembleHarness(OPTIONAL, _optional_model("a"), _optional_model("b"))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert {k: v.tolist() for k, v in answer_of(sink).items()} == {"OUT": [3, 4]}
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2], MORE=[5, 6]))
    assert {k: v.tolist() for k, v in answer_of(sink).items()} == {
        "OUT": [3, 4],
        "EXTRA": [20, 24],
    }


def test_rows_pass_through_models_that_do_not_batch() -> None:
    text = ensemble_text(
        "mixed",
        ["IN"],
        ["OUT"],
        [step_text("flat", {"x": "IN"}, {"y": "MID"}), step_text("b", {"x": "MID"}, {"y": "OUT"})],
        batch=4,
    )
    dims = [tensor_text("input", "x", [-1, 2])], [tensor_text("output", "y", [-1, 2])]
    flat = FakeServed(model_text("flat", *dims), plus(1))
    batching = FakeServed(model_text("b", batch=8), plus(10))
    harness = EnsembleHarness(text, flat, batching)
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[[1, 2], [3, 4]]))
    assert answer_of(sink)["OUT"].tolist() == [[12, 13], [14, 15]]
    assert batching.scheduler.seen[0].plan.rows == 2
    assert harness.statistics.row_count == 2


def test_a_success_counts_the_phases_of_all_steps() -> None:
    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), plus(0)), FakeServed(model_text("b"), plus(0))
    )
    harness.scheduler.submit(harness.request(RecordingSink(), IN=[1, 2]))
    counted = harness.statistics
    assert (counted.success_count, counted.execution_count, counted.row_count) == (1, 1, 1)
    assert (counted.input_ns, counted.infer_ns, counted.output_ns) == (20, 40, 60)
    assert counted.batches[1].infer_ns == 40
    assert counted.fail_count == 0


def test_only_wanted_outputs_are_computed() -> None:
    text = ensemble_text(
        "fork",
        ["IN"],
        ["L", "R"],
        [step_text("left", {"x": "IN"}, {"y": "L"}), step_text("right", {"x": "IN"}, {"y": "R"})],
    )
    left, right = FakeServed(model_text("left"), plus(1)), FakeServed(model_text("right"), plus(2))
    harness = EnsembleHarness(text, left, right)
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, ("R",), IN=[1, 2]))
    assert list(answer_of(sink)) == ["R"]
    assert left.scheduler.seen == []


def test_a_long_chain_of_models_that_answer_at_once_does_not_nest() -> None:
    length = 400
    steps = [step_text("a", {"x": f"T{i}"}, {"y": f"T{i + 1}"}) for i in range(length)]
    text = ensemble_text("long", ["T0"], [f"T{length}"], steps)
    harness = EnsembleHarness(text, FakeServed(model_text("a"), plus(1)))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, T0=[0, 0]))
    assert answer_of(sink)[f"T{length}"].tolist() == [length, length]


def test_an_output_takes_the_shape_that_the_ensemble_promises() -> None:
    text = parsed(
        ensemble_text(
            "shaped",
            ["IN"],
            ['output { name: "OUT" data_type: TYPE_FP32 dims: [1, 2] reshape { shape: [2] } }'],
            [step_text("a", {"x": "IN"}, {"y": "OUT"})],
        )
    )
    harness = EnsembleHarness(str(text), FakeServed(model_text("a"), plus(0)))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert answer_of(sink)["OUT"].tolist() == [[1, 2]]


class Follower:
    """A trace that notes which requests were traced below it, and which were given up."""

    def __init__(self) -> None:
        self.followed: list[Any] = []
        self.abandoned: list[Any] = []

    def follow(self, request: Any) -> None:
        self.followed.append(request)
        request.trace = self

    def abandon(self, request: Any) -> None:
        self.abandoned.append(request)


def test_steps_are_traced_below_their_request() -> None:
    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), plus(0)), FakeServed(model_text("b"), plus(0))
    )
    refusing = harness.models["b"].scheduler
    refusing.refuse = QueueFull("full")
    request = harness.request(RecordingSink(), IN=[1, 2])
    request.trace = trace = Follower()
    harness.scheduler.submit(request)
    assert [item.model.name for item in trace.followed] == ["a", "b"]
    assert trace.abandoned == [trace.followed[1]]


class Doubling:
    """A loaded model with one thread; it notes the sizes of its batches."""

    graph = inline = None

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.instances = [self]

    def execute(self, inputs: dict[str, Any], outputs: Sequence[str]) -> list[Any]:
        self.batches.append(len(inputs["x"]))
        return [inputs["x"] * 2 for _ in outputs]

    def close(self) -> None: ...


async def test_requests_of_one_turn_share_the_batches_of_every_step() -> None:
    text = ensemble_text(
        "chain",
        ["IN"],
        ["OUT"],
        [step_text("a", {"x": "IN"}, {"y": "MID"}), step_text("b", {"x": "MID"}, {"y": "OUT"})],
        batch=8,
    )
    models, loaded = [], {}
    for name in "ab":
        served = FakeServed(model_text(name, batch=8))
        loaded[name] = Doubling()
        config = SchedulerConfig(BatchingConfig(max_rows=8, dynamic=True))
        statistics = Statistics()
        served.scheduler = DynamicScheduler(  # type: ignore[assignment] # the real one
            served.signature, config, loaded[name], asyncio.get_running_loop(), statistics
        )
        models.append(served)
    harness = EnsembleHarness(text, *models)
    sinks = [RecordingSink() for _ in range(4)]
    for number, sink in enumerate(sinks):
        harness.scheduler.submit(harness.request(sink, IN=[[number, number]]))
    await harness.scheduler.drain()
    assert [answer_of(sink)["OUT"].tolist() for sink in sinks] == [
        [[4 * number, 4 * number]] for number in range(4)
    ]
    assert (loaded["a"].batches, loaded["b"].batches) == ([4], [4])
    for served in models:
        await served.scheduler.drain()


def test_a_shape_that_cannot_be_ends_the_request() -> None:
    def odd(request: Any) -> None:
        request.sink.deliver(request, [np.zeros(3, np.float32)])

    text = ensemble_text(
        "shaped",
        ["IN"],
        ['output { name: "OUT" data_type: TYPE_FP32 dims: [1, 2] reshape { shape: [2] } }'],
        [step_text("a", {"x": "IN"}, {"y": "OUT"})],
    )
    harness = EnsembleHarness(text, FakeServed(model_text("a"), odd))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert str(sink.failed[0][1]).startswith("in ensemble 'shaped', cannot reshape array")
    assert not harness.scheduler.busy


def test_a_model_that_lost_an_input_ends_the_request() -> None:
    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), plus(0)), FakeServed(model_text("b", ["other"]))
    )
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert str(sink.failed[0][1]) == (
        "in ensemble 'chain', unexpected inference input 'x' for model 'b'"
    )
    assert not harness.scheduler.busy
