"""What a policy may say, and which bounds its schedules make."""

from datetime import UTC, datetime
from typing import Any

import pytest

from controlplane.autoscaling import (
    Bounds,
    Policy,
    Schedule,
    Targets,
    bounds_at,
    policy_from_json,
    policy_to_json,
)
from controlplane.core.errors import Invalid

LEAST: dict[str, Any] = {"max": 4, "targets": {"in_flight": 4}}
DAY: dict[str, Any] = {"start": "0 8 * * 1-5", "end": "0 18 * * 1-5", "min": 3}


@pytest.mark.parametrize(
    ("said", "field", "words"),
    [
        ({"min": -1}, "min", "-1, expected 0 to 1000"),
        ({"min": 5}, "max", "4, expected 5 to 1000"),
        ({"max": 1001}, "max", "1001, expected 1 to 1000"),
        ({"targets": {}}, "targets", "none is set, expected one or more of in_flight"),
        ({"targets": {"in_flight": 0}}, "targets.in_flight", "0, expected more than 0"),
        ({"targets": {"cpu_percent": 101}}, "targets.cpu_percent", "at most 100"),
        ({"targets": {"memory": 1}}, "targets.memory", "no such key"),
        ({"tolerance_percent": 51}, "tolerance_percent", "expected 0 to 50"),
        ({"interval_s": 1}, "interval_s", "expected 2 to 60"),
        ({"up": {"window_s": -1}}, "up.window_s", "-1, expected 0 to 3600"),
        ({"down": {"per_minute": 0}}, "down.per_minute", "0, expected 1"),
        ({"most": 3}, "most", "no such key, expected"),
        ({"schedules": [{**DAY, "start": "0 8 * *"}]}, "schedules.0.start", "five fields of cron"),
        ({"schedules": [{**DAY, "end": "0 99 * * *"}]}, "schedules.0.end", "99"),
        ({"schedules": [{**DAY, "end": "0 0 30 2 *"}]}, "schedules.0.end", "'0 0 30 2 *'"),
        ({"schedules": [{**DAY, "min": 5}]}, "schedules.0.min", "5, expected 1 to 4"),
        ({"schedules": [{**DAY, "max": 2}]}, "schedules.0.min", "3, expected 1 to 2"),
        ({"schedules": [{**DAY, "time_zone": "Mars"}]}, "schedules.0.time_zone", "'Mars'"),
        ({"schedules": [{"start": "0 8 * * *", "min": 2}]}, "schedules.0.end", "it is missing"),
        ({"schedules": [DAY] * 21}, "schedules", "21, expected at most 20"),
    ],
)
def test_a_policy_that_cannot_be_names_field_and_value(
    said: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(Invalid) as caught:
        policy_from_json({**LEAST, **said})
    assert (caught.value.field, words in caught.value.message) == (f"autoscale.{field}", True), (
        caught.value.message
    )


def test_it_is_kept_as_it_was_said() -> None:
    said = policy_from_json({**LEAST, "down": {"window_s": 60}, "schedules": [{**DAY, "max": 9}]})
    assert said.down.window_s == 60
    assert said.down.cooldown_s == Policy(max=1, targets=Targets(in_flight=1)).down.cooldown_s
    assert policy_from_json(policy_to_json(said)) == said
    assert said.widest == 9


@pytest.mark.parametrize(
    ("moment", "zone", "bounds"),
    [
        ("2026-03-02T07:59:59", "UTC", (1, 4)),
        ("2026-03-02T08:00:00", "UTC", (3, 4)),
        ("2026-03-02T17:59:59", "UTC", (3, 4)),
        ("2026-03-02T18:00:00", "UTC", (1, 4)),
        ("2026-03-01T12:00:00", "UTC", (1, 4)),  # a Sunday
        ("2026-03-02T07:00:00", "Europe/Berlin", (3, 4)),  # 08:00 there, an hour ahead
        ("2026-07-06T06:00:00", "Europe/Berlin", (3, 4)),  # in summer two
        ("2026-07-06T05:59:59", "Europe/Berlin", (1, 4)),
        ("2026-03-03T02:59:00", "America/New_York", (1, 4)),
    ],
)
def test_schedules_hold_in_their_time_zone(moment: str, zone: str, bounds: tuple[int, int]) -> None:
    policy = policy_from_json({**LEAST, "schedules": [{**DAY, "time_zone": zone}]})
    found = bounds_at(policy, datetime.fromisoformat(moment).replace(tzinfo=UTC))
    assert (found.least, found.most, bool(found.schedule)) == (*bounds, bounds[0] == 3)


def test_of_several_schedules_the_largest_bounds_hold() -> None:
    always = {"start": "0 0 * * *", "end": "59 23 31 12 *", "time_zone": "UTC"}
    schedules = (Schedule(**always, min=2, max=6), Schedule(**always, min=5, max=5))
    policy = Policy(max=10, targets=Targets(in_flight=1), schedules=schedules)
    found = bounds_at(policy, datetime(2026, 3, 2, 12, tzinfo=UTC))
    assert found == Bounds(5, 6, found.schedule)
