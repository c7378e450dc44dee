"""Golden cases as a guardrail: what was answered, when -> what happens, and what is said."""

from dataclasses import replace
from typing import Any

import pytest

from controlplane.rollouts import (
    Arm,
    Facts,
    Golden,
    Guardrail,
    Judgement,
    Plan,
    Side,
    State,
    Step,
    Window,
    golden_due,
    golden_from_json,
    judge,
)

PLAN = Plan(steps=(Step(10, 60), Step(50, 60), Step(100)), min_requests=100)
BEGAN = 1000.0
SEEN = [Window(1061, Arm(100), Arm(900))]
ASKED = Golden(at=1030.0, revision=1, cases=3)
WRONG = "'eight' of digits, y 1 of 1 values differ [0]: 4, expected 5"


def judged(
    golden: Golden | None, *, seen: Any = SEEN, plan: Plan = PLAN, **facts: Any
) -> Judgement:
    told = Facts(candidate="green", golden=golden, **facts)
    return judge(plan, State(since=BEGAN), seen, told, 1061)


@pytest.mark.parametrize(
    ("golden", "facts", "action", "cause", "text"),
    [
        (None, {}, "next", "step_done", "50 % now"),
        (ASKED, {}, "next", "step_done", "50 % now"),
        (Golden(), {}, "wait", "golden_waits", "green has not been asked the golden cases in this"),
        (replace(ASKED, at=999.0), {}, "wait", "golden_waits", "in this step yet"),
        (Golden(), {"own": Side(0, 0), "idle": True}, "wait", "golden_waits", "green is asleep"),
        (
            replace(ASKED, unanswered=("'one' of digits, there was no answer within 10 s",)),
            {},
            "wait",
            "golden_waits",
            "has not answered the golden case 'one' of digits, there was no answer within 10 s.",
        ),
        (replace(ASKED, unanswered=("a", "b", "c")), {}, "wait", "golden_waits", "nor were 2 more"),
        (
            replace(ASKED, wrong=(WRONG,)),
            {},
            "withdraw",
            "golden",
            f"green answers 1 of 3 golden cases otherwise than expected: {WRONG}.",
        ),
        (replace(ASKED, wrong=(WRONG, "b", "c")), {}, "withdraw", "golden", "and 2 more."),
        # what an earlier step showed counts, and so does what is seen while somebody has paused it
        (replace(ASKED, at=999.0, wrong=(WRONG,)), {}, "withdraw", "golden", "'eight' of digits"),
        (
            replace(ASKED, wrong=(WRONG,)),
            {"paused_by": "ana"},
            "withdraw",
            "golden",
            "'eight' of digits",
        ),
        (replace(ASKED, wrong=(WRONG,), unanswered=("b",)), {}, "withdraw", "golden", "1 of 3"),
    ],
)
def test_the_table(
    golden: Golden | None, facts: dict[str, Any], action: str, cause: str, text: str
) -> None:
    found = judged(golden, **facts)
    assert (found.action, found.cause) == (action, cause)
    assert text in found.reason


def test_so_many_may_fail_as_somebody_has_said() -> None:
    guardrails = {"golden": Guardrail(tolerance=1)}
    plan = replace(PLAN, guardrails=guardrails)
    one, two = replace(ASKED, wrong=(WRONG,)), replace(ASKED, wrong=(WRONG, "b"))
    assert judged(one, plan=plan).action == "next"
    assert judged(two, plan=plan).action == "withdraw"


@pytest.mark.parametrize(
    ("golden", "text"),
    [
        (ASKED, "green answers 3 of 3 golden cases as expected."),
        (replace(ASKED, unanswered=("b",)), "green answers 2 of 3 golden cases as expected."),
        (replace(ASKED, cases=1, unanswered=("b",)), "has answered no golden case: b."),
    ],
)
def test_where_too_little_traffic_decides_it_says_what_they_showed(
    golden: Golden, text: str
) -> None:
    found = judged(golden, seen=[Window(1061, Arm(3), Arm(900))])
    assert found.cause == "too_few_requests"
    assert "97 are missing" in found.reason
    assert found.reason.endswith(text)


def test_without_golden_cases_it_is_as_before() -> None:
    few = [Window(1061, Arm(3), Arm(900))]
    assert judged(None, seen=few).reason.endswith("sent to green.")
    assert "golden" not in [figure.measure for figure in judged(None).figures]


def test_the_figure_counts_cases() -> None:
    figure = judged(replace(ASKED, wrong=(WRONG,))).figures[-1]
    assert (figure.measure, figure.counts, figure.candidate) == ("golden", "cases", (1, 3))
    assert (figure.confidence, figure.broken) == (None, True)


@pytest.mark.parametrize(
    ("asked_at", "now", "slow", "due"),
    [
        (None, 1001, False, True),
        (999, 1001, False, True),  # in the step before
        (1000, 1001, False, False),
        (1000, 1060, False, True),
        (5000, 1060, False, True),  # the clock was set back
        (999, 1001, True, True),
        (1000, 1060, True, False),
        (1000, 1600, True, True),
    ],
)
def test_they_are_asked_once_in_each_step_and_at_a_pace(
    asked_at: float | None, now: float, slow: bool, due: bool
) -> None:
    assert golden_due(asked_at, BEGAN, now, slow=slow) == due


def test_it_is_kept_as_json_and_long_texts_are_cut() -> None:
    kept = replace(ASKED, wrong=("x" * 9000,), unanswered=("b",)).to_json()
    found = golden_from_json(kept)
    assert (found.at, found.cases, found.unanswered) == (1030.0, 3, ("b",))
    assert len(found.wrong[0]) == 500
    assert golden_from_json(None) == Golden()
