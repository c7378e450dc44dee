"""Objectives, and what gateways counted of them."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from controlplane.alerts.errors import ObjectiveNotFound
from controlplane.alerts.models import ObjectiveRow
from controlplane.deployments.models import Endpoint
from controlplane.gateway.selectors import gateways_alive
from controlplane.metrics.selectors import answered
from controlplane.metrics.types import HOUR_S
from controlplane.objectives import (
    LEAST_REQUESTS,
    PAIRS,
    Kind,
    Objective,
    Slice,
    Speed,
    Status,
    counted,
    history,
    status,
)

MOST_POINTS = 200
BY_MINUTE_S = max(pair.long_s for pair in PAIRS if pair.speed == Speed.FAST)
LONGEST_BURN_S = max(pair.long_s for pair in PAIRS)


@dataclass(frozen=True, slots=True)
class Read:
    """Slices of one endpoint, read once for all of its objectives."""

    slices: list[Slice]
    heard: bool
    now: float


def objective_list(endpoint: Endpoint) -> QuerySet[ObjectiveRow]:
    return endpoint.objectives.order_by("name")


def objective_get(endpoint: Endpoint, name: str) -> ObjectiveRow:
    """Raises ObjectiveNotFound."""
    row = endpoint.objectives.filter(name=name).first()
    if row is None:
        raise ObjectiveNotFound(f"{endpoint.name} has no objective called {name[:60]!r}.")
    return row


def objective_of(row: ObjectiveRow) -> Objective:
    return Objective(Kind(row.kind), row.target_percent, row.window_days, row.threshold_ms)


def slices_read(endpoint: Endpoint, since_s: float, now: datetime) -> Read:
    """What was counted in the last ``since_s`` seconds."""
    at = now.timestamp()
    found = answered(
        endpoint.name, at - since_s, minutes_since=at - BY_MINUTE_S, born=endpoint.created_at
    )
    slices = [Slice(one.end, one.classes, one.histogram) for one in found]
    return Read(slices, bool(gateways_alive(now)), at)


def status_of(objective: Objective, read: Read, least: int = LEAST_REQUESTS) -> Status:
    slices = counted(objective, read.slices)
    return status(objective, slices, read.now, heard=read.heard, least=least)


def objectives_shown(endpoint: Endpoint, rows: list[ObjectiveRow], now: datetime) -> list[Any]:
    """As REST shows them, with what is left of their budgets."""
    if not rows:
        return []
    longest = max(objective_of(row).window_s for row in rows)
    read = slices_read(endpoint, max(longest, LONGEST_BURN_S), now)
    return [_shown(endpoint, row, status_of(objective_of(row), read)) for row in rows]


def objective_history(
    endpoint: Endpoint, row: ObjectiveRow, now: datetime
) -> tuple[float, list[dict[str, Any]]]:
    """Seconds of a bucket, and the buckets of the objective's window."""
    objective = objective_of(row)
    read = slices_read(endpoint, objective.window_s, now)
    step_s = float(HOUR_S * max(1, -(-int(objective.window_s) // (HOUR_S * MOST_POINTS))))
    points = history(objective, counted(objective, read.slices), read.now, step_s)
    return step_s, [asdict(point) for point in points]


def _shown(endpoint: Endpoint, row: ObjectiveRow, found: Status) -> dict[str, Any]:
    return {
        "name": row.name,
        "endpoint": endpoint.name,
        "kind": row.kind,
        "target_percent": row.target_percent,
        "window_days": row.window_days,
        "threshold_ms": row.threshold_ms,
        "state": state_word(found),
        "told": found.told,
        "requests": found.total,
        "bad_requests": found.bad,
        "good_percent": found.good_percent,
        "budget_left": found.budget_left,
        "burn_rates": [
            {
                "speed": str(one.pair.speed),
                "long_s": one.pair.long_s,
                "short_s": one.pair.short_s,
                "factor": one.pair.factor,
                "long_rate": one.long_rate,
                "short_rate": one.short_rate,
                "long_requests": one.long_requests,
                "burning": one.burning,
            }
            for one in found.burns
        ],
        "created_by": row.created_by,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
    }


STATES = ("ok", "burning", "exhausted", "no_data")


def state_word(found: Status) -> str:
    """One word for all of it, the worst first; no data is what nobody can tell."""
    if found.told or found.budget_left is None:
        return "no_data"
    if any(one.burning for one in found.burns):
        return "burning"
    return "exhausted" if found.budget_left < 0 else "ok"
