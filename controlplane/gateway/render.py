"""What a gateway must be: from endpoints and deployments to Envoy's resources. Pure."""

import hashlib
import json
from typing import Any

from controlplane.deployments.selectors import RoutingView
from controlplane.gateway.clusters import GRPC, HTTP, cluster, endpoints
from controlplane.gateway.fallback import ROUTE_CONFIG, route_config
from controlplane.gateway.names import cluster_name
from controlplane.gateway.policies import paces
from controlplane.gateway.routes import routes
from wire.messages import GatewaySnapshot


def render(view: RoutingView) -> GatewaySnapshot:
    """The snapshot for ``view``. Equal content gives equal versions."""
    found_clusters: dict[str, Any] = {}
    found_endpoints: dict[str, Any] = {}
    found_routes: list[dict[str, Any]] = []
    for endpoint in view.endpoints:
        for deployment in endpoint.deployments:
            for protocol in (HTTP, GRPC):
                name = cluster_name(endpoint.name, deployment.name, protocol)
                found_clusters[name] = cluster(
                    name, protocol, deployment.max_concurrent_requests, deployment.readiness_probe
                )
                found_endpoints[name] = endpoints(name, protocol, deployment)
        found_routes += routes(endpoint)
    table = {ROUTE_CONFIG: route_config(found_routes, paces(view.endpoints))}
    content = json.dumps([found_clusters, found_endpoints, table], sort_keys=True)
    return GatewaySnapshot(
        version=hashlib.sha256(content.encode()).hexdigest()[:32],
        endpoints=found_endpoints,
        clusters=found_clusters,
        routes=table,
    )
