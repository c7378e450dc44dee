"""What may be asked of a rollout, and what is kept of it."""

from typing import Any

import pytest

from controlplane.core.errors import Invalid
from controlplane.rollouts import (
    MEASURES,
    Plan,
    plan_asked,
    plan_from_json,
    plan_to_json,
)


def test_what_is_not_said_has_its_default() -> None:
    plan = plan_asked()
    assert plan == Plan()
    assert [step.percent for step in plan.steps] == [1, 10, 50, 100]
    assert set(plan.guardrails) == set(MEASURES)
    doubts = {name: 1 - (one.confidence or 1) for name, one in plan.guardrails.items()}
    assert doubts.pop("answers") == pytest.approx(0.005)  # where somebody has inputs compared
    assert sum(doubts.values()) == pytest.approx(0.01)  # all others together


def test_some_of_it_may_be_said() -> None:
    plan = plan_asked(
        [{"percent": 20}, {"percent": 100, "hold_s": 5}],
        50,
        {"refusals": None, "latency_p95": {"tolerance": 2}},
    )
    assert [(step.percent, step.hold_s) for step in plan.steps] == [
        (20, 300),
        (100, 0),
    ]  # nothing is held at the end
    assert "refusals" not in plan.guardrails
    assert plan.guardrails["latency_p95"].tolerance == 2
    assert plan.guardrails["latency_p95"].confidence == MEASURES["latency_p95"].confidence
    assert plan_from_json(plan_to_json(plan)) == plan


@pytest.mark.parametrize(
    ("asked", "field", "text"),
    [
        ({"steps": []}, "steps", "0, expected 1 to 20"),
        ({"steps": [{"percent": 10}]}, "steps", "10; expected rising percents"),
        ({"steps": [{"percent": 50}, {"percent": 10}, {"percent": 100}]}, "steps", "50, 10, 100"),
        ({"steps": [{"percent": 0}, {"percent": 100}]}, "steps.0.percent", "expected 1 to 100"),
        ({"steps": [{"percent": 9, "hold_s": -1}, {"percent": 100}]}, "steps.0.hold_s", "-1, expe"),
        ({"min_requests": 0}, "min_requests", "0, expected 1"),
        ({"min_requests": 10**400}, "min_requests", "000, expected 1 to 1e+07"),
        ({"guardrails": {"mood": {}}}, "guardrails.mood", "expected one of errors"),
        ({"guardrails": {"errors": {"tolerance": 0.5}}}, "guardrails.errors.tolerance", "0.5"),
        ({"guardrails": {"errors": {"confidence": 1}}}, "guardrails.errors.confidence", "1;"),
        ({"guardrails": {"errors": {"confidence": None}}}, "guardrails.errors.confidence", "None"),
        ({"guardrails": {"restarts": {"confidence": 0.9}}}, "guardrails.restarts.confidence", "no"),
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any], field: str, text: str) -> None:
    with pytest.raises(Invalid) as refused:
        plan_asked(**asked)
    assert refused.value.field == field
    assert text in refused.value.message


def test_guardrails_come_in_the_order_of_the_table_however_they_were_kept() -> None:
    kept = plan_to_json(Plan())
    kept["guardrails"] = dict(sorted(kept["guardrails"].items(), key=lambda pair: len(pair[0])))
    assert list(kept["guardrails"]) != list(MEASURES)
    assert list(plan_from_json(kept).guardrails) == list(MEASURES)
