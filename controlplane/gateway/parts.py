"""A snapshot by endpoint, so that one may stay as it was while the others change. Pure.

Needs no Django: the same resources that the control plane rendered, taken apart and put together.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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

    clusters: Resources = field(default_factory=dict)  # name -> CDS resource, with its hosts
    routes: list[Any] = field(default_factory=list)
    paces: list[Any] = field(default_factory=list)  # descriptors of its rate limits

    def digest(self) -> str:
        """Of what Envoy may refuse as a whole; replicas are refused one by one."""
        clusters = {name: with_hosts(found, ()) for name, found in self.clusters.items()}
        return digest([clusters, self.routes, self.paces])

    def hosts(self) -> dict[str, tuple[str, Any]]:
        """Each replica in each of its clusters: the cluster's name, and the host."""
        return {
            _host_key(name, host): (name, host)
            for name, found in self.clusters.items()
            for host in hosts_of(found)
        }

    def without(self, unwanted: Collection[str]) -> "Part":
        """Without these of ``hosts``."""
        clusters = {
            name: with_hosts(
                found, [host for host in hosts_of(found) if _host_key(name, host) not in unwanted]
            )
            for name, found in self.clusters.items()
        }
        return replace(self, clusters=clusters)

    def held(self, before: "Part") -> "Part":
        """As it was before, but with the replicas of now where they are the same deployment's."""
        clusters = {
            name: with_hosts(old, hosts_of(self.clusters[name])) if name in self.clusters else old
            for name, old in before.clusters.items()
        }
        return Part(clusters, before.routes, before.paces)

    def with_routes(self, before: "Part") -> "Part":
        """Of now, but routed as before, to whatever that needs."""
        return Part({**before.clusters, **self.clusters}, before.routes, before.paces)


def parts_of(snapshot: GatewaySnapshot) -> dict[str, Part]:
    """Endpoint -> its part."""
    found: dict[str, Part] = {}
    for name, resource in snapshot.clusters.items():
        whole = _with_endpoints(resource, snapshot.endpoints.get(name))
        found.setdefault(endpoint_of_cluster(name), Part()).clusters[name] = whole
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


def merged(parts: Iterable[Part]) -> Resources:
    """The clusters of all of them."""
    return {name: cluster for part in parts for name, cluster in part.clusters.items()}


def hosts_of(cluster: Mapping[str, Any]) -> list[Any]:
    """Of a CDS resource: where its replicas listen."""
    found = cluster.get("load_assignment", {}).get("endpoints", [])
    return [host for part in found for host in part["lb_endpoints"]]


def with_hosts(cluster: Mapping[str, Any], hosts: Sequence[Any]) -> Resources:
    endpoints = [{"lb_endpoints": list(hosts)}] if hosts else []
    name = cluster["name"]
    return {**cluster, "load_assignment": {"cluster_name": name, "endpoints": endpoints}}


def address_of(host: Mapping[str, Any]) -> str:
    address = host["endpoint"]["address"]["socket_address"]
    return f"{address['address']}:{address['port_value']}"


def _host_key(cluster: str, host: Mapping[str, Any]) -> str:
    return f"{cluster} {address_of(host)}"


def _with_endpoints(cluster: Mapping[str, Any], endpoints: Resources | None) -> Resources:
    """A control plane of before told clusters to find their endpoints in a file each."""
    if endpoints is None:
        return dict(cluster)
    kept = {key: value for key, value in cluster.items() if key != "eds_cluster_config"}
    found = {key: value for key, value in endpoints.items() if key != "@type"}
    return {**kept, "type": "STATIC", "load_assignment": found}


def _table(snapshot: GatewaySnapshot) -> Resources:
    return without_keys(snapshot.routes.get(ROUTE_CONFIG) or route_config([]))


def _host(table: Resources) -> Resources:
    return dict(next(iter(table.get("virtual_hosts", [])), {}))


def _paces(host: Resources) -> list[Any]:
    limit = host.get("typed_per_filter_config", {}).get(RATE, {})
    return list(limit.get("descriptors", []))
