"""Shapes of objectives and alerts in the REST API's JSON."""

from typing import Any, Literal, TypedDict


class Objective(TypedDict):
    name: str
    endpoint: str
    kind: Literal["availability", "latency"]
    target_percent: float
    window_days: int
    threshold_ms: float | None
    state: Literal["ok", "burning", "exhausted", "no_data"]
    told: str  # why nothing can be told of now
    requests: int
    bad_requests: int
    good_percent: float | None
    budget_left: float | None  # 1 is all of it
    burn_rates: list[dict[str, Any]]
    created_by: str
    created_at: str
    updated_at: str
