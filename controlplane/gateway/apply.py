"""Brings a snapshot into Envoy: make before break, and only believed once Envoy says so.

What Envoy refuses is found and left out; everything else is applied.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.gateway.admin import CLUSTERS, KEYS, ROUTES, EnvoyAdmin
from controlplane.gateway.fallback import ROUTE_CONFIG
from controlplane.gateway.halves import NoneAccepted, Tries, refused_of
from controlplane.gateway.keys import digest
from controlplane.gateway.lookup import by_endpoint
from controlplane.gateway.names import deployment_of, endpoint_of_cluster
from controlplane.gateway.parts import Part, address_of, merged, parts_of, table_of
from controlplane.gateway.waiting import SEE_LOG, EnvoyWaiter, SnapshotRefused
from controlplane.gateway.xds import XdsFolder
from wire.messages import GatewaySnapshot, LeftOut

MOST_TRIES = 64  # questions of one snapshot, each of about a tenth of a second


@dataclass(frozen=True, slots=True)
class Applied:
    """What Envoy serves by now, and what of the snapshot is not in it."""

    accepted: GatewaySnapshot
    left_out: tuple[LeftOut, ...] = ()


@dataclass(slots=True)
class Refusals:
    """What Envoy refused before, so that it is asked again only when that has changed."""

    known: dict[str, tuple[str, LeftOut]] = field(default_factory=dict)  # key -> digest, and what
    late: frozenset[str] = frozenset()  # clusters whose replicas have not answered yet

    def find(self, key: str, content: str) -> LeftOut | None:
        before, what = self.known.get(key, ("", None))
        return what if before == content else None


def apply(
    snapshot: GatewaySnapshot,
    xds: XdsFolder,
    admin: EnvoyAdmin,
    *,
    accepted: GatewaySnapshot | None = None,
    refusals: Refusals | None = None,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Applied:
    """Make ``snapshot`` what Envoy serves by; its keys are applied apart, see ``keys``.

    1. clusters with their endpoints, of the new state and of the old, so that no route loses its
       target; Envoy serves by a cluster of before until it had a first look at the hosts of the new
    2. wait until Envoy has taken them all
    3. routes
    4. clusters that nothing names any more go

    In the naive order (all at once) some requests hit a route whose cluster does not exist yet.
    What is applied is confirmed, and then replicas are stopped: so it is believed only when Envoy
    itself shows it.

    An endpoint that Envoy refuses stays as in ``accepted``, the snapshot before; a replica that it
    refuses gets nothing. ``refusals`` is what was refused before, and is added to.
    Raises SnapshotRefused where the fault is with no endpoint, EnvoyUnreachable; repeating the call
    is safe.
    """
    run = _Run(
        snapshot,
        xds,
        EnvoyWaiter(admin, sleep, clock),
        refusals if refusals is not None else Refusals(),
        parts_of(accepted) if accepted is not None else {},
    )
    return run.all()


def keys_confirm(
    version: str,
    admin: EnvoyAdmin,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Wait until Envoy asks for the keys of this version. Raises SnapshotRefused, EnvoyUnreachable.

    They come from our own program: what Envoy refuses there is never one endpoint's fault.
    """
    EnvoyWaiter(admin, sleep, clock).serves(KEYS, version)


