"""What holds for every policy and every load."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.autoscaling import Load, Policy, Schedule, Side, State, Targets, bounds_at, decide

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
MEASURED = (
    "in_flight", "waiting", "queued", "growth", "refused", "requests_per_second",
    "queue_ms", "cpu", "gpu", "busy",
)  # fmt: skip

amounts = st.floats(0, 5_000) | st.none()
shares = st.floats(0, 1) | st.none()
sides = st.builds(
    Side,
    window_s=st.integers(0, 60),
    cooldown_s=st.integers(0, 60),
    per_minute=st.integers(1, 20) | st.none(),
)
goals = st.builds(
    Targets,
    in_flight=st.floats(0.5, 50),
    requests_per_second=st.floats(0.5, 500) | st.none(),
    queue_ms=st.floats(0.5, 500) | st.none(),
    cpu_percent=st.floats(5, 100) | st.none(),
    gpu_percent=st.floats(5, 100) | st.none(),
)
schedules = st.builds(
    Schedule,
    start=st.sampled_from(["0 8 * * *", "*/5 * * * *"]),
    end=st.sampled_from(["0 18 * * *", "30 * * * 2"]),
    min=st.integers(1, 4),
    max=st.integers(4, 30) | st.none(),
    time_zone=st.sampled_from(["UTC", "Asia/Tokyo"]),
)
policies = st.builds(
    Policy,
    min=st.integers(1, 4),
    max=st.integers(4, 20),
    targets=goals,
    tolerance_percent=st.integers(0, 50),
    up=sides,
    down=sides,
    schedules=st.lists(schedules, max_size=2).map(tuple),
)
loads = st.builds(
    Load,
    at=st.floats(0, 30).map(lambda age: NOW.timestamp() - age),
    serving=st.integers(1, 20),
    sampled=st.integers(1, 20),
    in_flight=amounts,
    waiting=st.floats(0, 500),
    queued=st.floats(0, 500),
    growth=st.floats(-50, 50),
    refused=st.floats(0, 50),
    requests_per_second=amounts,
    queue_ms=amounts,
    cpu=amounts,
    gpu=amounts,
    busy=shares,
)
seen_before = st.builds(
    State,
    count=st.integers(1, 20),
    changes=st.just(((NOW.timestamp() - 600, 1),)),
    since=st.floats(0, 600).map(lambda age: NOW.timestamp() - age),
    at=st.just(NOW.timestamp() - 2),
    highs=st.just(()),
    lows=st.just(()),
    knee=st.floats(0.05, 1),
)


@given(policies, loads | st.none(), seen_before, st.integers(0, 30))
@settings(max_examples=100, deadline=None)
def test_it_stays_within_the_bounds_and_says_why(
    policy: Policy, load: Load | None, state: State, current: int
) -> None:
    found, bounds = decide(policy, load, state, current, NOW), bounds_at(policy, NOW)
    assert bounds.least <= found.wanted <= bounds.most <= policy.widest
    assert found.reason.startswith(str(found.wanted))


@given(policies, loads, seen_before, st.integers(1, 20), st.integers(1, 5))
@settings(max_examples=100, deadline=None)
def test_what_was_not_sampled_never_takes_one_away(
    policy: Policy, load: Load, state: State, current: int, unheard: int
) -> None:
    bounds = bounds_at(policy, NOW)
    partly = replace(load, serving=load.sampled + unheard)
    stale = replace(load, at=NOW.timestamp() - 11)
    blind = replace(load, in_flight=None)  # every policy here has that target
    for seen in (partly, stale, blind, None):
        assert decide(policy, seen, state, current, NOW).wanted >= min(current, bounds.most)


@given(policies, loads, seen_before, st.integers(1, 20), st.floats(1, 10))
@settings(max_examples=100, deadline=None)
def test_more_load_never_wants_fewer(
    policy: Policy, load: Load, state: State, current: int, times: float
) -> None:
    def larger(name: str) -> float | None:
        value = getattr(load, name)
        if value is None:
            return None
        return min(1.0, value * times) if name == "busy" else value * times

    heavier = replace(load, **{name: larger(name) for name in MEASURED})
    light = decide(policy, load, state, current, NOW)
    heavy = decide(policy, heavier, state, current, NOW)
    assert heavy.wanted >= light.wanted


@given(policies, st.floats(0, 500), st.integers(1, 20), st.integers(5, 30))
@settings(max_examples=40, deadline=None)
def test_a_constant_load_is_answered_once_and_then_left_alone(
    policy: Policy, carried: float, current: int, step_s: int
) -> None:
    """One way only, and at rest once every window, cool-down and rate has passed."""
    steady = replace(policy, targets=Targets(in_flight=policy.targets.in_flight), schedules=())
    state, counts = State(), [current]
    for index in range(1 + 20 * 60 // step_s * 2):
        now = NOW + timedelta(seconds=index * step_s)
        seen = Load(at=now.timestamp(), serving=current, sampled=current, in_flight=carried)
        found = decide(steady, seen, state, current, now)
        state, current = found.state, found.wanted
        counts.append(current)
    inside = counts[1:]  # a count beyond the bounds is brought back first
    assert inside in (sorted(inside), sorted(inside, reverse=True))
    assert len(set(inside[-4:])) == 1
