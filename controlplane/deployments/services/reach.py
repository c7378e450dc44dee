"""Where a node says that its replicas are reached: believed only of the node's own address.

What is believed here goes to gateways, and requests follow it.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.db.models import Q

from controlplane.deployments.models import Replica
from controlplane.deployments.types import ReplicaState
from controlplane.nodes.claims import Violation
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_state
from wire.addresses import host_address
from wire.messages import ObservedReplica, Problem

PORTS: Final = ("http_port", "grpc_port", "metrics_port")
SCORED: Final = ("http_port", "grpc_port")  # without which a replica cannot be ready
HIGHEST: Final = 65_535
ANSWERING: Final = (ReplicaState.READY, ReplicaState.DRAINING)


@dataclass(frozen=True, slots=True)
class Reach:
    """``address`` is the node's own, as ``host_address`` spells it; empty when it has none."""

    node: Node
    address: str

    def violation(self, row: Replica, observed: ObservedReplica, now: datetime) -> Violation | None:
        """What is wrong with where ``observed`` says that ``row`` is reached."""
        where = f"replicas[{row.pk}]."
        ports = {name: getattr(observed, name) for name in PORTS}
        for name, port in ports.items():
            least = 1 if name in SCORED and observed.state in ANSWERING else 0
            if not least <= port <= HIGHEST:
                return Violation(where + name, port, f"a port from {least or 1} to {HIGHEST}")
        if not any(ports.values()):
            return None  # it is not to be reached yet
        if not self.address:
            told = "nothing, while the node has no address of its own"
            return Violation(where + "address", observed.address, told)
        # why empty passes: agents of before do not say, and mean their own
        if observed.address and _spelled(observed.address) != self.address:
            told = f"{self.address}, the address of node {self.node.name}"
            return Violation(where + "address", observed.address, told)
        if any(row.observed.get(name) != port for name, port in ports.items()):
            return self._strangers(where, ports, now)
        return None

    def _strangers(self, where: str, ports: dict[str, int], now: datetime) -> Violation | None:
        """Ports at which another node's replica answers, at the same address."""
        taken = set(ports.values()) - {0}
        theirs = Q()
        for name in PORTS:
            theirs |= Q(**{f"observed__{name}__in": sorted(taken)})
        others = (
            Replica.objects.exclude(node=self.node)
            .filter(theirs, observed__address=self.address, state__in=ANSWERING)
            .filter(node__address=self.address)  # by an index: those above read all replicas
            .select_related("node")
        )
        for other in others:
            if node_state(other.node, now) != "online":
                continue  # the port may be free again
            held = {other.observed.get(name) for name in PORTS}
            name = next(name for name, port in ports.items() if port and port in held)
            told = f"a port of its own, not one of node {other.node.name}"
            return Violation(where + name, ports[name], told)
        return None


def unreachable(observed: ObservedReplica, wrong: Violation) -> ObservedReplica:
    """As one that failed, for that reason: it can be sent no requests, and nobody waits for it."""
    return replace(
        observed,
        state="failed",
        address="",
        http_port=0,
        grpc_port=0,
        metrics_port=0,
        error=Problem(
            code="ClaimRefused",
            message=f"Its node is not believed: {wrong}.",
            hints=("Look at the node: its agent may be old, misconfigured, or not yours.",),
        ),
    )


def _spelled(address: str) -> str:
    try:
        return host_address(address)
    except ValueError:
        return address
