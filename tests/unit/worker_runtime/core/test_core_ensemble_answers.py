"""Ensembles over fake models: many answers, none, cancelled ones, and the end of them all."""

import asyncio
from typing import Any

import numpy as np
import pytest

from tests.unit.worker_runtime.core.ensemble_models import (
    CHAIN,
    EnsembleHarness,
    FakeServed,
    answer_of,
    ensemble_text,
    model_text,
    plus,
    step_text,
)
from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.errors import (
    Cancelled,
    Unavailable,
)
from worker_runtime.types.request import Response

STREAM = ensemble_text(
    "stream",
    ["IN"],
    ["OUT"],
    [step_text("many", {"x": "IN"}, {"y": "MID"}), step_text("b", {"x": "MID"}, {"y": "OUT"})],
)


def _stream(limit: int = 0) -> EnsembleHarness:
    text = STREAM + " model_transaction_policy { decoupled: true }"
    if limit:
        text = text.replace(
            "ensemble_scheduling {", f"ensemble_scheduling {{ max_inflight_requests: {limit} "
        )
    return EnsembleHarness(text, FakeServed(model_text("many")), FakeServed(model_text("b")))


def _part(value: float) -> Response:
    return Response(("y",), [np.full(2, value, np.float32)])


def test_a_decoupled_step_gives_an_answer_for_each_of_its_own() -> None:
    harness = _stream()
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [many] = harness.models["many"].scheduler.waiting
    for number in range(3):
        many.sink.respond(many, _part(number), final=False)
    behind = harness.models["b"].scheduler.waiting
    assert len(behind) == 3
    plus(10)(behind[1])
    many.sink.respond(many, None, final=True)
    plus(10)(behind[0])
    plus(10)(behind[2])
    shown = [(r.arrays[0][0] if r else None, final) for _, r, final in sink.responded]
    assert shown == [(11, False), (10, False), (12, True)]
    assert harness.statistics.success_count == 1
    assert not harness.scheduler.busy


def test_a_decoupled_ensemble_may_give_no_answer_at_all() -> None:
    harness = _stream()
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [many] = harness.models["many"].scheduler.waiting
    many.sink.respond(many, None, final=True)
    assert sink.responded == [("r", None, True)]


def test_the_last_answer_may_come_before_the_end_is_known() -> None:
    harness = _stream()
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [many] = harness.models["many"].scheduler.waiting
    many.sink.respond(many, _part(1), final=False)
    plus(0)(harness.models["b"].scheduler.waiting[0])
    many.sink.respond(many, None, final=True)
    assert [(r is None, final) for _, r, final in sink.responded] == [(False, False), (True, True)]


async def test_max_inflight_requests_holds_steps_back_in_order() -> None:
    harness = _stream(limit=2)
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    [many] = harness.models["many"].scheduler.waiting
    for number in range(4):
        many.sink.respond(many, _part(number), final=False)
    many.sink.respond(many, None, final=True)
    behind = harness.models["b"].scheduler.waiting
    assert len(behind) == 2
    while behind:
        plus(0)(behind.pop(0))
        await asyncio.sleep(0)  # the next one gets its turn of the loop
    assert [r.arrays[0][0] for _, r, _ in sink.responded if r] == [0, 1, 2, 3]
    assert sink.responded[-1][2]


def test_a_model_that_gives_nothing_is_a_deadlock() -> None:
    def silent(request: Any) -> None:
        request.sink.respond(request, None, final=True)

    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a"), silent), FakeServed(model_text("b"))
    )
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert str(sink.failed[0][1]) == (
        "in ensemble 'chain', [request id: r] unexpected deadlock, at least one output is not set "
        "while no more ensemble steps can be made"
    )


def test_an_answer_without_outputs_is_passed_on_as_such() -> None:
    def empty(request: Any) -> None:
        request.sink.respond(request, Response(), final=True)

    text = ensemble_text("one", ["IN"], ["OUT"], [step_text("a", {"x": "IN"}, {"y": "OUT"})])
    harness = EnsembleHarness(text, FakeServed(model_text("a"), empty))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert answer_of(sink) == {}
    assert sink.responded[0][1] is not None
    assert sink.responded[0][1].parameters is None


def test_cancelling_reaches_the_steps_that_wait() -> None:
    harness = EnsembleHarness(CHAIN, FakeServed(model_text("a")), FakeServed(model_text("b")))
    sink = RecordingSink()
    request = harness.request(sink, IN=[1, 2])
    harness.scheduler.submit(request)
    assert harness.scheduler.cancel(request)
    assert harness.models["a"].scheduler.waiting == []
    assert len(sink.failed) == 1
    assert not harness.scheduler.busy


def test_nothing_follows_a_step_that_ran_while_its_request_was_cancelled() -> None:
    harness = EnsembleHarness(CHAIN, FakeServed(model_text("a")), FakeServed(model_text("b")))
    sink = RecordingSink()
    request = harness.request(sink, IN=[1, 2])
    harness.scheduler.submit(request)
    [running] = harness.models["a"].scheduler.waiting
    harness.models["a"].scheduler.waiting.clear()  # it executes
    assert not harness.scheduler.cancel(request)
    assert running.cancelled
    plus(0)(running)
    assert harness.models["b"].scheduler.seen == []
    assert isinstance(sink.failed[0][1], Cancelled)


async def test_draining_waits_for_the_last_step_and_refuses_new_requests() -> None:
    harness = EnsembleHarness(
        CHAIN, FakeServed(model_text("a")), FakeServed(model_text("b"), plus(0))
    )
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    draining = asyncio.ensure_future(harness.scheduler.drain())
    await asyncio.sleep(0)
    assert not draining.done()
    with pytest.raises(Unavailable):
        harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    plus(0)(harness.models["a"].scheduler.waiting[0])
    await draining
    assert len(sink.responded) == 1


def test_closing_fails_what_runs_and_ignores_what_comes_later() -> None:
    harness = EnsembleHarness(CHAIN, FakeServed(model_text("a")), FakeServed(model_text("b")))
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    harness.scheduler.close()
    assert isinstance(sink.failed[0][1], Unavailable)
    plus(0)(harness.models["a"].scheduler.waiting[0])
    assert sink.responded == []
    assert harness.models["a"].pins == 0
