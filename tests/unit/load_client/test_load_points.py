"""What points say: percentiles, objectives, knee, statistics; the command of perf_analyzer."""

from typing import Any

import pytest

from load_client import perf_analyzer
from load_client.driving import Seen
from load_client.plans import BadPlan, check, longest_s, nominal_s
from load_client.points import (
    best_within,
    holds,
    knee,
    percentile,
    point_of,
    points_shown,
    stop_reason,
)
from load_client.statistics import Between, Counts, between, counts
from wire.load import CONCURRENCY, RATE, LoadPlan, LoadPoint


def plan(**changes: Any) -> LoadPlan:
    values: dict[str, Any] = {
        "model": "m", "mode": CONCURRENCY, "levels": (1.0, 2.0, 4.0), "seconds": 5.0
    }  # fmt: skip
    return LoadPlan(**(values | changes))


def point(level: float, throughput: float, mean_us: float, **more: Any) -> LoadPoint:
    values = {"good": 100, "p95_us": 2 * mean_us, "p99_us": 3 * mean_us, **more}
    return LoadPoint(level=level, seconds=1.0, throughput=throughput, mean_us=mean_us, **values)


@pytest.mark.parametrize(
    ("values", "percent", "expected"),
    [
        ([], 99, 0.0),
        ([7.0], 1, 7.0),
        ([1.0, 2.0], 50, 1.0),
        ([1.0, 2.0], 51, 2.0),
        (list(map(float, range(1, 101))), 95, 95.0),
        (list(map(float, range(1, 102))), 95, 96.0),
    ],
)
def test_a_percentile_is_a_measured_value(
    values: list[float], percent: float, expected: float
) -> None:
    assert percentile(values, percent) == expected


def test_a_point_is_made_of_what_was_seen() -> None:
    seen = Seen(elapsed_s=2.0, busy=1.7)
    seen.latencies.extend([0.003, 0.001, 0.002, 0.010])
    seen.errors.update({"HTTP 503": 1})
    made = point_of(4, seen, Between(batch=2.5, queue_us=10.0, compute_us=20.0, requests=9))
    assert (made.good, made.throughput, made.mean_us) == (4, 2.0, pytest.approx(4000))
    assert (made.p50_us, made.p90_us) == (pytest.approx(2000), pytest.approx(10_000))
    assert (made.errors, made.client_busy, made.batch) == ({"HTTP 503": 1}, 1.0, 2.5)
    assert made.others == 5  # nine requests were counted there, and four were ours
    assert point_of(4, Seen(), None) == LoadPoint(4, 0.0, 0, 0.0)


@pytest.mark.parametrize(
    ("p95", "p99", "errors", "percent", "held"),
    [
        (10.0, 30.0, {}, 95, True),
        (10.0, 30.0, {}, 99, False),
        (20.0, 30.0, {}, 95, True),
        (20.1, 30.0, {}, 95, False),
        (10.0, 30.0, {"HTTP 503": 1}, 95, True),  # 1 of 101
        (10.0, 30.0, {"HTTP 503": 2}, 95, False),
    ],
)
def test_an_objective_holds(
    p95: float, p99: float, errors: dict[str, int], percent: int, held: bool
) -> None:
    found = point(1, 1, 1, p95_us=p95, p99_us=p99, errors=errors)
    assert holds(found, percent, 20.0) is held
    reason = stop_reason(found, plan(slo_percentile=percent, slo_us=20.0))
    assert bool(reason) is not held
    assert stop_reason(found, plan()) == ""


def test_why_it_stops_is_told_with_figures() -> None:
    slo = plan(slo_percentile=95, slo_us=20_000.0)
    assert stop_reason(point(8, 1, 1, p95_us=30_500.0), slo) == "p95 at 8 was 30.5 ms, over 20"
    failing = point(8, 1, 1, p95_us=1.0, errors={"timeout": 100})
    assert stop_reason(failing, slo) == "50.0% of the requests at 8 failed"


def closed(level: float, service_us: float, most: float, **more: Any) -> LoadPoint:
    """A server that answers in ``service_us``, up to ``most`` a second; by Little's law."""
    throughput = min(level / service_us * 1e6, most)
    return point(level, throughput, level / throughput * 1e6, **more)


@pytest.mark.parametrize(
    ("points", "level"),
    [
        ([], None),
        ([closed(n, 1000, 4000) for n in (1, 2)], None),  # too few to have a shape
        ([closed(n, 1000, 4000) for n in (1, 2, 4, 8, 16)], 4),  # where it saturates
        ([closed(n, 1000, 1000) for n in (1, 2, 4)], 1),  # at once
        ([closed(n, 1000, 1e9) for n in (1, 2, 4)], 4),  # not within what was measured
        ([point(n, 10, 10) for n in (1, 2, 3)], 1),  # all alike: the least load
        # doubling brings 1.5 times the answers, then 1.3 times
        ([point(1, 100, 10_000), point(2, 150, 13_333), point(4, 195, 20_512)], 2),
        ([*(closed(n, 1000, 4000) for n in (1, 2, 8)),
          closed(4, 1000, 4000, errors={"HTTP 503": 50})], 2),
    ],
)  # fmt: skip
def test_the_knee(points: list[LoadPoint], level: float | None) -> None:
    found = knee(points)
    assert (found.level if found else None) == level


