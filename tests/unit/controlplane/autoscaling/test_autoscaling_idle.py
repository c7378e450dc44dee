"""To zero after a while without a request, and from it at once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.autoscaling import (
    Idle,
    Load,
    Policy,
    Schedule,
    State,
    Targets,
    decide,
    policy_from_json,
    policy_to_json,
    replayed,
    state_from_json,
    state_to_json,
)
from controlplane.core.errors import Invalid

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
POLICY = Policy(min=0, max=4, targets=Targets(in_flight=4), idle=Idle(after_s=60))
QUIET = State(count=1, quiet=NOW.timestamp() - 60, served=7.0)
HELD = "woken by a request"


def load(at: datetime = NOW, **values: Any) -> Load:
    known: dict[str, Any] = {"serving": 1, "sampled": 1, "in_flight": 0.0, "served": 7.0}
    return Load(at=at.timestamp(), **{**known, **values})


@pytest.mark.parametrize(
    ("seen", "state", "current", "needed", "wanted", "words"),
    [
        (load(), QUIET, 1, "", 0, "0 replicas: no request for 60 s. Bounds 0 to 4."),
        (load(serving=3, sampled=3), replace(QUIET, count=3), 3, "", 0, "no request for 60 s"),
        (
            load(),
            replace(QUIET, quiet=NOW.timestamp() - 59),
            1,
            "",
            1,
            "; 0 after 1 s more without a request",
        ),
        (load(served=8.0), QUIET, 1, "", 1, ""),  # one came between two looks
        (load(in_flight=0.1), QUIET, 1, "", 1, ""),
        (load(waiting=1.0), QUIET, 1, "", 1, ""),
        (load(requests_per_second=0.2), QUIET, 1, "", 1, ""),
        (load(refused=0.2), QUIET, 1, "", 1, ""),
        (load(), QUIET, 1, HELD, 1, ""),  # it came as the time was up
        (load(), QUIET, 1, "it gets copies of requests", 1, ""),
        (load(), State(), 1, "", 1, ""),
        (None, QUIET, 1, "", 1, "nothing was measured yet"),
        (load(NOW - timedelta(seconds=11)), QUIET, 1, "", 1, "nothing was measured for 11 s"),
        (load(serving=2), replace(QUIET, count=2), 2, "", 2, "1 of 2 replicas were not sampled"),
        (None, State(), 0, "", 0, "0 replicas: idle, a request wakes it. Bounds 0 to 4."),
        (None, State(), 0, HELD, 1, "1 replica: woken by a request. Bounds 0 to 4."),
        (None, State(changes=((NOW.timestamp(), 0),)), 0, HELD, 1, HELD),  # no cool-down
    ],
)
def test_what_is_quiet_goes_to_zero_and_what_is_asked_for_comes_back(
    seen: Load | None, state: State, current: int, needed: str, wanted: int, words: str
) -> None:
    found = decide(POLICY, seen, state, current, NOW, needed=needed)
    assert (found.wanted, words in found.reason) == (wanted, True), found.reason


def test_a_schedule_keeps_it_awake_and_wakes_it() -> None:
    open_now = Schedule("0 8 * * *", "0 18 * * *", min=2)
    policy = replace(POLICY, schedules=(open_now,))
    assert decide(policy, None, State(), 0, NOW).wanted == 2
    assert decide(policy, load(), QUIET, 1, NOW).wanted == 2
    night = NOW + timedelta(hours=8)
    assert decide(policy, None, State(), 0, night).wanted == 0


def test_without_targets_one_replica_is_awake_or_none() -> None:
    policy = replace(POLICY, targets=Targets())
    assert decide(policy, None, State(), 0, NOW, needed=HELD).wanted == 1
    assert decide(policy, load(in_flight=90.0), QUIET, 1, NOW).wanted == 1
    assert decide(policy, load(), QUIET, 1, NOW).wanted == 0


def test_the_time_begins_anew_with_each_request_and_not_with_a_lost_sample() -> None:
    state, counts = State(), []
    for second in range(0, 200, 10):
        now = NOW + timedelta(seconds=second)
        seen = load(now, served=7.0 + (second >= 40))
        found = decide(POLICY, None if second == 70 else seen, state, 1, now)
        state = state_from_json(state_to_json(found.state))
        counts.append(found.wanted)
    assert counts.index(0) == 11  # quiet from 50 s on
    assert state.quiet == NOW.timestamp() + 50


@pytest.mark.parametrize("least", [1, 2])
def test_with_a_least_of_one_or_more_nothing_is_ever_idle(least: int) -> None:
    policy = replace(POLICY, min=least)
    assert decide(policy, load(), replace(QUIET, quiet=0.0), 2, NOW).wanted >= least
    assert decide(policy, None, State(), 0, NOW).wanted == least


@given(
    seen=st.none()
    | st.builds(
        load,
        in_flight=st.floats(0, 50),
        served=st.sampled_from([7.0, 8.0]),
        sampled=st.integers(0, 3),
        serving=st.integers(0, 3),
    ),
    quiet=st.none() | st.floats(0, 200).map(lambda age: NOW.timestamp() - age),
    current=st.integers(0, 4),
    needed=st.sampled_from(["", HELD]),
)
def test_it_is_without_a_replica_only_where_nothing_needs_one(
    seen: Load | None, quiet: float | None, current: int, needed: str
) -> None:
    state = State(count=current, quiet=quiet, served=7.0)
    found = decide(POLICY, seen, state, current, NOW, needed=needed)
    assert 0 <= found.wanted <= POLICY.max
    if needed:
        assert found.wanted > 0
    if found.wanted == 0 and current:
        assert quiet is not None
        assert NOW.timestamp() - quiet >= POLICY.idle.after_s
        assert seen is not None
        assert (seen.in_flight, seen.served, seen.whole) == (0.0, 7.0, True)


def test_a_preview_sleeps_and_wakes() -> None:
    start = NOW.timestamp()
    rates = [5.0, 0.0, 0.0, 0.0, 5.0, 0.0]
    loads = [
        (start + 60 * n, load(requests_per_second=rate, in_flight=rate / 10, served=None))
        for n, rate in enumerate(rates)
    ]
    found = replayed(POLICY, loads, 60)
    assert found is not None
    assert [one.count for one in found.changes] == [1, 0, 1]
    assert (found.least, found.most) == (0, 1)


@pytest.mark.parametrize(
    ("told", "field"),
    [
        ({"min": -1}, "autoscale.min"),
        ({"max": 0}, "autoscale.max"),
        ({"idle": {"after_s": 9}}, "autoscale.idle.after_s"),
        ({"idle": {"hold_s": 301}}, "autoscale.idle.hold_s"),
        ({"idle": {"most_held": 0}}, "autoscale.idle.most_held"),
        ({"idle": {"after": 60}}, "autoscale.idle.after"),
    ],
)
def test_what_cannot_be_is_named(told: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        policy_from_json({"min": 0, "max": 4, **told})
    assert refused.value.field == field


def test_a_policy_of_before_has_the_defaults() -> None:
    kept = policy_to_json(POLICY)
    del kept["idle"]
    assert policy_from_json(kept).idle == Idle()
