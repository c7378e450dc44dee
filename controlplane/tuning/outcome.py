"""Pure: what one run is worth: its points, and the objective that is sought under."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from load_client.points import MOST_ERRORS, error_share, holds
from wire.load import RATE, LoadPlan, LoadPoint

KEPT_UP: Final = 0.95  # share of the asked rate that must be answered
USUAL_PERCENTILE: Final = 99


@dataclass(frozen=True, slots=True)
class Outcome:
    """``value``: answers a second, or at a rate 1,000,000 over the latency in µs; less where the
    objective does not hold, so that the search still sees which way is better."""

    value: float | None  # None: nothing was answered well
    within: bool
    point: LoadPoint | None


def latency_us(point: LoadPoint, plan: LoadPlan) -> float:
    percentile = plan.slo_percentile or USUAL_PERCENTILE
    return point.p95_us if percentile == 95 else point.p99_us


def outcome_of(points: Sequence[LoadPoint], plan: LoadPlan) -> Outcome:
    """The most answers a second within the objective; of a plan by rate, the least latency."""
    answered = [point for point in points if point.good and latency_us(point, plan) > 0]
    if not answered:
        return Outcome(None, within=False, point=None)
    return _by_rate(answered, plan) if plan.mode == RATE else _most(answered, plan)


def _most(points: Sequence[LoadPoint], plan: LoadPlan) -> Outcome:
    if not plan.slo_percentile:
        good = [point for point in points if error_share(point) <= MOST_ERRORS]
        best = max(good or points, key=lambda point: point.throughput)
        return Outcome(best.throughput, within=bool(good), point=best)
    holding = [point for point in points if holds(point, plan.slo_percentile, plan.slo_us)]
    if holding:
        best = max(holding, key=lambda point: point.throughput)
        return Outcome(best.throughput, within=True, point=best)
    nearest = min(points, key=lambda point: latency_us(point, plan))
    over = min(1.0, plan.slo_us / latency_us(nearest, plan))
    return Outcome(nearest.throughput * over**2, within=False, point=nearest)


def _by_rate(points: Sequence[LoadPoint], plan: LoadPlan) -> Outcome:
    point = points[-1]
    latency = latency_us(point, plan)
    kept = min(1.0, point.throughput / point.level)
    within = kept >= KEPT_UP and error_share(point) <= MOST_ERRORS
    if plan.slo_percentile:
        within = within and holds(point, plan.slo_percentile, plan.slo_us)
    return Outcome(1e6 / latency * (1.0 if within else kept**2), within=within, point=point)
