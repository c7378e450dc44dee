"""What is promised of an endpoint, and which of its requests keep the promise."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from controlplane.core.errors import Invalid
from controlplane.metrics.histogram import BOUNDS_S, within

SHORTEST_DAYS: Final = 1
LONGEST_DAYS: Final = 28  # roll-ups are kept for 30
LONGEST_WINDOW_S: Final = LONGEST_DAYS * 86_400.0
LEAST_PERCENT: Final = 50.0
MOST_PERCENT: Final = 99.999  # so that there is a budget
FAILED: Final = "5xx"


class Kind(StrEnum):
    AVAILABILITY = "availability"
    LATENCY = "latency"


@dataclass(frozen=True, slots=True)
class Objective:
    """``target_percent`` of the requests of ``window_days`` shall be good: not answered by a 5xx,
    or answered within ``threshold_ms``."""

    kind: Kind
    target_percent: float
    window_days: int
    threshold_ms: float | None = None  # of latency alone

    @property
    def budget(self) -> float:
        """The share of requests that may be bad."""
        return round(1.0 - self.target_percent / 100.0, 9)

    @property
    def window_s(self) -> float:
        return self.window_days * 86_400.0


@dataclass(frozen=True, slots=True)
class Slice:
    """What gateways counted of deployments in the time that ended at ``end`` (Unix seconds)."""

    end: float
    classes: Mapping[str, int]
    histogram: Mapping[str, int]  # as wire.messages.GatewaySample


@dataclass(frozen=True, slots=True)
class Counted:
    """Requests of one slice."""

    end: float
    total: int
    bad: int


def counted(objective: Objective, slices: Iterable[Slice]) -> list[Counted]:
    """In order of time. Streams have no latency, and count for availability alone."""
    return sorted((_counted(objective, one) for one in slices), key=lambda one: one.end)


def _counted(objective: Objective, one: Slice) -> Counted:
    if objective.kind == Kind.AVAILABILITY:
        return Counted(one.end, sum(one.classes.values()), one.classes.get(FAILED, 0))
    total = sum(one.histogram.values())
    quick = within(one.histogram, (objective.threshold_ms or 0.0) / 1000.0)
    return Counted(one.end, total, total - quick)


def objective_asked(
    *, kind: str, target_percent: float, window_days: int, threshold_ms: float | None
) -> Objective:
    """Raises Invalid, which names the field."""
    if not LEAST_PERCENT <= target_percent <= MOST_PERCENT:
        raise Invalid(
            f"target_percent: {target_percent:g}, expected {LEAST_PERCENT:g} to {MOST_PERCENT:g}.",
            field="target_percent",
            hints=("100 would leave no budget: the first failure would break the objective.",),
        )
    if not SHORTEST_DAYS <= window_days <= LONGEST_DAYS:
        raise Invalid(
            f"window_days: {window_days}, expected {SHORTEST_DAYS} to {LONGEST_DAYS}.",
            field="window_days",
            hints=("Metrics are kept for 30 days.",),
        )
    if kind == Kind.AVAILABILITY and threshold_ms is not None:
        raise Invalid(
            f"threshold_ms: {threshold_ms:g}, expected none for availability.",
            field="threshold_ms",
            hints=("It belongs to objectives of the kind latency.",),
        )
    if kind == Kind.LATENCY:
        _check_threshold(threshold_ms)
    return Objective(Kind(kind), target_percent, window_days, threshold_ms)


def _check_threshold(threshold_ms: float | None) -> None:
    bounds = [round(bound * 1000, 3) for bound in BOUNDS_S]
    if threshold_ms is None or not any(abs(threshold_ms - one) < 1e-6 for one in bounds):
        told = "missing" if threshold_ms is None else f"{threshold_ms:g}"
        raise Invalid(
            f"threshold_ms: {told}, expected one of {', '.join(f'{one:g}' for one in bounds)}.",
            field="threshold_ms",
            hints=(
                "These are the bounds of shoal_gateway_request_seconds: between two of them "
                "nobody could tell the share of quick requests without guessing.",
            ),
        )
