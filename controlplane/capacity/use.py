"""Pure: what every node has, what of it is promised to replicas, and what is used."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controlplane.capacity.facts import NodeFacts, ReplicaFacts


@dataclass(frozen=True, slots=True)
class Amount:
    """Of one thing. ``promised``: what replicas were given, or what their instance types name."""

    total: float = 0.0
    promised: float = 0.0
    used: float = 0.0

    @property
    def idle(self) -> float:
        """Neither promised nor used."""
        return max(0.0, self.total - max(self.promised, self.used))

    @property
    def idle_share(self) -> float:
        return self.idle / self.total if self.total else 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.total + other.total, self.promised + other.promised, self.used + other.used
        )


@dataclass(frozen=True, slots=True)
class Use:
    """``gpus`` counts cards: promised are those that a replica was given, used is the sum of their
    utilization."""

    replicas: int = 0
    processors: Amount = Amount()
    memory: Amount = Amount()
    gpus: Amount = Amount()
    gpu_memory: Amount = Amount()

    @property
    def idle(self) -> float:
        """Share of the node that nobody has: of its GPUs, of its processors where it has none."""
        if self.gpus.total:
            return min(self.gpus.idle_share, self.gpu_memory.idle_share)
        return min(self.processors.idle_share, self.memory.idle_share)

    def __add__(self, other: "Use") -> "Use":
        return Use(
            self.replicas + other.replicas,
            self.processors + other.processors,
            self.memory + other.memory,
            self.gpus + other.gpus,
            self.gpu_memory + other.gpu_memory,
        )


@dataclass(frozen=True, slots=True)
class NodeUse:
    node: NodeFacts
    use: Use


def replicas_by_node(replicas: Iterable[ReplicaFacts]) -> dict[str, list[ReplicaFacts]]:
    found: dict[str, list[ReplicaFacts]] = {}
    for replica in replicas:
        found.setdefault(replica.node_id, []).append(replica)
    return found


def node_uses(nodes: Iterable[NodeFacts], replicas: Iterable[ReplicaFacts]) -> list[NodeUse]:
    """The idlest first; nodes that are not heard of have nothing to give and come last."""
    here = replicas_by_node(replicas)
    return sorted(
        (NodeUse(node, _use(node, here.get(node.id, []))) for node in nodes), key=place_of
    )


def place_of(one: NodeUse) -> tuple[str, ...]:
    """Its place among all, in words: what a cursor is made of."""
    return (
        "0" if one.node.online else "1",
        f"{1 - one.use.idle:.6f}",
        f"{one.use.replicas:06}",
        one.node.name,
    )


def totals(uses: Iterable[NodeUse]) -> Use:
    """Of the nodes that are online."""
    return sum((one.use for one in uses if one.node.online), Use())


def _use(node: NodeFacts, here: Sequence[ReplicaFacts]) -> Use:
    given = {uuid for replica in here for uuid in replica.gpus}
    own = [card for card in node.cards if card.uuid in given]
    bytes_of = {
        card.uuid: min(
            card.memory_total_bytes,
            sum(replica.gpu_bytes for replica in here if card.uuid in replica.gpus),
        )
        for card in own
    }
    return Use(
        replicas=len(here),
        processors=Amount(
            node.processors,
            sum(replica.cpu_count for replica in here),
            node.cpu * node.processors,
        ),
        memory=Amount(
            node.memory_total_bytes,
            sum(replica.memory_bytes for replica in here),
            node.memory_used_bytes,
        ),
        gpus=Amount(len(node.cards), len(own), sum(card.utilization or 0.0 for card in node.cards)),
        gpu_memory=Amount(
            sum(card.memory_total_bytes for card in node.cards),
            sum(bytes_of.values()),
            sum(card.memory_used_bytes for card in node.cards),
        ),
    )
