"""A snapshot by endpoint, so that one may stay as it was while the others change. Pure.

Needs no Django: the same resources that the control plane rendered, taken apart and put together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controlplane.gateway.fallback import ROUTE_CONFIG, route_config
from controlplane.gateway.filters import RATE
from controlplane.gateway.keys import digest, endpoint_of, without_keys
from controlplane.gateway.names import endpoint_of_cluster
from wire.messages import GatewaySnapshot

Resources = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """What one endpoint has in a snapshot. Its keys are apart: they always act."""

    clusters: Resources = field(default_factory=dict)  # name -> CDS resource
    endpoints: Resources = field(default_factory=dict)  # cluster name -> EDS resource
    routes: list[Any] = field(default_factory=list)
    paces: list[Any] = field(default_factory=list)  # descriptors of its rate limits

    def digest(self) -> str:
        """Of what Envoy may refuse as a whole; replicas are refused one by one."""
        return digest([self.clusters, self.routes, self.paces])

    def held(self, before: "Part") -> "Part":
        """As it was before, but with the replicas of now where they are the same deployment's."""
        now = {name: self.endpoints.get(name, old) for name, old in before.endpoints.items()}
        return Part(before.clusters, now, before.routes, before.paces)

    def with_routes(self, before: "Part") -> "Part":
        """Of now, but routed as before, to whatever that needs."""
        return Part(
            {**before.clusters, **self.clusters},
            {**before.endpoints, **self.endpoints},
            before.routes,
            before.paces,
        )


def parts_of(snapshot: GatewaySnapshot) -> dict[str, Part]:
    """Endpoint -> its part."""
    found: dict[str, Part] = {}
    for name, resource in snapshot.clusters.items():
        found.setdefault(endpoint_of_cluster(name), Part()).clusters[name] = resource
    for name, resource in snapshot.endpoints.items():
        found.setdefault(endpoint_of_cluster(name), Part()).endpoints[name] = resource
    host = _host(_table(snapshot))
    for route in host.get("routes", []):
        if name := endpoint_of(route):
            found.setdefault(name, Part()).routes.append(route)
    for pace in _paces(host):
        found.setdefault(pace["entries"][0]["value"], Part()).paces.append(pace)
    return found


def table_of(snapshot: GatewaySnapshot, parts: Mapping[str, Part]) -> Resources:
    """The RDS resource of ``snapshot``, with these parts in the place of its endpoints'."""
    table = _table(snapshot)
    host = _host(table)
    common = [route for route in host.get("routes", []) if not endpoint_of(route)]
    paces = [pace for name in sorted(parts) for pace in parts[name].paces]
    mine = [route for name in sorted(parts) for route in parts[name].routes]
    changed = {**host, "routes": [*mine, *common]}
    if limit := host.get("typed_per_filter_config", {}).get(RATE):
        filters = {**host["typed_per_filter_config"], RATE: {**limit, "descriptors": paces}}
        changed["typed_per_filter_config"] = filters
    return {**table, "virtual_hosts": [changed, *table.get("virtual_hosts", [])[1:]]}


def merged(parts: Iterable[Part]) -> tuple[Resources, Resources]:
    """Clusters and endpoints of all of them."""
    clusters: Resources = {}
    endpoints: Resources = {}
    for part in parts:
        clusters |= part.clusters
        endpoints |= part.endpoints
    return clusters, endpoints


def _table(snapshot: GatewaySnapshot) -> Resources:
    return without_keys(snapshot.routes.get(ROUTE_CONFIG) or route_config([]))


def _host(table: Resources) -> Resources:
    return dict(next(iter(table.get("virtual_hosts", [])), {}))


def _paces(host: Resources) -> list[Any]:
    limit = host.get("typed_per_filter_config", {}).get(RATE, {})
    return list(limit.get("descriptors", []))
