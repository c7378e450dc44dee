"""Brings a snapshot into Envoy: make before break, and only believed once Envoy says so."""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from controlplane.gateway.admin import EnvoyAdmin, Taken
from controlplane.gateway.xds import XdsFolder
from wire.messages import GatewaySnapshot

WARM_TIMEOUT_S = 20.0
HEALTH_PATIENCE_S = 2.0  # until a cluster's first host has passed its check
POLL_INTERVAL_S = 0.05


class SnapshotRefused(RuntimeError):
    """Envoy did not take the configuration; it serves on by the one before."""


def apply(
    snapshot: GatewaySnapshot,
    xds: XdsFolder,
    admin: EnvoyAdmin,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Make ``snapshot`` what Envoy serves by.

    1. endpoints and clusters, of the new state and of the old, so that no route loses its target
    2. wait until Envoy has taken them, knows their endpoints, and had a first look at new ones
    3. routes
    4. clusters and endpoints that nothing names any more go

    In the naive order (all at once) some requests hit a route whose cluster does not exist yet.
    What is applied is confirmed, and then replicas are stopped: so endpoints, too, are believed
    only when Envoy itself shows them.
    Raises SnapshotRefused, EnvoyUnreachable; repeating the call is safe.
    """
    wait = _Waiter(admin, admin.refused(), sleep, clock)
    for name, resource in snapshot.endpoints.items():
        xds.write_endpoints(name, resource)
    leaving = {
        name: resource for name, resource in xds.clusters().items() if name not in snapshot.clusters
    }
    both = {**snapshot.clusters, **leaving}
    wait.for_clusters(both, xds.write_clusters(both.values()))
    wait.for_endpoints(snapshot.endpoints)
    for name, resource in snapshot.routes.items():
        wait.for_routes(xds.write_routes(name, resource))
    if leaving:
        wait.for_clusters(snapshot.clusters, xds.write_clusters(snapshot.clusters.values()))
    for name in xds.endpoint_files() - set(snapshot.endpoints):
        xds.remove_endpoints(name)


class _Waiter:
    def __init__(
        self,
        admin: EnvoyAdmin,
        refused_before: int,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
    ) -> None:
        self._admin = admin
        self._refused_before = refused_before
        self._sleep = sleep
        self._clock = clock

    def for_clusters(self, names: Collection[str], version: str) -> None:
        def done(taken: Taken) -> bool:
            # why: an Envoy that never had a cluster names no version for "none".
            none_wanted = not names and not taken.clusters
            return not taken.warming and (none_wanted or taken.clusters_version == version)

        self._until(done, "clusters")

    def for_routes(self, version: str) -> None:
        self._until(lambda taken: taken.routes_version == version, "routes")

    def for_endpoints(self, resources: Mapping[str, Mapping[str, Any]]) -> None:
        """Until Envoy holds exactly these hosts; then a while longer for the new ones' health."""
        wanted = {name: _wanted(resource) for name, resource in resources.items()}
        deadline = self._clock() + WARM_TIMEOUT_S
        while (seen := self._drains(wanted)) != wanted:
            if self._admin.refused() > self._refused_before:
                reasons = "; ".join(self._admin.taken().problems) or "its log has the reason"
                raise SnapshotRefused(f"Envoy refused the endpoints: {reasons}")
            if self._clock() > deadline:
                late = ", ".join(sorted(name for name in wanted if seen.get(name) != wanted[name]))
                raise SnapshotRefused(f"Envoy took no endpoints in {WARM_TIMEOUT_S:.0f} s: {late}")
            self._sleep(POLL_INTERVAL_S)
        # why not for ever: a replica that is dead must not hold up what others need.
        deadline = self._clock() + HEALTH_PATIENCE_S
        while self._unproved(wanted) and self._clock() < deadline:
            self._sleep(POLL_INTERVAL_S)

    def _drains(self, wanted: Mapping[str, Any]) -> dict[str, dict[str, bool]]:
        return {
            name: {address: host.draining for address, host in hosts.items()}
            for name, hosts in self._admin.hosts().items()
            if name in wanted
        }

    def _unproved(self, wanted: Mapping[str, Mapping[str, bool]]) -> bool:
        """Some cluster has hosts that should answer, and none that has shown to."""
        hosts = self._admin.hosts()
        return any(
            not all(drains.values()) and not any(h.healthy for h in hosts.get(name, {}).values())
            for name, drains in wanted.items()
        )

    def _until(self, done: Callable[[Taken], bool], what: str) -> None:
        deadline = self._clock() + WARM_TIMEOUT_S
        while True:
            taken = self._admin.taken()
            if done(taken):
                return
            if self._admin.refused() > self._refused_before:
                reasons = "; ".join(taken.problems) or "its log has the reason"
                raise SnapshotRefused(f"Envoy refused the {what}: {reasons}")
            if self._clock() > deadline:
                waiting = ", ".join(sorted(taken.warming)) or "nothing it names"
                raise SnapshotRefused(
                    f"Envoy took no {what} in {WARM_TIMEOUT_S:.0f} s; it waits for {waiting}"
                )
            self._sleep(POLL_INTERVAL_S)


def _wanted(resource: Mapping[str, Any]) -> dict[str, bool]:
    """Of an EDS resource: "address:port" -> whether it drains."""
    found = {}
    for part in resource["endpoints"]:
        for host in part["lb_endpoints"]:
            address = host["endpoint"]["address"]["socket_address"]
            drains = host.get("health_status") == "DRAINING"
            found[f"{address['address']}:{address['port_value']}"] = drains
    return found
