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
    assert doubts.pop("latency_mean") == pytest.approx(0.0005)  # where copies are sent
    assert sum(doubts.values()) == pytest.approx(0.01)  # all others together


def test_strategies_are_stages() -> None:
    def stages(**asked: Any) -> list[tuple[int, int, int]]:
        plan = plan_asked(**asked)
        assert plan_from_json(plan_to_json(plan)) == plan
        return [(one.percent, one.hold_s, one.mirror) for one in plan.stages]

    tenth, all_of_it = {"percent": 10, "hold_s": 5}, {"percent": 100}
    copies = {"percent": 20, "hold_s": 30}
    assert stages(steps=[tenth, all_of_it]) == [(10, 5, 0), (100, 0, 0)]
    assert stages(steps=[tenth, all_of_it], shadow=copies) == [
        (0, 30, 20),
        (10, 5, 0),
        (100, 0, 0),
    ]
    assert stages(strategy="blue_green") == [(0, 60, 0), (100, 300, 0)]
    assert stages(strategy="blue_green", steps=[{**all_of_it, "hold_s": 60}]) == [
        (0, 0, 0),
        (100, 60, 0),
    ]
    assert stages(strategy="blue_green", shadow=copies) == [(0, 30, 20), (100, 300, 0)]


def test_a_plan_of_before_there_were_strategies_is_by_steps() -> None:
    kept = plan_to_json(Plan())
    del kept["strategy"], kept["shadow"]
    assert plan_from_json(kept) == Plan()


def test_some_of_it_may_be_said() -> None:
    plan = plan_asked(
        [{"percent": 20}, {"percent": 100, "hold_s": 0}],
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
        (
            {"steps": [{"percent": 50, "hold_s": 60}, {"percent": 100, "hold_s": 900}]},
            "steps.1.hold_s",
            "900, expected 0 or nothing: after the last step nothing is watched. The strategy "
            "blue_green watches",
        ),
        ({"strategy": "canary"}, "strategy", "'canary', expected one of steps, blue_green"),
        (
            {"strategy": "blue_green", "steps": [{"percent": 9}, {"percent": 100}]},
            "steps",
            "9, 100",
        ),
        ({"shadow": {"percent": 51}}, "shadow.percent", "51, expected 1 to 50"),
        ({"shadow": {"percent": 5, "hold_s": 1e7}}, "shadow.hold_s", "expected 0 to 604800"),
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
