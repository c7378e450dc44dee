"""What is left of a budget and what burns, as tables."""

import pytest

from controlplane.core.errors import Invalid
from controlplane.objectives import (
    PAIRS,
    Counted,
    Kind,
    Objective,
    Slice,
    Speed,
    counted,
    history,
    objective_asked,
    status,
    totals,
)

NOW = 1_700_000_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
THREE_NINES = Objective(Kind.AVAILABILITY, 99.9, 28)


def every_minute(seconds: float, bad_of_1000: int, until: float = NOW) -> list[Counted]:
    """1,000 requests in each minute of the last ``seconds``, so many of them bad."""
    count = int(seconds // MINUTE)
    return [Counted(until - MINUTE * i, 1000, bad_of_1000) for i in range(count)][::-1]


def speeds(slices: list[Counted], objective: Objective = THREE_NINES) -> list[bool | None]:
    return [one.burning for one in status(objective, slices, NOW, heard=True).burns]


@pytest.mark.parametrize(
    ("slices", "burning"),
    [
        # nothing is bad
        (every_minute(3 * DAY, 0), [False, False, False]),
        # exactly the rate that the budget allows: a factor must be passed, not met
        (every_minute(3 * DAY, 1), [False, False, False]),
        # twice as fast, for three days
        (every_minute(3 * DAY, 2), [False, False, True]),
        # seven times as fast, for the last six hours
        (every_minute(3 * DAY, 7), [False, True, True]),
        # fifteen times as fast
        (every_minute(3 * DAY, 15), [True, True, True]),
        # much, but for five minutes only: the long windows have forgotten it
        (every_minute(DAY, 0, NOW - 5 * MINUTE) + every_minute(5 * MINUTE, 20), [False] * 3),
        # it was much for hours, and ended half an hour ago: the short windows hold again
        (every_minute(6 * HOUR, 100, NOW - HOUR) + every_minute(HOUR, 0), [False, False, True]),
    ],
)
def test_both_windows_must_burn(slices: list[Counted], burning: list[bool]) -> None:
    assert speeds(slices) == burning


def test_the_pairs_are_those_of_the_workbook() -> None:
    assert [(p.speed, p.long_s, p.short_s, p.factor) for p in PAIRS] == [
        (Speed.FAST, HOUR, 5 * MINUTE, 14.4),
        (Speed.FAST, 6 * HOUR, 30 * MINUTE, 6.0),
        (Speed.SLOW, 3 * DAY, 6 * HOUR, 1.0),
    ]


def test_few_requests_burn_nothing() -> None:
    few = [Counted(NOW - 1, 9, 9)]
    assert speeds(few) == [False] * 3
    assert speeds([*few, Counted(NOW, 1, 1)]) == [True] * 3
    found = status(THREE_NINES, few, NOW, heard=True, least=1)
    assert [one.burning for one in found.burns] == [True] * 3


@pytest.mark.parametrize(
    ("total", "bad", "left"),
    [(10_000, 0, 1.0), (10_000, 5, 0.5), (10_000, 10, 0.0), (10_000, 30, -2.0), (0, 0, None)],
)
def test_what_is_left(total: int, bad: int, left: float | None) -> None:
    slices = [Counted(NOW - DAY, total, bad)]
    found = status(THREE_NINES, slices, NOW, heard=True)
    assert found.budget_left == (None if left is None else pytest.approx(left))


def test_what_is_older_than_the_window_is_forgiven() -> None:
    slices = [Counted(NOW - 28 * DAY - 1, 1000, 1000), Counted(NOW - DAY, 1000, 0)]
    assert status(THREE_NINES, slices, NOW, heard=True).budget_left == 1.0


def test_where_metrics_stop_nobody_can_tell() -> None:
    found = status(THREE_NINES, every_minute(DAY, 100), NOW + HOUR, heard=False)
    assert [one.burning for one in found.burns] == [None] * 3
    assert "No gateway" in found.told
    assert found.budget_left is not None, "the past is still known"


def test_a_clock_that_went_back_resolves_nothing() -> None:
    burning = every_minute(DAY, 100)
    found = status(THREE_NINES, burning, NOW - 2 * HOUR, heard=True)
    assert [one.burning for one in found.burns] == [None] * 3
    assert "clock" in found.told
    # a minute that is not over yet is none of that
    assert status(THREE_NINES, burning, NOW - MINUTE, heard=True).told == ""


def test_a_gateway_that_hears_no_requests_is_no_fire() -> None:
    found = status(THREE_NINES, every_minute(HOUR, 100, NOW - 7 * HOUR), NOW, heard=True)
    assert [one.burning for one in found.burns] == [False] * 3
    assert found.burns[0].short_rate is None


def test_latency_counts_by_the_upper_edge_of_buckets() -> None:
    objective = Objective(Kind.LATENCY, 99.0, 7, threshold_ms=250.0)
    # 50 µs · 1.05^174 = 243.2 ms; bucket 173 ends there, 174 ends at 255.4 ms
    one = Slice(NOW, {"2xx": 40, "5xx": 10}, {"0": 10, "173": 20, "174": 5, "200": 5})
    assert counted(objective, [one]) == [Counted(NOW, 40, 10)]
    assert counted(THREE_NINES, [one]) == [Counted(NOW, 50, 10)]


def test_history_ends_with_what_is_left_now() -> None:
    objective = Objective(Kind.AVAILABILITY, 99.0, 1)
    slices = every_minute(DAY, 5)
    points = history(objective, slices, NOW, HOUR)
    now = status(objective, slices, NOW, heard=True)
    assert points[-1].budget_left == pytest.approx(now.budget_left) == pytest.approx(0.5)
    assert sum(point.total for point in points) == now.total
    left = [point.budget_left for point in points]
    assert left == sorted(left, reverse=True), "it only falls"


def test_totals_of_a_window() -> None:
    assert totals(every_minute(HOUR, 3), NOW, 5 * MINUTE) == (5000, 15)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"target_percent": 100.0}, "target_percent"),
        ({"target_percent": 49.0}, "target_percent"),
        ({"window_days": 29}, "window_days"),
        ({"window_days": 0}, "window_days"),
        ({"threshold_ms": 250.0}, "threshold_ms"),
        ({"kind": "latency"}, "threshold_ms"),
        ({"kind": "latency", "threshold_ms": 200.0}, "threshold_ms"),
    ],
)
def test_what_cannot_be_promised(changed: dict[str, object], field: str) -> None:
    asked = {
        "kind": "availability",
        "target_percent": 99.9,
        "window_days": 28,
        "threshold_ms": None,
        **changed,
    }
    with pytest.raises(Invalid) as caught:
        objective_asked(**asked)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert caught.value.message.startswith(f"{field}: ")


def test_thresholds_are_the_exported_bounds() -> None:
    for threshold_ms in (1.0, 2.5, 250.0, 60_000.0):
        found = objective_asked(
            kind="latency", target_percent=99, window_days=7, threshold_ms=threshold_ms
        )
        assert found.threshold_ms == threshold_ms
