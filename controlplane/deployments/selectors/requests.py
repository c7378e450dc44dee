"""Single requests of an endpoint, with the replicas that answered them."""

from typing import Any

from controlplane.deployments.models import Endpoint
from controlplane.metrics.selectors import RequestFilter, requests_seen


def requests_shown(
    endpoint: Endpoint, wanted: RequestFilter, *, slowest: bool, limit: int
) -> list[dict[str, Any]]:
    """``endpoint`` with its deployments and replicas. A replica that is gone is told by its address
    alone: its port may be another's by now."""
    known = _replicas(endpoint)
    found = []
    for seen in requests_seen(wanted, slowest=slowest, limit=limit):
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
