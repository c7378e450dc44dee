"""Brings a snapshot into Envoy: make before break, and only believed once Envoy says so."""

import logging
import time
from collections.abc import Callable

from controlplane.gateway.admin import EnvoyAdmin, EnvoyUnreachable, Taken
from controlplane.gateway.xds import XdsFolder
from wire.messages import GatewaySnapshot

logger = logging.getLogger(__name__)

WARM_TIMEOUT_S = 20.0
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

    1. endpoints and clusters of the new state *and* of the old one, so that no route loses its target
    2. wait until Envoy has taken them and knows their endpoints
    3. routes
    4. clusters and endpoints that nothing names any more go

    In the naive order (all at once) some requests hit a route whose cluster does not exist yet.
    Raises SnapshotRefused, EnvoyUnreachable; repeating the call is safe.
    """
    version = snapshot.version
    wait = _Waiter(admin, sleep, clock)
    refused = admin.refused()
    for name, resource in snapshot.endpoints.items():
        xds.write_endpoints(name, version, resource)
    leaving = {
        name: resource for name, resource in xds.clusters().items() if name not in snapshot.clusters
    }
    both = version if not leaving else f"{version}+"
    xds.write_clusters(both, [*snapshot.clusters.values(), *leaving.values()])
    wait.until(
        lambda taken: taken.clusters_version == both and not taken.warming, refused, "clusters"
    )
    for name, resource in snapshot.routes.items():
        xds.write_routes(name, version, resource)
    wait.until(lambda taken: taken.routes_version == version, refused, "routes")
    if leaving:
        xds.write_clusters(version, snapshot.clusters.values())
        wait.until(lambda taken: taken.clusters_version == version, refused, "clusters")
    for name in xds.endpoint_files() - set(snapshot.endpoints):
        xds.remove_endpoints(name)


class _Waiter:
    def __init__(
        self, admin: EnvoyAdmin, sleep: Callable[[float], None], clock: Callable[[], float]
    ) -> None:
        self._admin = admin
        self._sleep = sleep
        self._clock = clock

    def until(self, done: Callable[[Taken], bool], refused_before: int, what: str) -> None:
        deadline = self._clock() + WARM_TIMEOUT_S
        while True:
            taken = self._admin.taken()
            if done(taken):
                return
            if self._admin.refused() > refused_before:
                reasons = "; ".join(taken.problems) or "its log has the reason"
                raise SnapshotRefused(f"Envoy refused the {what}: {reasons}")
            if self._clock() > deadline:
                waiting = ", ".join(sorted(taken.warming)) or "nothing it names"
                raise SnapshotRefused(
                    f"Envoy did not take the {what} within {WARM_TIMEOUT_S:.0f} s; it waits for {waiting}"
                )
            self._sleep(POLL_INTERVAL_S)


__all__ = ["EnvoyUnreachable", "SnapshotRefused", "apply"]
