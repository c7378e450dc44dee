"""What is remembered of an ensemble's steps, and what makes it be worked out anew."""

import gc
import weakref
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
    tensor_text,
)
from tests.unit.worker_runtime.core.runtime_requests import RecordingSink
from worker_runtime.core.scheduling.ensemble import steps
from worker_runtime.core.scheduling.ensemble.graph import EnsembleGraph, Form
from worker_runtime.core.scheduling.ensemble.steps import StepRecipe
from worker_runtime.errors import InvalidArgument

WIDE = tensor_text("input", "x", [-1]), tensor_text("output", "y", [-1])
LOOSE = CHAIN.replace("dims: [2]", "dims: [-1]")


class Asked:
    """Stands before a model's planner and notes for which forms it was asked."""

    def __init__(self, model: FakeServed) -> None:
        self._planner = model.planner
        self.forms: list[Any] = []
        model.planner = self  # type: ignore[assignment]

    def plan(self, inputs: Any, outputs: Any) -> Any:
        self.forms.append((inputs, outputs))
        return self._planner.plan(inputs, outputs)


def harness_of(text: str = LOOSE, batch: int = 0) -> EnsembleHarness:
    models = [
        FakeServed(model_text(name, WIDE[:1], WIDE[1:], batch=batch), plus(1)) for name in "ab"
    ]
    return EnsembleHarness(text.replace("max_batch_size: 0", f"max_batch_size: {batch}"), *models)


def ask(harness: EnsembleHarness, values: Any) -> Any:
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=values))
    return answer_of(sink)["OUT"].tolist()


def test_the_second_request_of_a_form_is_planned_by_nobody() -> None:
    harness = harness_of()
    asked = [Asked(model) for model in harness.models.values()]
    assert ask(harness, [1, 2]) == [3, 4]
    assert [found.forms for found in asked] == [[((("x", "FP32", (2,)),), ("y",))]] * 2
    assert ask(harness, [5, 6]) == [7, 8]
    assert [len(found.forms) for found in asked] == [1, 1]


@pytest.mark.parametrize(
    ("batch", "first", "second"),
    [
        (0, [1, 2], [1, 2, 3]),  # another shape
        (4, [[1, 2]], [[1, 2], [3, 4]]),  # another batch size
        (4, [[1, 2]], [[1, 2, 3]]),
    ],
)
def test_another_form_is_planned_anew_and_both_are_kept(
    batch: int, first: Any, second: Any
) -> None:
    harness = harness_of(batch=batch)
    asked = Asked(harness.models["b"])
    for values in (first, second, first, second):
        assert ask(harness, values) == (np.asarray(values) + 2).tolist()
    shapes = [forms[0][2] for forms, _ in asked.forms]
    assert shapes == [np.shape(first), np.shape(second)]


def test_another_type_from_a_step_is_planned_anew_and_refused() -> None:
    harness = harness_of()
    assert ask(harness, [1, 2]) == [3, 4]
    harness.models["a"].scheduler.answer = lambda request: request.sink.deliver(
        request, [np.zeros(2, np.int32)]
    )
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    assert str(sink.failed[0][1]) == (
        "in ensemble 'chain', [request id: r] inference input 'x' data-type is 'INT32', but model "
        "'b' expects 'FP32'"
    )
    harness.models["a"].scheduler.answer = plus(1)
    assert ask(harness, [1, 2]) == [3, 4]


def test_an_input_that_was_left_out_makes_another_plan() -> None:
    more = tensor_text("input", "MORE", [2], optional=True)
    text = ensemble_text(
        "maybe", ["IN", more], ["OUT"], [step_text("a", {"x": "IN", "z": "MORE"}, {"y": "OUT"})]
    )
    optional = tensor_text("input", "z", [2], optional=True)
    harness = EnsembleHarness(text, FakeServed(model_text("a", ["x", optional]), plus(0)))
    asked = Asked(harness.models["a"])
    for arrays in ({}, {"MORE": [1, 1]}, {}, {"MORE": [1, 1]}):
        sink = RecordingSink()
        harness.scheduler.submit(harness.request(sink, IN=[1, 2], **arrays))
        wanted = [2, 3] if arrays else [1, 2]
        assert answer_of(sink)["OUT"].tolist() == wanted
    assert [[name for name, _, _ in forms] for forms, _ in asked.forms] == [["x"], ["x", "z"]]


def test_nobody_remembers_what_was_refused() -> None:
    harness = EnsembleHarness(LOOSE, *(FakeServed(model_text(name), plus(0)) for name in "ab"))
    asked = Asked(harness.models["a"])
    for _ in range(2):
        sink = RecordingSink()
        harness.scheduler.submit(harness.request(sink, IN=[1, 2, 3]))
        assert isinstance(sink.failed[0][1], InvalidArgument)
    assert len(asked.forms) == 2


@pytest.mark.parametrize("reloaded", ["a", "b"])
def test_a_reloaded_step_is_asked_as_it_is_now_and_its_old_version_is_let_go(reloaded: str) -> None:
    harness = harness_of()
    assert ask(harness, [1, 2]) == [3, 4]
    old = weakref.ref(harness.models[reloaded])
    harness.models[reloaded].scheduler.seen.clear()
    # the new version batches, and its input has another place beside an optional one
    extra = tensor_text("input", "first", [2], optional=True)
    harness.models[reloaded] = FakeServed(
        model_text(reloaded, [extra, WIDE[0]], WIDE[1:], batch=4), plus(10)
    )
    gc.collect()
    assert old() is None
    assert ask(harness, [1, 2]) == [12, 13]
    [seen] = harness.models[reloaded].scheduler.seen
    assert [item.shape for item in seen.plan.inputs] == [(1, 2)]


def test_a_request_goes_on_with_the_versions_that_it_began_with() -> None:
    harness = harness_of()
    first, second = harness.models["a"].scheduler, harness.models["b"]
    first.answer = None
    sink = RecordingSink()
    harness.scheduler.submit(harness.request(sink, IN=[1, 2]))
    harness.models["b"] = FakeServed(model_text("b", WIDE[:1], WIDE[1:]), plus(100))
    assert harness.models["b"].pins == 0
    later = RecordingSink()
    harness.scheduler.submit(harness.request(later, IN=[1, 2]))
    assert (second.pins, harness.models["b"].pins) == (1, 1)
    for waiting in list(first.waiting):
        plus(1)(waiting)
    assert answer_of(sink)["OUT"].tolist() == [3, 4]
    assert answer_of(later)["OUT"].tolist() == [102, 103]
    assert (second.pins, harness.models["b"].pins) == (0, 0)


def test_the_plans_of_a_step_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "_MAX_PLANS", 3)
    model = FakeServed(model_text("a", WIDE[:1], WIDE[1:]))
    [step, _] = EnsembleGraph(harness_of().config).steps
    recipe = StepRecipe(step, model)
    forms: list[tuple[Form, ...]] = [(("FP32", (size,), 0),) for size in range(1, 8)]
    for form in forms:
        assert recipe.plan(model, form).inputs[0].shape == form[0][1]
        assert len(recipe._plans) <= 3
    assert recipe.plan(model, forms[-1]) is recipe.plan(model, forms[-1])
