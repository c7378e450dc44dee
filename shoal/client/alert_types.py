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


class Alert(TypedDict):
    id: str
    rule: str
    title: str
    severity: Literal["page", "ticket"]
    state: Literal["pending", "firing", "resolved"]
    subject: str  # "endpoint/quote", "node/local", "installation"
    part: str
    project: str | None  # None: of the installation
    value: float | None
    summary: str
    untold: str  # why nobody can tell how it is now
    started_at: str
    fired_at: str | None
    resolved_at: str | None
    resolution: str
    acknowledged_by: str
    acknowledged_at: str | None
    notified_at: str | None
    silenced_until: str | None
    silence: str
    page: str
    runbook: str


class AlertThreshold(TypedDict):
    rule: str
    about: str  # "project/vision", "endpoint/quote", "node/local"
    threshold: float | None  # its own; None: it has none
    effective: float
    source: str  # where that comes from: one of the above, or "installation"
    installation: float
    unit: str
    changed_by: str
    changed_at: str | None
    etag: str


class AlertRule(TypedDict):
    name: str
    title: str
    about: str
    enabled: bool
    threshold: float | None
    default_threshold: float | None
    unit: str
    for_s: int
    clear_s: int
    severity: Literal["page", "ticket"]
    runbook: str
    steps: list[str]
    kinds: list[str]  # of what may have a threshold of its own
    thresholds: list[AlertThreshold]


class Silence(TypedDict):
    id: str
    rule: str
    subject: str
    project: str | None
    reason: str
    starts_at: str
    ends_at: str
    created_by: str


class Channel(TypedDict):
    name: str
    kind: Literal["webhook", "slack", "alertmanager", "email"]
    enabled: bool
    address: str
    recipients: list[str]
    severities: list[str]
    projects: list[str]
    signed: bool
    created_by: str
    created_at: str
    updated_at: str


class ChannelMade(Channel):
    secret: str  # shown this once


class Delivery(TypedDict):
    id: str
    channel: str
    event: str
    alert: str
    status: Literal["waiting", "delivered", "failed"]
    attempts: int
    next_at: str | None
    created_at: str
    delivered_at: str | None
    replay_of: str
    log: list[dict[str, Any]]
    message: dict[str, Any]
