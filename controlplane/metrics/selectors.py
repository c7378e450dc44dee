"""Reads of metrics: live series of an endpoint, and log lines of a deployment."""

import time
from collections.abc import Collection
from dataclasses import dataclass

from controlplane.metrics.models import LogLine, Watch
from controlplane.metrics.types import SAMPLE_INTERVAL_S, WATCHED_INTERVAL_S


@dataclass(frozen=True, slots=True)
class Columns:
    """Series over one axis of Unix seconds: ``v[k][i]`` is the value of ``keys[k]`` at ``t[i]``."""

    keys: list[str]
    t: list[float]
    v: list[list[float | None]]


def live_keys(endpoint: str) -> list[str]:
    """Names of the series, in a stable order; they change when deployments or batch sizes do."""
    raise NotImplementedError


def live_series(endpoint: str, range_s: float) -> Columns:
    """The last ``range_s`` seconds; null where nothing was measured."""
    raise NotImplementedError


def live_tick(endpoint: str, keys: list[str], now: float) -> tuple[float, list[float | None]]:
    """One value per key as of ``now`` (Unix seconds), and the moment they stand for."""
    raise NotImplementedError


def live_now(endpoints: Collection[str], now: float) -> dict[str, dict[str, float | None]]:
    """Endpoint -> request_rate, p95_us and error_rate of the last seconds, in one read for all."""
    raise NotImplementedError


def sample_interval_s(endpoints: Collection[str] | None = None) -> float:
    """How often to sample: quickly while somebody watches one of these (or any) endpoints."""
    watched = Watch.objects.filter(expires_at__gt=time.time())
    if endpoints is not None:
        watched = watched.filter(endpoint__in=endpoints)
    return WATCHED_INTERVAL_S if watched.exists() else SAMPLE_INTERVAL_S


def log_lines(
    *,
    endpoint: str,
    deployment: str,
    tail: int,
    replica_id: str = "",
    stream: str = "",
    after: int | None = None,
) -> list[LogLine]:
    """The last ``tail`` lines in order; with ``after`` the first ``tail`` behind that id."""
    lines = LogLine.objects.filter(endpoint=endpoint, deployment=deployment)
    if replica_id:
        lines = lines.filter(replica_id=replica_id)
    if stream:
        lines = lines.filter(stream=stream)
    if after is not None:
        return list(lines.filter(id__gt=after).order_by("id")[:tail])
    return list(lines.order_by("-id")[:tail])[::-1]


def log_owners() -> list[tuple[str, str]]:
    """Endpoint and deployment of everything that has log lines."""
    return list(LogLine.objects.values_list("endpoint", "deployment").distinct().order_by())
