"""Reads of what is measured now: the live series of an endpoint."""

import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.db.models import Max

from controlplane.metrics import series
from controlplane.metrics.counters import STALE_S, Track
from controlplane.metrics.models import GatewaySample, NodeSample, ReplicaSample, RollUp, Watch
from controlplane.metrics.types import SAMPLE_INTERVAL_S, WATCHED_INTERVAL_S


@dataclass(frozen=True, slots=True)
class Columns:
    """Series over one axis of Unix seconds: ``v[k][i]`` is the value of ``keys[k]`` at ``t[i]``."""

    keys: list[str]
    t: list[float]
    v: list[list[float | None]]


NOW = ("answer_rate", "p95_us", "error_rate")
POINTS = 600  # at most, in one series
FINEST_S = 0.5
KNOWN_S = 600.0  # a deployment stays among the keys this long after its last sample


def live_keys(endpoint: str, now: float | None = None) -> list[str]:
    """Names of the series as of ``now``, in a stable order; they change when deployments do, or
    the batch sizes of the last minute."""
    now = time.time() if now is None else now
    by_deployment = _sources(endpoint, now - series.LOOKBACK_S, now)
    return columns_of(deployments_known(endpoint, now), by_deployment)


def live_series(endpoint: str, range_s: float, keys: list[str] | None = None) -> Columns:
    """The last ``range_s`` seconds of these series, or of all; null where nothing was measured."""
    now = time.time()
    step_s = max(FINEST_S, range_s / POINTS)
    count = max(1, int(range_s / step_s))
    # why a grid: the same moments at every call, so that a reload draws the same curve
    end = math.floor(now / step_s) * step_s
    t = [end - step_s * index for index in range(count - 1, -1, -1)]
    by_deployment = _sources(endpoint, t[0] - series.LOOKBACK_S, now)
    # why not by these samples: ticks follow, whose columns are those of the last minute
    keys = live_keys(endpoint, now) if keys is None else keys
    told = now - series.TOLD_AFTER_S
    rows = [series.values(by_deployment, keys, at, step_s=step_s, told=told) for at in t]
    columns = [[row[index] for row in rows] for index in range(len(keys))]
    return Columns(keys=keys, t=t, v=columns)


def live_now(endpoints: Collection[str], now: float) -> dict[str, dict[str, float | None]]:
    """Endpoint -> answer_rate, p95_us and error_rate of the last seconds, in one read for all.

    All as callers saw them at the gateways, whether a replica is left or not: 0 answers a second
    while replicas are sampled and nobody calls, None where nothing is known.
    """
    since = now - 2 * STALE_S
    replicas = ReplicaSample.objects.filter(endpoint__in=endpoints, at__gt=since, at__lte=now)
    gateways = GatewaySample.objects.filter(endpoint__in=endpoints, at__gt=since, at__lte=now)
    by_endpoint: dict[str, tuple[list[Any], list[Any]]] = {name: ([], []) for name in endpoints}
    for index, rows in enumerate((replicas.order_by("pk"), gateways.order_by("at"))):
        for name, data in rows.values_list("endpoint", "data"):
            by_endpoint[name][index].append(data)
    keys = [f"{metric}.{series.ALL}" for metric in NOW]
    told = now - series.TOLD_AFTER_S
    live = {}
    for name, samples in by_endpoint.items():
        found = series.values(series.sources(*samples), keys, now, told=told)
        live[name] = dict(zip(NOW, found, strict=True))
    return live


def live_tracks(
    endpoints: Collection[str], since: float, until: float
) -> dict[tuple[str, str], dict[str, Track]]:
    """(endpoint, deployment) -> replica -> what it counted, in one read for all."""
    rows = ReplicaSample.objects.filter(endpoint__in=endpoints, at__gt=since, at__lte=until)
    by_endpoint: dict[str, list[Any]] = {}
    for name, data in rows.order_by("pk").values_list("endpoint", "data"):
        by_endpoint.setdefault(name, []).append(data)
    found: dict[tuple[str, str], dict[str, Track]] = {}
    for name, samples in by_endpoint.items():
        for (deployment, replica), made in series.tracks(samples).items():
            found.setdefault((name, deployment), {})[replica] = made
    return found


def _sources(endpoint: str, since: float, until: float) -> dict[str, series.Source]:
    """Deployments, ``all``, and the machines that run them as ``node:<name>``."""
    span = {"endpoint": endpoint, "at__gt": since, "at__lte": until}
    rows = list(ReplicaSample.objects.filter(**span).order_by("pk").values_list("node", "data"))
    found = series.sources(
        [data for _, data in rows],
        GatewaySample.objects.filter(**span).order_by("at").values_list("data", flat=True),
    )
    nodes = {node for node, _ in rows if node}
    return found | {
        f"{series.NODE}{node}": host for node, host in host_sources(nodes, since, until).items()
    }


def host_sources(
    nodes: Collection[str] | None, since: float, until: float
) -> dict[str, series.Source]:
    """Name -> samples of these machines, or of all."""
    rows = NodeSample.objects.filter(at__gt=since, at__lte=until)
    if nodes is not None:
        rows = rows.filter(node__in=nodes)
    by_node: dict[str, list[tuple[float, Any]]] = {}
    for node, at, info in rows.order_by("at").values_list("node", "at", "data"):
        by_node.setdefault(node, []).append((at, info))
    return {node: series.host_source(samples) for node, samples in by_node.items()}


def deployments_known(endpoint: str, now: float) -> set[str]:
    """Those that were sampled in the last minutes."""
    known = {"endpoint": endpoint, "at__gt": now - KNOWN_S}
    deployments: set[str] = set()
    for model in (ReplicaSample, GatewaySample):
        rows = model.objects.filter(**known).order_by()
        deployments |= set(rows.values_list("deployment", flat=True).distinct())
    # why: requests that the gateway refused reached no deployment; they count for the endpoint
    deployments.discard("")
    return deployments


def columns_of(deployments: set[str], by_deployment: dict[str, series.Source]) -> list[str]:
    """Names of the series of these, the endpoint and the machines, in a stable order."""
    hosts = {
        scope.removeprefix(series.NODE): sorted(source.host[-1])
        for scope, source in by_deployment.items()
        if scope.startswith(series.NODE)
    }
    return series.keys(deployments, series.batch_sizes(by_deployment[series.ALL]), hosts)


def sample_interval_s(endpoints: Collection[str] | None = None) -> float:
    """How often to sample: quickly while somebody watches one of these (or any) endpoints."""
    watched = Watch.objects.filter(expires_at__gt=time.time())
    if endpoints is not None:
        watched = watched.filter(endpoint__in=endpoints)
    return WATCHED_INTERVAL_S if watched.exists() else SAMPLE_INTERVAL_S


def freshness() -> dict[str, float | None]:
    """Kind -> Unix seconds of its newest row; None when there is none."""
    newest = {
        "replica_sample": ReplicaSample,
        "gateway_sample": GatewaySample,
        "node_sample": NodeSample,
        "roll_up": RollUp,
    }
    return {
        name: model._default_manager.aggregate(at=Max("at"))["at"] for name, model in newest.items()
    }
