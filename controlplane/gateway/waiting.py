"""Waiting for what Envoy says of the files that it was given: read, served by, warm, healthy."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from controlplane.gateway.admin import EnvoyAdmin, Said
from controlplane.gateway.parts import hosts_of
from controlplane.gateway.xds import XdsFolder

READ_TIMEOUT_S = 20.0
WARM_TIMEOUT_S = 5.0  # until new clusters have had a first answer from their replicas, or none
HEALTH_TIMEOUT_S = 2.0  # until a cluster's first host has passed its check
POLL_INTERVAL_S = 0.05
SEE_LOG = "Envoy's log has its words"


class SnapshotRefused(RuntimeError):
    """Envoy did not take the configuration; it serves on by the one before."""


class EnvoyWaiter:
    """Asks Envoy's admin port until what was written is served, or for as long as each may take."""

    def __init__(
        self, admin: EnvoyAdmin, sleep: Callable[[float], None], clock: Callable[[], float]
    ) -> None:
        self._admin, self._sleep, self._clock = admin, sleep, clock

    def said(self) -> dict[str, Said]:
        return self._admin.said()

    def problems(self) -> tuple[str, ...]:
        return self._admin.problems()

    def takes(self, what: str, xds: XdsFolder, write: Callable[[], str]) -> bool:
        """Whether Envoy serves by what ``write`` writes, once it has read it.

        Raises SnapshotRefused when it does not read it.
        """
        before, written = self.said().get(what, Said()), xds.writes
        version = write()
        if xds.writes == written:
            return self.serves(what, version)  # maybe it only just starts
        # why counted: content of before has the version of before, which says nothing
        self._until(lambda said: said.get(what, Said()).attempts != before.attempts, what)
        return self.said().get(what, Said()).version == version

    def serves(self, what: str, version: str) -> bool:
        """True, as soon as it does. Raises SnapshotRefused."""
        self._until(lambda said: said.get(what, Said()).version == version, what)
        return True

    def warming(self, late: frozenset[str]) -> frozenset[str]:
        """The clusters whose replicas have still not answered; ``late`` are not waited for."""
        deadline = self._clock() + WARM_TIMEOUT_S
        while (found := self._admin.warming()) - late and self._clock() < deadline:
            self._sleep(POLL_INTERVAL_S)
        return found

    def _until(self, done: Callable[[Mapping[str, Said]], bool], what: str) -> None:
        deadline = self._clock() + READ_TIMEOUT_S
        while not done(self.said()):
            if self._clock() > deadline:
                raise SnapshotRefused(f"Envoy took no {what} in {READ_TIMEOUT_S:.0f} s: {SEE_LOG}")
            self._sleep(POLL_INTERVAL_S)

    def health(self, clusters: Mapping[str, Mapping[str, Any]]) -> None:
        """A while, for the first look at new hosts.

        why not for ever: a replica that is dead must not hold up what others need.
        """
        serving = {
            name
            for name, resource in clusters.items()
            if any(host.get("health_status") != "DRAINING" for host in hosts_of(resource))
        }
        deadline = self._clock() + HEALTH_TIMEOUT_S
        while self._unproved(serving) and self._clock() < deadline:
            self._sleep(POLL_INTERVAL_S)

    def _unproved(self, clusters: Collection[str]) -> bool:
        """Some cluster has hosts that should answer, and none that has shown to."""
        hosts = self._admin.hosts()
        return any(
            not any(host.healthy for host in hosts.get(name, {}).values()) for name in clusters
        )
