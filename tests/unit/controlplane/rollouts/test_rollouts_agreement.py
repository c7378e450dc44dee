"""Both versions asked the same inputs: how sure it is that the candidate answers otherwise."""

from dataclasses import replace

import pytest

from controlplane.core.errors import Invalid
from controlplane.rollouts import (
    ASKED_AGAIN,
    Arm,
    Compared,
    Facts,
    Judgement,
    Plan,
    State,
    Step,
    Window,
    compared_from_json,
    compared_to_json,
    compared_with,
    judge,
    plan_asked,
    plan_from_json,
    plan_to_json,
    unanswered,
)

PLAN = Plan(steps=(Step(10, 60), Step(50, 60), Step(100)), min_requests=100)
SAME = ("",) * ASKED_AGAIN


def asked(count: int, own: str = "", again: tuple[str, ...] = SAME) -> Compared:
    known = Compared()
    for _ in range(count):
        known = compared_with(known, own, again, 1.0)
    return known


def judged(known: Compared | None, plan: Plan = PLAN) -> Judgement:
    facts = Facts(candidate="green", compared=known)
    return judge(plan, State(since=1000.0), [Window(1061, Arm(100), Arm(900))], facts, 1061)


@pytest.mark.parametrize(
    ("known", "action"),
    [
        (None, "next"),
        (Compared(), "next"),
        (asked(5000), "next"),
        (asked(4, "y differs"), "next"),
        (asked(5, "y differs"), "withdraw"),
        # a model that is random all through says nothing
        (asked(500, "y differs", ("y differs",) * ASKED_AGAIN), "next"),
    ],
)
def test_what_differs_more_than_the_stable_version_from_itself_is_withdrawn(
    known: Compared | None, action: str
) -> None:
    found = judged(known)
    assert found.action == action
    assert (found.cause == "answers") == (action == "withdraw")


def test_the_figures_and_the_last_difference_are_in_the_sentence() -> None:
    known = compared_with(asked(5, "old"), "digits/two: y 1 of 3 values differ", SAME, 1.0)
    found = judged(known)
    assert found.reason.startswith(
        "green answered 6 of 6 inputs otherwise than the stable version, which differed from "
        "itself in 0 of 24: it is worse with a confidence of 99."
    )
    assert found.reason.endswith(
        "99.5 % withdraws it. Of the last: digits/two: y 1 of 3 values differ."
    )
    (figure,) = [one for one in found.figures if one.measure == "answers"]
    assert (figure.counts, figure.candidate, figure.stable) == ("inputs", (6, 6), (0, 24))


def test_it_is_no_figure_where_nobody_asks_or_looks() -> None:
    assert "answers" not in [one.measure for one in judged(None).figures]
    without = replace(PLAN, guardrails={})
    assert judged(asked(50, "y differs"), without).action == "next"


def test_an_input_that_said_nothing_is_counted_apart_and_a_refused_one_not_asked_again() -> None:
    known = unanswered(unanswered(asked(3), "net/two"), "net/two")
    assert (known.unanswered, known.refused, known.candidate.of) == (2, ("net/two",), 3)
    assert unanswered(known).refused == ("net/two",)
    assert compared_from_json(compared_to_json(known)) == known
    assert compared_from_json(None) == Compared()


def test_a_plan_says_how_many_and_how_they_are_compared() -> None:
    plan = plan_asked(compare={"per_minute": 30, "by": "best_class"})
    assert plan_from_json(plan_to_json(plan)) == plan
    kept = plan_to_json(plan_asked())
    assert kept["compare"] is None
    before = {key: value for key, value in kept.items() if key != "compare"}
    assert plan_from_json(before).compare is None, "of before an upgrade"


@pytest.mark.parametrize(
    ("compare", "text"),
    [
        ({"per_minute": 0}, "compare.per_minute: 0, expected 1 to 600"),
        ({"per_minute": 1, "by": "luck"}, "compare.by: 'luck', expected one of values, best_class"),
        ({"per_minute": 1, "relative": 2.0}, "compare.relative: 2, expected 0 to 1"),
        ({"per_minute": 1, "absolute": float("nan")}, "compare.absolute: nan, expected 0 to"),
    ],
)
def test_what_cannot_be_compared_so_is_refused(compare: dict[str, object], text: str) -> None:
    with pytest.raises(Invalid, match=text):
        plan_asked(compare=compare)
