"""The judgement as a table: what gateways counted, what replicas do, the time -> what happens."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.rollouts import (
    Action,
    Arm,
    Facts,
    Guardrail,
    Judgement,
    Plan,
    Side,
    State,
    Step,
    Window,
    judge,
    started,
    state_from_json,
    state_to_json,
    windows,
)

PLAN = Plan(steps=(Step(10, 60), Step(50, 60), Step(100)), min_requests=100)
FACTS = Facts(candidate="green")
QUICK = {60: 1000}  # all in one bucket
ROLLOUT_BEGAN = 1000.0


def seen(at: float, new: Arm | None = None, old: Arm | None = None) -> Window:
    return Window(at, new or Arm(100), old or Arm(900))


def judged(
    *some: Window, plan: Plan = PLAN, facts: Facts = FACTS, now: float, **state: Any
) -> Judgement:
    return judge(plan, State(since=ROLLOUT_BEGAN, **state), some, facts, now)


@pytest.mark.parametrize(
    ("some", "facts", "now", "action", "cause", "text"),
    [
        ([], {}, 1004, "wait", "too_few_requests", "0 of 100 requests of green"),
        ([seen(1010, Arm(30))], {}, 1010, "wait", "too_few_requests", "70 are missing"),
        ([seen(1010, Arm(300), Arm(20))], {}, 1010, "wait", "too_few_requests", "stable version"),
        ([seen(1010)], {}, 1010, "wait", "hold_time", "10 % for 50 s more"),
        ([seen(1061)], {}, 1061, "next", "step_done", "50 % now"),
        ([], {}, 1100, "wait", "no_samples", "for 100 s"),
        ([seen(1061)], {"behind": True}, 1061, "wait", "catching_up", "looked at yet"),
        ([seen(1061)], {"paused_by": "ana"}, 1061, "wait", "paused", "ana has paused it"),
        ([seen(1061)], {"own": Side(2, 0)}, 1061, "withdraw", "not_ready", "no ready replica"),
        ([seen(1061)], {"own": Side(2, 0, 1)}, 1061, "wait", "nodes_silent", "green is heard of"),
        ([seen(1061)], {"own": Side(0, 0), "idle": True}, 1061, "next", "step_done", "50 % now"),
        ([seen(1061)], {"changed": "It is new."}, 1061, "withdraw", "changed", "It is new."),
        ([seen(1010, Arm(100, 30))], {}, 1010, "withdraw", "errors", "30.0 % of green's"),
        # withdrawn also while somebody has paused it
        ([seen(1010, Arm(100, 30))], {"paused_by": "ana"}, 1010, "withdraw", "errors", "failed"),
        ([seen(1010, Arm(100, 0, 30))], {}, 1010, "withdraw", "refusals", "were refused (4xx)"),
        ([seen(1010, Arm(100, 30), Arm(900, 270))], {}, 1010, "wait", "hold_time", "50 s more"),
        ([seen(1061)], {"own": Side(2, 2, 0, 1)}, 1061, "next", "step_done", ""),
        ([seen(1061)], {"own": Side(2, 2, 0, 2)}, 1061, "withdraw", "restarts", "2 times"),
        (
            [seen(1061)],
            {"own": Side(2, 2, 0, 2), "stable": Side(2, 2, 0, 2)},
            1061,
            "next",
            "step_done",
            "",
        ),
    ],
)  # fmt: skip
def test_the_table(
    some: list[Window], facts: dict[str, Any], now: float, action: str, cause: str, text: str
) -> None:
    found = judged(*some, facts=replace(FACTS, **facts), now=now)
    assert (found.action, found.cause) == (action, cause)
    assert text in found.reason


def test_the_figure_and_the_confidence_are_in_the_sentence() -> None:
    found = judged(seen(1010, Arm(200, 11), Arm(1800, 4)), now=1010)
    assert found.reason == (
        "5.50 % of green's requests failed (11 of 200), of the stable version's 0.22 % (4 of "
        "1,800): it is worse with a confidence of 99.999 %, 99.3 % withdraws it."
    )


def test_it_holds_where_gateways_fall_silent_in_a_step_that_is_done() -> None:
    heard = judged(seen(1010), now=1010).state
    found = judge(PLAN, heard, [], FACTS, 1070)
    assert (found.action, found.cause) == (Action.WAIT, "no_samples")
    assert "for 60 s" in found.reason
    assert judge(PLAN, found.state, [seen(1071)], FACTS, 1072).action == Action.NEXT


def test_a_clock_that_is_set_back_makes_nobody_wait_for_it() -> None:
    state = State(since=9000.0, measured_at=9005.0, candidate_requests=500, stable_requests=500)
    found = judge(PLAN, state, [], FACTS, 1000)
    assert (found.state.since, found.state.measured_at) == (1000, 1000)


def test_a_step_begins_with_nothing_counted() -> None:
    found = judged(seen(1061), now=1061)
    assert (found.state.step, found.state.since) == (1, 1061)
    after = judge(PLAN, found.state, [seen(1063, Arm(40), Arm(60))], FACTS, 1063)
    assert (after.cause, after.missing) == ("too_few_requests", 60)
    assert after.figures[0].candidate == (0, 140)  # what is known of versions goes on


def slow(buckets: dict[int, int]) -> Arm:
    return Arm(sum(buckets.values()), histogram=buckets)


@pytest.mark.parametrize(
    ("new", "count", "broken"),
    [
        ({60: 100}, 5, None),
        ({64: 100}, 5, None),  # 1.05 ** 4 is 1.2155: within the tolerance of 1.2, rounded up
        ({65: 100}, 5, "latency_p95"),
        ({65: 100}, 2, None),  # two windows are a hiccup, whatever they hold
        ({60: 90, 80: 10}, 1, None),
    ],
)
def test_latencies_are_compared_with_the_quantile_of_before(
    new: dict[int, int], count: int, broken: str | None
) -> None:
    some = [seen(1002 + 2 * index, slow(new), slow(QUICK)) for index in range(count)]
    found = judged(*some, now=1012, before=QUICK)
    assert (found.cause if found.action == Action.WITHDRAW else None) == broken
    p95, stable = found.p95_us
    assert p95 is not None
    assert stable is not None
    assert (p95 > stable) == (max(new) > 60)


def test_no_latency_is_compared_before_that_of_the_stable_version_is_known() -> None:
    some = seen(1002, slow({90: 100}), slow({60: 150}))
    found = judged(some, now=1002)
    assert [one.candidate for one in found.figures if one.measure == "latency_p95"] == [(0, 0)]


def test_what_is_not_asked_for_is_not_looked_at() -> None:
    plan = replace(PLAN, guardrails={"latency_p95": Guardrail(1.0, 0.999)})
    assert judged(seen(1010, Arm(100, 90)), plan=plan, now=1010).action == Action.WAIT


def test_windows_of_samples() -> None:
    def sample(at: float, deployment: str, **classes: int) -> dict[str, Any]:
        counted = {name.removeprefix("c"): count for name, count in classes.items()}
        whole = sum(counted.values())
        told = {"at": at, "deployment": deployment, "requests": whole}
        return told | {"status_classes": counted, "histogram": {"3": whole}}

    found = windows(
        [
            sample(4, "green", c2xx=5, c5xx=1),
            sample(2, "blue", c2xx=9),
            sample(4, "blue", c2xx=7, c4xx=2),
            sample(4, "teal", c2xx=1),
            sample(4, "", c4xx=50),  # refused at the gateway: nobody's
        ],
        "green",
    )
    assert found == [
        Window(2, Arm(), Arm(9, histogram={3: 9})),
        Window(4, Arm(6, 1, 0, {3: 6}), Arm(10, 0, 2, {3: 10})),
    ]


counts = st.integers(0, 3000)
arms = st.builds(
    lambda requests, failed, refused, buckets: Arm(
        requests, min(failed, requests), min(refused, requests), buckets
    ),
    counts,
    counts,
    counts,
    st.dictionaries(st.integers(-1, 200), st.integers(1, 500), max_size=5),
)
observed = st.lists(st.builds(Window, st.floats(0, 2000), arms, arms), max_size=6)
facts_of = st.builds(
    Facts,
    candidate=st.just("green"),
    own=st.builds(Side, *[st.integers(0, 3)] * 4),
    stable=st.builds(Side, *[st.integers(0, 3)] * 4),
    idle=st.booleans(),
    paused_by=st.sampled_from(["", "ana"]),
)


@settings(max_examples=150, deadline=None)
@given(observed, observed, facts_of, st.floats(900, 2000))
def test_whatever_is_counted(
    first: list[Window], then: list[Window], facts: Facts, now: float
) -> None:
    state = judge(PLAN, started(ROLLOUT_BEGAN, Arm(histogram=QUICK)), first, facts, now).state
    assert state_from_json(state_to_json(state)) == state
    kept = replace(state, step=0)
    found = judge(PLAN, kept, then, facts, now + 60)
    assert found.reason.endswith((".", "now."))
    requests = sum(one.candidate.requests for one in then) + kept.candidate_requests
    if found.action == Action.NEXT:  # never on too little, nor while it is paused or silent
        assert requests >= PLAN.min_requests
        assert not facts.paused_by
        assert then or kept.since > now + 45
        assert not any(figure.broken for figure in found.figures)
    assert (found.missing > 0) <= (found.action == Action.WAIT)
    if any(figure.broken for figure in found.figures) and facts.own.ready:
        assert found.action == Action.WITHDRAW