class _Run:
    """One application of one snapshot."""

    def __init__(
        self,
        snapshot: GatewaySnapshot,
        xds: XdsFolder,
        wait: EnvoyWaiter,
        refusals: Refusals,
        before: dict[str, Part],
    ) -> None:
        self._snapshot, self._xds, self._wait = snapshot, xds, wait
        self._refusals = refusals
        self._before = before
        self._tries = Tries(MOST_TRIES)
        self._left_out: dict[str, LeftOut] = {}
        self._still_known: dict[str, tuple[str, LeftOut]] = {}
        self._parts = parts_of(snapshot)
        self._late = refusals.late

    def all(self) -> Applied:
        for name, reason in self._snapshot.unrendered.items():
            self._parts[name] = self._before.get(name, Part())
            self._left_out[name] = LeftOut(name, reason)
        self._skip_known()
        self._clusters()
        self._routes()
        self._remove()
        for cluster in self._late:
            why = "Its replicas have not answered the gateway's first question yet"
            name, deployment = endpoint_of_cluster(cluster), deployment_of(cluster)
            self._left_out[f"{name} {deployment}"] = LeftOut(name, why, deployment, waits=True)
        # why replaced: what is no longer in the snapshot need not be known any more
        self._refusals.known, self._refusals.late = self._still_known, self._late
        table = {ROUTE_CONFIG: table_of(self._snapshot, self._parts)}
        accepted = replace(
            self._snapshot, clusters=self._merged(), endpoints={}, routes=table, unrendered={}
        )
        return Applied(accepted, tuple(self._left_out[key] for key in sorted(self._left_out)))

    # What was refused before, and has not changed

    def _skip_known(self) -> None:
        for name, part in list(self._parts.items()):
            if what := self._refusals.find(name, part.digest()):
                self._leave(name, part.digest(), what)
                self._parts[name] = part.held(self._before.get(name, Part()))
        for name, part in list(self._parts.items()):
            bad = set()
            for key, (_, host) in part.hosts().items():
                if what := self._refusals.find(key, digest(host)):
                    self._leave(key, digest(host), what)
                    bad.add(key)
            self._parts[name] = part.without(bad)

    def _leave(self, key: str, content: str, what: LeftOut) -> None:
        self._left_out[key] = what
        self._still_known[key] = (content, what)

    # Clusters

    def _clusters(self) -> None:
        leaving = self._leaving()
        changed = [name for name, part in self._parts.items() if part != self._old(name)]

        def accepts(chosen: Sequence[str]) -> bool:
            parts = {
                name: part if name in chosen or name not in changed else part.held(self._old(name))
                for name, part in self._parts.items()
            }
            return self._write_clusters({**merged(parts.values()), **leaving})

        refused = self._refused("clusters", changed, accepts)
        wanted = {name: self._parts[name] for name in refused}
        for name in refused:
            self._parts[name] = self._parts[name].held(self._old(name))
        for name, part in wanted.items():
            self._part(name, part, leaving)
        if refused and not self._write_clusters({**self._merged(), **leaving}):
            raise SnapshotRefused(f"Envoy refused the clusters that it took before: {SEE_LOG}")
        self._wait.health({n: c for n, c in self._merged().items() if n not in self._late})

    def _part(self, name: str, part: Part, leaving: Mapping[str, Any]) -> None:
        """Take in all of a refused endpoint but the replicas for which it is refused."""
        hosts = part.hosts()

        def accepts(chosen: Sequence[str]) -> bool:
            parts = {**self._parts, name: part.without(hosts.keys() - set(chosen))}
            return self._write_clusters({**merged(parts.values()), **leaving})

        try:
            bad = refused_of(list(hosts), accepts, self._tries)
        except NoneAccepted:
            self._hold(name, "Envoy refuses its clusters", self._parts[name])
            return
        for key in bad:
            cluster, host = hosts[key]
            why = f"Envoy refuses the address {address_of(host)!r}"
            what = LeftOut(name, why, deployment_of(cluster), address_of(host))
            self._leave(key, digest(host), what)
        self._parts[name] = part.without(bad)

    def _write_clusters(self, clusters: Mapping[str, Any]) -> bool:
        taken = self._wait.takes(
            CLUSTERS, self._xds, lambda: self._xds.write_clusters(clusters.values())
        )
        if not taken:
            return False
        # why some are not waited for again: who is silent would hold up every later change
        self._late = self._wait.warming(self._late)
        return True

    def _leaving(self) -> dict[str, Any]:
        """Clusters that only the state before has."""
        wanted = self._merged()
        return {n: resource for n, resource in self._xds.clusters().items() if n not in wanted}

    def _merged(self) -> dict[str, Any]:
        return merged(self._parts.values())

    # Routes

    def _routes(self) -> None:
        changed = [name for name, part in self._parts.items() if part != self._old(name)]

        def accepts(chosen: Sequence[str]) -> bool:
            parts = {
                name: part
                if name in chosen or name not in changed
                else part.with_routes(self._old(name))
                for name, part in self._parts.items()
            }
            table = by_endpoint(table_of(self._snapshot, parts))
            return self._wait.takes(
                ROUTES, self._xds, lambda: self._xds.write_routes(ROUTE_CONFIG, table)
            )

        for name in self._refused("routes", changed, accepts):
            held = self._parts[name].with_routes(self._old(name))
            self._hold(name, "Envoy refuses its routes", held)

    def _old(self, name: str) -> Part:
        return self._before.get(name, Part())

    def _refused(
        self, what: str, changed: list[str], accepts: Callable[[Sequence[str]], bool]
    ) -> list[str]:
        if accepts(changed):
            return []
        try:
            return refused_of(changed, accepts, self._tries)
        except NoneAccepted:
            reason = "; ".join(self._wait.problems()) or SEE_LOG
            raise SnapshotRefused(f"Envoy refused the {what}: {reason}") from None

    def _hold(self, name: str, why: str, held: Part) -> None:
        reason = "; ".join(self._wait.problems()) or SEE_LOG
        # the digest of what was wanted: it is what the next snapshot will have
        content = parts_of(self._snapshot)[name].digest()
        self._leave(name, content, LeftOut(name, f"{why}: {reason}"))
        self._parts[name] = held

    # The end

    def _remove(self) -> None:
        if self._leaving() and not self._write_clusters(self._merged()):
            raise SnapshotRefused(f"Envoy refused fewer clusters: {SEE_LOG}")
        self._xds.remove_endpoints()
