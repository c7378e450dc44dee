"""What a policy would have done with what was measured before."""

from dataclasses import replace

import pytest

from controlplane.autoscaling import Load, Policy, Schedule, Side, Targets, replayed

START = 1_772_438_400.0  # Monday, 2 March 2026, 08:00 UTC
AT_ONCE = Side(window_s=0, cooldown_s=0)
POLICY = Policy(max=6, targets=Targets(in_flight=2), up=AT_ONCE, down=AT_ONCE)


def minutes(*in_flight: float | None) -> list[tuple[float, Load | None]]:
    return [
        (
            START + 60 * index,
            None if one is None else Load(at=0, serving=1, sampled=1, in_flight=one),
        )
        for index, one in enumerate(in_flight)
    ]


def test_replicas_and_their_hours_are_added_up() -> None:
    found = replayed(POLICY, minutes(*[1.0] * 30, *[8.0] * 30, *[0.0] * 60), 60)
    assert found is not None
    assert [(change.at, change.count) for change in found.changes] == [
        (START, 1), (START + 1800, 4), (START + 3600, 1),
    ]  # fmt: skip
    assert (found.least, found.most, found.replica_hours) == (1, 4, pytest.approx(0.5 + 2 + 1))
    assert "8 requests in flight, target 2 for each" in found.changes[1].reason
    assert (found.seconds, found.measured_s) == (7200, 7200)


def test_minutes_without_samples_keep_what_there_was() -> None:
    found = replayed(POLICY, minutes(8.0, *[None] * 10, 8.0), 60)
    assert found is not None
    assert (found.least, found.most, found.measured_s) == (4, 4, 120)


def test_windows_count_in_the_time_of_then() -> None:
    slow = replace(POLICY, down=Side(window_s=600, cooldown_s=0))
    found = replayed(slow, minutes(8.0, *[0.0] * 20), 60)
    assert found is not None
    assert [(change.at - START, change.count) for change in found.changes] == [(0, 4), (660, 1)]


def test_schedules_and_a_paused_policy_are_replayed() -> None:
    day = Schedule(start="30 8 * * *", end="0 9 * * *", min=3)
    found = replayed(replace(POLICY, enabled=False, schedules=(day,)), minutes(*[0.0] * 120), 60)
    assert found is not None
    assert [(change.at - START, change.count) for change in found.changes] == [
        (0, 1), (1800, 3), (3600, 1),
    ]  # fmt: skip


def test_what_cannot_be_foreseen_is_named_or_refused() -> None:
    both = replace(POLICY, targets=Targets(in_flight=2, queue_ms=5, gpu_percent=50))
    found = replayed(both, minutes(8.0), 60)
    assert found is not None
    assert (found.ignored, found.most) == (["queue_ms", "gpu_percent"], 4)
    assert replayed(replace(POLICY, targets=Targets(queue_ms=5)), minutes(8.0), 60) is None
    assert replayed(POLICY, [], 60) is None
