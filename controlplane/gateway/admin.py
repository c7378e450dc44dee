"""Envoy's admin interface, over its socket: what it took, what it refused, which hosts it likes."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from controlplane.gateway.fallback import ROUTE_CONFIG
from controlplane.gateway.filters import HOLDING
from controlplane.gateway.keys import LUA

TIMEOUT_S = 15.0  # it answers on the thread that also reads the routes of a thousand endpoints
# Parts of the names of Envoy's statistics.
SCOPES = {
    "keys": f"extension_config_discovery.http_filter.{LUA}",
    "clusters": "cluster_manager.cds",
    "routes": f".rds.{ROUTE_CONFIG}",
}
STATISTICS = (
    rf"^(cluster_manager\.cds|.*\.rds\.{ROUTE_CONFIG}|extension_config_discovery\..*)"
    r"\.(version_text|update_attempt)$"
)
WARMING, TABLES = "dynamic_warming_clusters", "dynamic_route_configs"  # lists of /config_dump


class EnvoyUnreachable(RuntimeError):
    """Envoy does not run, or does not answer on its admin socket."""


KEYS, CLUSTERS, ROUTES = "keys", "clusters", "routes"  # see EnvoyAdmin.said


@dataclass(frozen=True, slots=True)
class Said:
    """What Envoy says of one file of its configuration."""

    version: str = ""  # by which it serves; empty before the first
    attempts: int = 0  # how often it has read the file since it started


@dataclass(frozen=True, slots=True)
class Host:
    """One endpoint as Envoy holds it."""

    draining: bool  # it gets nothing new
    healthy: bool  # it is sent requests: checked, not ejected, not draining


class EnvoyAdmin:
    def __init__(self, socket: Path) -> None:
        transport = httpx.HTTPTransport(uds=str(socket))
        self._client = httpx.Client(
            transport=transport, base_url="http://envoy", timeout=TIMEOUT_S, trust_env=False
        )

    def close(self) -> None:
        self._client.close()

    def warming(self) -> frozenset[str]:
        """Clusters that wait for the first answers of their hosts; what was there before serves.

        Raises EnvoyUnreachable.
        """
        # why masked: each resource names all its hosts
        found = self._dump(WARMING, mask="cluster.name")
        return frozenset(item.get("cluster", {}).get("name", "") for item in found)

    def problems(self) -> tuple[str, ...]:
        """Envoy's words about updates that it refused. Raises EnvoyUnreachable."""
        found = [*self._dump(WARMING), *self._dump(TABLES)]
        details = (item.get("error_state", {}).get("details", "") for item in found)
        return tuple(detail for detail in details if detail)

    def _dump(self, resource: str, **query: str) -> list[dict[str, Any]]:
        """One list of what Envoy has of its configuration."""
        found: list[dict[str, Any]] = self._json(
            "GET", "/config_dump", resource=resource, **query
        ).get("configs", [])
        return found

    def said(self) -> dict[str, Said]:
        """Of ``KEYS``, ``CLUSTERS`` and ``ROUTES``. Raises EnvoyUnreachable."""
        stats = self._json("GET", "/stats", format="json", filter=STATISTICS).get("stats", [])
        found: dict[str, Said] = {}
        for item in stats:
            scope, _, name = str(item.get("name", "")).rpartition(".")
            what = next((key for key, part in SCOPES.items() if part in scope), "")
            before = found.get(what, Said())
            found[what] = (
                replace(before, version=str(item["value"]))
                if name == "version_text"
                else replace(before, attempts=int(item["value"]))
            )
        return found

    def hosts(self) -> dict[str, dict[str, Host]]:
        """Cluster -> "address:port" -> what Envoy thinks of it. Raises EnvoyUnreachable."""
        found: dict[str, dict[str, Host]] = {}
        for item in self._json("GET", "/clusters", format="json").get("cluster_statuses", []):
            name = str(item.get("name", ""))
            if name == HOLDING:
                continue  # the agent beside it, no replica
            hosts = found.setdefault(name, {})
            for host in item.get("host_statuses", []):
                address = host.get("address", {}).get("socket_address", {})
                key = f"{address.get('address', '')}:{address.get('port_value', 0)}"
                status = host.get("health_status", {})
                known = status.get("eds_health_status", "")
                hosts[key] = Host(
                    draining=known == "DRAINING",
                    healthy=known == "HEALTHY"
                    and not any(value is True for value in status.values()),
                )
        return found

    def host_health(self) -> dict[str, bool]:
        """By "address:port", whether Envoy sends requests there. Raises EnvoyUnreachable."""
        return {
            address: host.healthy
            for hosts in self.hosts().values()
            for address, host in hosts.items()
        }

    def reopen_logs(self) -> None:
        """Raises EnvoyUnreachable."""
        self._request("POST", "/reopen_logs")

    def _json(self, method: str, path: str, **query: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._request(method, path, **query))
        return found

    def _request(self, method: str, path: str, **query: str) -> str:
        try:
            response = self._client.request(method, path, params=query)
            response.raise_for_status()
        except httpx.HTTPError as error:
            raise EnvoyUnreachable(f"Envoy's admin interface: {error}") from error
        return response.text
