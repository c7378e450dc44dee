"""Reads of metrics: what is measured now, what is kept of before, log lines."""

from controlplane.metrics.selectors.answers import Answered, answered
from controlplane.metrics.selectors.following import Following
from controlplane.metrics.selectors.gateways import (
    gateway_samples_after,
    gateway_samples_newest,
    gateway_samples_since,
)
from controlplane.metrics.selectors.history import (
    History,
    Query,
    endpoint_history,
    minutes,
    minutes_of,
    scope_history,
)
from controlplane.metrics.selectors.live import (
    POINTS,
    Columns,
    freshness,
    live_keys,
    live_now,
    live_series,
    live_tracks,
    sample_interval_s,
)
from controlplane.metrics.selectors.logs import LogPage, log_lines, log_owners
from controlplane.metrics.selectors.replicas import ReplicaHistory, replica_history
from controlplane.metrics.selectors.requests import (
    MOST_REQUESTS,
    RequestFilter,
    own_requests_key,
    request_salt,
    requests_of_id,
    requests_seen,
    traces_of_id,
    traces_sharing,
)

__all__ = [
    "MOST_REQUESTS",
    "POINTS",
    "Answered",
    "Columns",
    "Following",
    "History",
    "LogPage",
    "Query",
    "ReplicaHistory",
    "RequestFilter",
    "answered",
    "endpoint_history",
    "freshness",
    "gateway_samples_after",
    "gateway_samples_newest",
    "gateway_samples_since",
    "live_keys",
    "live_now",
    "live_series",
    "live_tracks",
    "log_lines",
    "log_owners",
    "minutes",
    "minutes_of",
    "own_requests_key",
    "replica_history",
    "request_salt",
    "requests_of_id",
    "requests_seen",
    "sample_interval_s",
    "scope_history",
    "traces_of_id",
    "traces_sharing",
]