def test_the_best_within_an_objective_need_not_be_the_last() -> None:
    points = [point(1, 10, 1), point(2, 30, 2), point(4, 25, 3), point(8, 90, 50)]
    best = best_within(points, 95, 8.0)
    assert best is not None and best.level == 2
    assert best_within(points, 95, 0.5) is None
    shown = points_shown(points, plan(slo_percentile=95, slo_us=8.0))
    assert (shown["slo_level"], shown["slo_throughput"]) == (2, 30)
    assert [one["within_slo"] for one in shown["points"]] == [True, True, True, False]
    assert points_shown(points, plan())["slo_level"] is None


def stats(requests: int, executions: int, queue: int = 0, compute: int = 0) -> dict[str, Any]:
    times = {name: {"count": requests, "ns": compute} for name in
             ("compute_input", "compute_infer", "compute_output")}  # fmt: skip
    inside = {"success": {"count": requests}, "queue": {"count": requests, "ns": queue}, **times}
    return {"inference_count": requests, "execution_count": executions, "inference_stats": inside}


def test_statistics_are_what_lies_between_two_looks() -> None:
    before = counts({"model_stats": [stats(10, 10, 1000, 100)]})
    after = counts({"model_stats": [stats(30, 15, 41_000, 2100), stats(10, 5)]})
    assert before == Counts(10, 10, 10, 1000, 300)
    found = between(before, after)
    assert found == Between(batch=3.0, queue_us=40 / 30, compute_us=0.2, requests=30)
    assert between(after, before) is None  # it was started anew
    assert between(before, before) is None
    assert between(None, after) is None


@pytest.mark.parametrize("answer", [None, [], {}, {"model_stats": [{}]}, {"model_stats": 1}])
def test_what_is_no_statistics(answer: Any) -> None:
    with pytest.raises(ValueError, match="no statistics"):
        counts(answer)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({}, None),
        ({"mode": RATE, "levels": (0.5, 100.0)}, None),
        ({"mode": "waves"}, "mode"),
        ({"levels": ()}, "levels"),
        ({"levels": (2.0, 1.0)}, "levels"),
        ({"levels": (1.0, 1.0)}, "levels"),
        ({"levels": (0.0,)}, "levels"),
        ({"levels": (1.5,)}, "levels"),
        ({"levels": (257.0,)}, "levels"),
        ({"levels": (float("nan"),)}, "levels"),
        ({"levels": tuple(map(float, range(1, 34)))}, "levels"),
        ({"mode": RATE, "levels": (1e6,)}, "levels"),
        ({"mode": RATE, "levels": (float("inf"),)}, "levels"),
        ({"seconds": 0.0}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"levels": tuple(map(float, range(1, 33))), "seconds": 60.0}, "seconds"),
        ({"warm_up_s": -1.0}, "warm_up_s"),
        ({"batch": 0}, "batch"),
        ({"slo_percentile": 50, "slo_us": 1.0}, "slo_percentile"),
        ({"slo_percentile": 95}, "slo_ms"),
    ],
)
def test_plans_that_make_sense(changes: dict[str, Any], field: str | None) -> None:
    wanted = plan(**changes)
    if field is None:
        check(wanted)
        assert longest_s(wanted) > nominal_s(wanted)
        return
    with pytest.raises(BadPlan, match=f"^{field}: .*, expected ") as raised:
        check(wanted)
    assert raised.value.field == field


@pytest.mark.parametrize(
    ("changes", "data", "words"),
    [
        ({}, "", "--concurrency-range 1:4:1 --measurement-interval 5000"),
        ({"levels": (8.0,)}, "", "--concurrency-range 8 --measurement-interval 5000"),
        (
            {"mode": RATE, "levels": (50.0, 150.0), "batch": 4, "shapes": {"x": (3, 224)}},
            "",
            "-b 4 --shape x:3,224 --request-rate-range 50:150:100 --measurement-interval 5000",
        ),
        (
            {"version": "2", "slo_percentile": 99, "slo_us": 20_500.0, "levels": (1.0,)},
            "case.json",
            "-x 2 --input-data case.json --concurrency-range 1 --measurement-interval 5000 "
            "--percentile 99 -l 20.5",
        ),
    ],
)
def test_the_equal_command_of_perf_analyzer(changes: dict[str, Any], data: str, words: str) -> None:
    start = "perf_analyzer -m m -i http -u here:8000 "
    assert perf_analyzer.command(plan(**changes), "here:8000", data) == start + words
