"""Pure: points made of what was seen, and what a whole sweep says."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from load_client.driving import Seen
from load_client.statistics import Between
from wire.load import LoadPlan, LoadPoint

MOST_ERRORS: Final = 0.01  # share of requests: a point with more holds no objective
MOST_KINDS: Final = 20


def percentile(ordered: Sequence[float], percent: float) -> float:
    """By the nearest rank: one that was really measured. 0 where nothing was."""
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def point_of(level: float, seen: Seen, inside: Between | None) -> LoadPoint:
    ordered = sorted(seen.latencies)
    good = len(ordered)
    return LoadPoint(
        level=level,
        seconds=seen.elapsed_s,
        good=good,
        throughput=good / seen.elapsed_s if seen.elapsed_s else 0.0,
        mean_us=1e6 * sum(ordered) / good if good else 0.0,
        p50_us=1e6 * percentile(ordered, 50),
        p90_us=1e6 * percentile(ordered, 90),
        p95_us=1e6 * percentile(ordered, 95),
        p99_us=1e6 * percentile(ordered, 99),
        errors=dict(seen.errors.most_common(MOST_KINDS)),
        client_busy=min(1.0, seen.busy),
        batch=inside.batch if inside else None,
        queue_us=inside.queue_us if inside else None,
        compute_us=inside.compute_us if inside else None,
        others=max(0, inside.requests - good) if inside else 0,
    )


def error_share(point: LoadPoint) -> float:
    failed = sum(point.errors.values())
    return failed / (failed + point.good) if failed + point.good else 1.0


def holds(point: LoadPoint, percent: int, slo_us: float) -> bool:
    """Whether so many percent of the answers came within ``slo_us``, and nearly all were good."""
    latency = point.p95_us if percent == 95 else point.p99_us
    return error_share(point) <= MOST_ERRORS and 0 < latency <= slo_us


def stop_reason(point: LoadPoint, plan: LoadPlan) -> str:
    """Why this point is the last one; empty: it is not."""
    percent = plan.slo_percentile
    if not percent or holds(point, percent, plan.slo_us):
        return ""
    if error_share(point) > MOST_ERRORS:
        return f"{error_share(point):.1%} of the requests at {point.level:g} failed"
    latency = point.p95_us if percent == 95 else point.p99_us
    return f"p{percent} at {point.level:g} was {latency / 1000:.3g} ms, over {plan.slo_us / 1000:g}"


def knee(points: Sequence[LoadPoint]) -> LoadPoint | None:
    """Where throughput over mean latency, which is called power, is greatest (Kleinrock): before
    it more load brings more answers, after it above all longer waits. The first of equal ones.

    With a concurrency, latency is concurrency over throughput, so that power is the square of
    throughput over concurrency: at its greatest, doubling the concurrency brings no more than
    1.41 times the answers. None of fewer than three points: their shape is not known.
    """
    known = [point for point in points if point.good and error_share(point) <= MOST_ERRORS]
    if len(known) < 3:
        return None
    return max(known, key=lambda point: (point.throughput / point.mean_us, -point.level))


def best_within(points: Sequence[LoadPoint], percent: int, slo_us: float) -> LoadPoint | None:
    """The point of the greatest throughput that holds the objective; None where none does."""
    holding = [point for point in points if holds(point, percent, slo_us)]
    return max(holding, key=lambda point: point.throughput, default=None)


def point_shown(point: LoadPoint, plan: LoadPlan) -> dict[str, Any]:
    """With what it means beside what was measured."""
    within = holds(point, plan.slo_percentile, plan.slo_us) if plan.slo_percentile else None
    return asdict(point) | {
        "failed": sum(point.errors.values()),
        "error_share": error_share(point),
        "within_slo": within,
    }


def points_shown(points: Sequence[LoadPoint], plan: LoadPlan) -> dict[str, Any]:
    turn = knee(points)
    best = best_within(points, plan.slo_percentile, plan.slo_us) if plan.slo_percentile else None
    return {
        "points": [point_shown(point, plan) for point in points],
        "knee": turn.level if turn else None,
        "knee_throughput": turn.throughput if turn else None,
        "slo_level": best.level if best else None,
        "slo_throughput": best.throughput if best else None,
    }
