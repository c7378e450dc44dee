"""Pure: what every node has, what of it is promised to replicas, and what is used."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from controlplane.capacity.facts import Card, NodeFacts, ReplicaFacts


@dataclass(frozen=True, slots=True)
class Amount:
    """Of one thing. ``promised``: what replicas were given, or what their instance types name;
    ``idle``: neither promised nor used. Of several machines the idle parts are added up: what is
    promised here and not used does not make up for what is used there and not promised."""

    total: float = 0.0
    promised: float = 0.0
    used: float = 0.0
    idle: float = 0.0

    @classmethod
    def of(cls, total: float, promised: float, used: float) -> Self:
        """Of one machine, or of one card."""
        return cls(total, promised, used, max(0.0, total - max(promised, used)))

    @property
    def idle_share(self) -> float:
        return self.idle / self.total if self.total else 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(
            self.total + other.total,
            self.promised + other.promised,
            self.used + other.used,
            self.idle + other.idle,
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
    return Use(
        replicas=len(here),
        processors=Amount.of(
            node.processors,
            sum(replica.cpu_count for replica in here),
            node.cpu * node.processors,
        ),
        memory=Amount.of(
            node.memory_total_bytes,
            sum(replica.memory_bytes for replica in here),
            node.memory_used_bytes,
        ),
        gpus=sum((_card(card, here) for card in node.cards), Amount()),
        gpu_memory=sum((_card_memory(card, here) for card in node.cards), Amount()),
    )


def _card(card: Card, here: Sequence[ReplicaFacts]) -> Amount:
    given = any(card.uuid in replica.gpus for replica in here)
    return Amount.of(1.0, float(given), card.utilization or 0.0)


def _card_memory(card: Card, here: Sequence[ReplicaFacts]) -> Amount:
    total = card.memory_total_bytes
    promised = sum(replica.gpu_bytes for replica in here if card.uuid in replica.gpus)
    return Amount.of(total, min(total, promised), card.memory_used_bytes)
