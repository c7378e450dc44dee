"""Copies before all steps, a switch at once, and replicas that have nothing left."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.rollouts import (
    BLUE_GREEN,
    Arm,
    Captured,
    Compare,
    Compared,
    Facts,
    Judgement,
    Plan,
    Shadow,
    Side,
    State,
    Step,
    Tally,
    Window,
    judge,
    started,
    state_from_json,
    state_to_json,
)
from controlplane.rollouts.evidence import at_most

BEGAN = 1000.0
FACTS = Facts(candidate="green")
SWITCH = Plan(steps=(Step(0, 30), Step(100, 60)), strategy=BLUE_GREEN, min_requests=100)
COPIES = Plan(steps=(Step(10, 60), Step(100, 0)), shadow=Shadow(20, 30), min_requests=100)
KNOWN = started(BEGAN, Arm(20_000, 20, 0, {60: 20_000}))
SLOW_US, QUICK_US = 2_000.0, 1_000.0


def seen(at: float, new: Arm | None = None, old: Arm | None = None) -> Window:
    return Window(at, new or Arm(), old or Arm(900))


def copied(at: float, failed: int = 0, us: float = QUICK_US, requests: int = 50) -> Window:
    new = Arm(requests, failed, total_us=us * (requests - failed))
    return Window(at, new, Arm(250, 0, total_us=250 * QUICK_US))


def judged(
    plan: Plan,
    state: State,
    *some: Window,
    now: float,
    copies: tuple[Window, ...] = (),
    **facts: Any,
) -> Judgement:
    return judge(plan, state, some, replace(FACTS, **facts), now, copies)


def figure(found: Judgement, measure: str) -> Any:
    return next(one for one in found.figures if one.measure == measure)


@pytest.mark.parametrize(
    ("windows", "state", "now", "action", "cause", "text"),
    [
        ([seen(1010)], KNOWN, 1010, "wait", "hold_time", "0 % for 20 s more"),
        ([seen(1031)], KNOWN, 1031, "next", "step_done", "20,900 requests of the stable version"),
        (
            [seen(1031, old=Arm(40))],
            State(since=BEGAN),
            1031,
            "wait",
            "too_few_requests",
            "40 of 100 requests of the stable version to compare it with: 60 are missing before "
            "green gets all of the traffic",
        ),
    ],
)
def test_before_the_switch(
    windows: list[Window], state: State, now: float, action: str, cause: str, text: str
) -> None:
    found = judged(SWITCH, state, *windows, now=now)
    assert (found.action, found.cause) == (action, cause)
    assert text in found.reason


def asked(inputs: int, unanswered: int = 0, why: str = "") -> Compared:
    return Compared(
        candidate=Tally(0, inputs),
        stable=Tally(0, 4 * inputs),
        unanswered=unanswered,
        captured=Captured(why=why),
    )


@pytest.mark.parametrize(
    ("compared", "min_requests", "cause", "missing", "text"),
    [
        (None, 100, "step_done", 0, "20,900 requests of the stable version"),
        (asked(100), 100, "step_done", 0, "20,900 requests of the stable version"),
        (asked(0), 100, "too_few_inputs", 100, "0 of 100 inputs were answered by both versions: "
         "100 are missing before green gets all of the traffic."),
        (asked(99, 3), 100, "too_few_inputs", 1, "1 are missing before green gets all of the "
         "traffic. Of 3 more nothing was learned."),
        (asked(9, why="None was captured."), 10, "too_few_inputs", 1, "None was captured."),
        (asked(199), 5000, "too_few_inputs", 1, "199 of 200 inputs"),  # more find nothing more
        (asked(200), 5000, "step_done", 0, "20,900 requests of the stable version"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("shadow", [None, Shadow(20, 30)])
def test_a_switch_waits_for_inputs_that_both_answered(
    shadow: Shadow | None,
    compared: Compared | None,
    min_requests: int,
    cause: str,
    missing: int,
    text: str,
) -> None:
    plan = replace(SWITCH, min_requests=min_requests, shadow=shadow)
    copies = tuple(copied(1004, requests=6000) for _ in range(2)) if shadow else ()
    found = judged(plan, KNOWN, seen(1031), now=1031, copies=copies, compared=compared)
    assert (found.action, found.cause) == ("next" if cause == "step_done" else "wait", cause)
    assert found.missing == missing
    assert shadow or text in found.reason


def test_a_switch_says_of_a_sleeping_candidate_that_it_is_not_asked() -> None:
    found = judged(SWITCH, KNOWN, seen(1031), now=1031, compared=asked(0), idle=True)
    assert "green is asleep: they are asked once a request wakes it." in found.reason


def test_that_nothing_is_captured_is_said_where_nothing_else_is_asked() -> None:
    known = replace(asked(9, why="None was captured."), sources={"captured": Tally(0, 9)})
    assert "None was" in judged(SWITCH, KNOWN, seen(1031), now=1031, compared=known).reason
    known = replace(known, sources={"captured": Tally(0, 4), "random": Tally(0, 5)})
    assert "None was" not in judged(SWITCH, KNOWN, seen(1031), now=1031, compared=known).reason


def test_inputs_hold_no_step_of_others_and_nothing_after_the_switch() -> None:
    steps = replace(COPIES, compare=Compare(60))
    copies = (copied(1004), copied(1008))
    assert judged(steps, KNOWN, seen(1031), now=1031, copies=copies, compared=asked(0)).action == (
        "next"
    )
    after = replace(KNOWN, step=1)
    found = judged(SWITCH, after, seen(1061, Arm(500), Arm()), now=1061, compared=asked(0))
    assert (found.action, found.cause) == ("next", "step_done")


@pytest.mark.parametrize(
    ("green", "now", "action", "cause", "text"),
    [
        (Arm(50, 0), 1010, "wait", "too_few_requests", "50 of 100 requests of green since the sw"),
        (Arm(500, 0), 1010, "wait", "hold_time", "100 % for 50 s more"),
        (Arm(500, 1), 1061, "next", "step_done", "500 requests since the switch in 61 s"),
        (Arm(100, 6), 1010, "withdraw", "errors", "6.00 % of green's requests failed (6 of 100), "
         "of the stable version's 0.10 % (20 of 20,000, before it)"),
        (Arm(100, 0, 9), 1010, "withdraw", "refusals", "were refused (4xx)"),
        (Arm(100, 0, 0, {80: 100}), 1010, "wait", "hold_time", "for 50 s more"),  # a hiccup
        (Arm(100, 0, 0, {60: 100}), 1010, "wait", "hold_time", "for 50 s more"),
    ],
)  # fmt: skip
def test_after_the_switch_what_was_before_it_is_compared_with(
    green: Arm, now: float, action: str, cause: str, text: str
) -> None:
    found = judged(SWITCH, replace(KNOWN, step=1), seen(now, green, Arm()), now=now)
    assert (found.action, found.cause) == (action, cause)
    assert text in found.reason


def test_after_the_switch_one_that_is_slower_for_long_is_withdrawn() -> None:
    slow = [seen(1002 + 2 * index, Arm(100, 0, 0, {80: 100}), Arm()) for index in range(5)]
    found = judged(SWITCH, replace(KNOWN, step=1), *slow, now=1010)
    assert (found.action, found.cause) == ("withdraw", "latency_p95")


def test_what_the_stable_version_does_after_the_switch_is_no_reference() -> None:
    """Probes that name it, say, and all of which fail."""
    found = judged(SWITCH, replace(KNOWN, step=1), seen(1010, Arm(100), Arm(500, 500)), now=1010)
    assert found.state.reference == KNOWN.reference
    assert figure(found, "errors").stable == (20, 20_000)


@given(st.integers(0, 300), st.integers(1, 5000))
def test_a_share_is_at_most_what_was_seen_and_some_more(bad: int, more: int) -> None:
    seen_of_it = Tally(bad, bad + more)
    assert seen_of_it.share < at_most(seen_of_it) <= 1
    twice = Tally(2 * bad, 2 * (bad + more))
    assert at_most(twice) <= at_most(seen_of_it)  # who has seen more knows better
    assert at_most(Tally()) == 1


@pytest.mark.parametrize(
    ("copies", "now", "action", "cause", "text"),
    [
        ([], 1010, "wait", "too_few_requests", "0 of 100 copies answered by green"),
        ([copied(1004), copied(1008)], 1010, "wait", "hold_time", "Copies of 20 % of the requests"),
        ([copied(1004), copied(1008)], 1031, "next", "step_done", "100 copies in 31 s"),
        ([copied(1004, failed=9)], 1010, "withdraw", "errors", "(9 of 50), of the stable"),
    ],
)
def test_copies(copies: list[Window], now: float, action: str, cause: str, text: str) -> None:
    found = judged(COPIES, KNOWN, seen(now), now=now, copies=tuple(copies))
    assert (found.action, found.cause) == (action, cause)
    assert text in found.reason
    assert state_from_json(state_to_json(found.state)) == found.state


def test_a_candidate_that_is_slower_with_copies_is_withdrawn_for_that() -> None:
    slow = tuple(copied(BEGAN + 4 * index, us=SLOW_US) for index in range(1, 16))
    found = judged(COPIES, KNOWN, seen(1061), now=1061, copies=slow)
    assert (found.action, found.cause) == ("withdraw", "latency_mean")
    assert "in 15 of 15 windows (in all 2 ms and 1 ms)" in found.reason
    few = judged(COPIES, KNOWN, seen(1061), now=1061, copies=slow[:8])
    assert few.action != "withdraw"
    as_quick = tuple(replace(one, candidate=copied(0).candidate) for one in slow)
    assert judged(COPIES, KNOWN, seen(1061), now=1061, copies=as_quick).action == "next"


def test_what_gateways_count_beside_copies_is_probes() -> None:
    found = judged(COPIES, KNOWN, seen(1010, Arm(500, 500)), now=1010)
    assert found.action == "wait"
    assert found.state.candidate_requests == 0


def test_without_copies_nobody_is_told_of_their_latency() -> None:
    measures = {one.measure for one in judged(SWITCH, KNOWN, seen(1010), now=1010).figures}
    assert "latency_mean" not in measures


def used(share: float | None) -> Side:
    return Side(2, 2, used={} if share is None else {"cpu": share, "instances": share / 2})


def pressed(own: float | None, stable: float | None, after_s: float) -> Judgement:
    """Two looks, so long one after the other."""
    plan = Plan(steps=(Step(10, 5), Step(100, 0)), min_requests=10)
    sides = {"own": used(own), "stable": used(stable)}
    first = judged(plan, State(since=BEGAN), seen(1001, Arm(100)), now=1001, **sides)
    later = 1001 + after_s
    kept = state_from_json(state_to_json(first.state))
    return judged(plan, kept, seen(later, Arm(100)), now=later, **sides)


@pytest.mark.parametrize(
    ("own", "stable", "after_s", "action", "cause"),
    [
        (0.5, 0.5, 10, "next", "step_done"),
        (0.97, 0.5, 10, "wait", "saturated"),
        (0.97, 0.5, 121, "withdraw", "saturation"),
        (0.97, 0.98, 500, "wait", "saturated"),  # of the stable version as well: not its fault
        (0.97, None, 500, "wait", "saturated"),
        (None, None, 10, "next", "step_done"),
    ],
)
def test_a_candidate_with_nothing_left_gets_no_more(
    own: float | None, stable: float | None, after_s: float, action: str, cause: str
) -> None:
    found = pressed(own, stable, after_s)
    assert (found.action, found.cause) == (action, cause)
    if cause.startswith("saturat"):
        assert "use 97 % of their processors" in found.reason


def test_what_nobody_has_measured_is_told_so() -> None:
    told = figure(pressed(None, 0.5, 10), "saturation")
    assert told.candidate == (0, 0)
    assert told.stable == (50, 100)
    assert told.text == "Nobody has measured what green uses."


def test_one_that_gets_room_again_goes_on() -> None:
    plan = Plan(steps=(Step(10, 5), Step(100, 0)), min_requests=10)
    full = judged(plan, State(since=BEGAN), seen(1010, Arm(100)), now=1010, own=used(0.99))
    assert full.cause == "saturated"
    assert judged(plan, full.state, seen(1012), now=1012, own=used(0.6)).action == "next"
