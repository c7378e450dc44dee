"""What a gateway must be: from endpoints and deployments to Envoy's resources. Pure."""

import hashlib
import json
import logging
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from controlplane.deployments.selectors import RoutedEndpoint, RoutingView
from controlplane.gateway.clusters import GRPC, HTTP, cluster
from controlplane.gateway.fallback import ROUTE_CONFIG, route_config
from controlplane.gateway.names import cluster_name
from controlplane.gateway.policies import paces, slots
from controlplane.gateway.routes import routes
from wire.messages import GatewaySnapshot
from wire.waking import HoldLimits

logger = logging.getLogger(__name__)


def render(view: RoutingView) -> GatewaySnapshot:
    """The snapshot for ``view``. Equal content gives equal versions. An endpoint that cannot be
    rendered is named in it, and gateways leave that as it is; its keys act nevertheless."""
    found_clusters: dict[str, Any] = {}
    found_routes: list[dict[str, Any]] = []
    rendered: list[RoutedEndpoint] = []
    unrendered: dict[str, str] = {}
    for endpoint in view.endpoints:
        try:
            clusters, mine = _endpoint(endpoint)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # why caught: one row that nobody foresaw would stop what all others need
            logger.exception("Endpoint %s cannot be rendered", endpoint.name)
            unrendered[endpoint.name] = f"It cannot be rendered: {error!r}"
            continue
        rendered.append(endpoint)
        found_clusters |= clusters
        found_routes += mine
    table = {ROUTE_CONFIG: route_config(found_routes, paces(rendered))}
    keys = {endpoint.name: slots(endpoint) for endpoint in view.endpoints}
    limits = holds(rendered)
    told = {name: asdict(one) for name, one in limits.items()}
    content = json.dumps([found_clusters, table, keys, unrendered, told], sort_keys=True)
    return GatewaySnapshot(
        version=hashlib.sha256(content.encode()).hexdigest()[:32],
        clusters=found_clusters,
        routes=table,
        keys=keys,
        unrendered=unrendered,
        holds=limits,
    )


def holds(endpoints: Iterable[RoutedEndpoint]) -> dict[str, HoldLimits]:
    """By cluster: how many requests wait for a replica, and how long."""
    return {
        cluster_name(endpoint.name, one.name, protocol): HoldLimits(
            timeout_s=one.hold.timeout_s, most=one.hold.most
        )
        for endpoint in endpoints
        for one in endpoint.deployments
        for protocol in (HTTP, GRPC)
        if one.hold is not None
    }


def _endpoint(endpoint: RoutedEndpoint) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Its clusters and its routes; nothing of it can fail later."""
    clusters: dict[str, Any] = {}
    for deployment in endpoint.deployments:
        for protocol in (HTTP, GRPC):
            name = cluster_name(endpoint.name, deployment.name, protocol)
            clusters[name] = cluster(name, protocol, deployment)
    mine = routes(endpoint)
    json.dumps([clusters, mine, paces([endpoint])])
    return clusters, mine
