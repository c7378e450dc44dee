"""Single requests of an endpoint, with the replicas that answered them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from controlplane.deployments.models import Endpoint
from controlplane.deployments.waterfall import NO_REPLICA, NOT_KEPT, bars_of
from controlplane.metrics.models import RequestTrace
from controlplane.metrics.selectors import (
    RequestFilter,
    requests_of_id,
    requests_seen,
    traces_of_id,
    traces_sharing,
)

APART_S: Final = 5.0  # that the clocks of a gateway and a node may be


def requests_shown(
    endpoint: Endpoint, wanted: RequestFilter, *, slowest: bool, limit: int
) -> list[dict[str, Any]]:
    """``endpoint`` with its deployments and replicas. A replica that is gone is told by its address
    alone: its port may be another's by now."""
    return _with_replicas(endpoint, requests_seen(wanted, slowest=slowest, limit=limit))


def request_story(endpoint: Endpoint, request_id: str, since: float) -> list[dict[str, Any]]:
    """All that is kept of requests with exactly this id, the newest first: what the gateway saw
    (``seen``) beside what the replica did (``trace``), or ``told``, why one is missing."""
    seen = _with_replicas(endpoint, requests_of_id(endpoint.name, request_id, since))
    traces = traces_of_id(endpoint.name, request_id, since)
    sharing = traces_sharing(traces)
    found = []
    for one, trace in paired(seen, traces):
        told = ""
        if trace is None and one is not None:
            told = NOT_KEPT if one["host"] else NO_REPLICA
        shown = None if trace is None else _trace_shown(trace, sharing.get(trace.pk, []))
        bars = [asdict(bar) for bar in bars_of(one, [] if shown is None else shown["spans"])]
        found.append({"seen": one, "trace": shown, "bars": bars, "told": told})
    return found


def paired(
    seen: Sequence[Mapping[str, Any]], traces: Sequence[RequestTrace]
) -> list[tuple[Mapping[str, Any] | None, RequestTrace | None]]:
    """What a gateway saw of a request with what a replica did for it. Clients may send many with
    one id: those of the same replica that are closest in time belong together."""
    left = list(traces)
    found: list[tuple[Mapping[str, Any] | None, RequestTrace | None]] = []
    for one in seen:
        fitting = [trace for trace in left if _fits(one, trace)]
        trace = min(fitting, key=lambda each: abs(each.at - _expected(one)), default=None)
        if trace is not None:
            left.remove(trace)
        found.append((one, trace))
    found += [(None, trace) for trace in left]
    return sorted(found, key=_moment, reverse=True)


def _expected(seen: Mapping[str, Any]) -> float:
    """When it came to its replica, by the gateway's clock."""
    return float(seen["at"] + seen["receive_us"] / 1e6)


def _fits(seen: Mapping[str, Any], trace: RequestTrace) -> bool:
    if not seen["host"] or seen["deployment"] != trace.deployment:
        return False
    if seen["replica"] not in ("", trace.replica_id):  # "": it is gone
        return False
    took_s = (seen["duration_us"] or 0.0) / 1e6
    return bool(seen["at"] - APART_S <= trace.at <= seen["at"] + took_s + APART_S)


def _moment(pair: tuple[Mapping[str, Any] | None, RequestTrace | None]) -> float:
    seen, trace = pair
    return float(seen["at"]) if seen is not None else (trace.at if trace is not None else 0.0)


def _trace_shown(trace: RequestTrace, sharing: list[str]) -> dict[str, Any]:
    data = trace.data
    return {
        "replica": trace.replica_id,
        "node": trace.node,
        "deployment": trace.deployment,
        "at": trace.at,
        "why": data["why"],
        "spans": data["spans"],
        "left_out": data["left_out"],
        "shared_with": sharing,
    }


def _with_replicas(endpoint: Endpoint, requests: list[Any]) -> list[dict[str, Any]]:
    known = _replicas(endpoint)
    found = []
    for seen in requests:
        replica, node = known.get((seen["deployment"], seen["host"]), ("", ""))
        duration_us, receive_us, send_us = (
            seen["duration_us"], seen["receive_us"], seen["send_us"],
        )  # fmt: skip
        replica_us = None
        if duration_us is not None:
            replica_us = max(0.0, duration_us - receive_us - send_us)
        found.append({**seen, "replica": replica, "node": node, "replica_us": replica_us})
    return found


def _replicas(endpoint: Endpoint) -> dict[tuple[str, str], tuple[str, str]]:
    """Deployment and "address:port" -> the replica's id and its node's name."""
    return {
        (deployment.name, f"{replica.observed.get('address')}:{replica.observed.get(port)}"): (
            replica.pk,
            replica.node.name,
        )
        for deployment in endpoint.deployments.all()
        for replica in deployment.replicas.all()
        for port in ("http_port", "grpc_port")
    }
