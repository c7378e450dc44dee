"""Pure: what is promised and hardly used, with the figures and what to do about it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from controlplane.capacity.facts import Card, DeploymentFacts, NodeFacts, ReplicaFacts
from controlplane.capacity.use import replicas_by_node
from controlplane.deployments.types import size_text

HARDLY: Final = 0.05  # of a GPU's time in its busiest hour
SMALL: Final = 0.25  # of the memory that was asked for
LEAST_BYTES: Final = 2 * 10**9  # that are worth a word
LEAST_S: Final = 3600.0  # that must have been measured, before something counts as unused


@dataclass(frozen=True, slots=True)
class Waste:
    """``code`` is stable; ``kind`` says what ``subject`` names: node or deployment."""

    code: str
    kind: str
    subject: str
    title: str
    text: str
    change: str


def deployments_waste(deployments: Iterable[DeploymentFacts]) -> Iterator[Waste]:
    for one in deployments:
        if not one.replicas or one.measured is None or one.measured.seconds < LEAST_S:
            continue
        count, hours = len(one.replicas), one.measured.seconds / 3600
        if not one.measured.requests and not one.measured.request_rate:
            yield Waste(
                "deployment-unused", "deployment", one.title,
                f"{one.title} answers nobody",
                f"Its {count} replica(s) had no request in the last {hours:.0f} h.",
                "Pause it, or let its autoscaling go to zero replicas.",
            )  # fmt: skip
        elif found := _memory(one):
            yield found


def _memory(one: DeploymentFacts) -> Waste | None:
    used = one.measured.memory_bytes if one.measured else None
    asked = sum(replica.memory_bytes for replica in one.replicas)
    if used is None or asked - used < LEAST_BYTES or used >= SMALL * asked:
        return None
    types = ", ".join(sorted({row.instance_type for row in one.replicas if row.instance_type}))
    return Waste(
        "memory-hardly-used", "deployment", one.title,
        f"{one.title} uses little of the memory that it asks for",
        f"{size_text(int(used))} at most in the last day, of {size_text(asked)} that {types} "
        f"names for its {len(one.replicas)} replica(s).",
        "Give it an instance type that asks for less: it then fits on more nodes.",
    )  # fmt: skip


def nodes_waste(
    nodes: Iterable[NodeFacts],
    replicas: Iterable[ReplicaFacts],
    titles: Mapping[int, str],
) -> Iterator[Waste]:
    """Of nodes that are online. ``titles``: of deployments, by id."""
    here = replicas_by_node(replicas)
    for node in nodes:
        if not node.online:
            continue
        rows = here.get(node.id, [])
        for card in node.cards:
            users = sorted({titles[row.deployment_id] for row in rows if card.uuid in row.gpus})
            if users and (found := _card(node, card, users, rows)):
                yield found
        if not rows:
            has = f"{node.processors} processors, {size_text(node.memory_total_bytes)} of memory"
            gpus = f", {len(node.cards)} GPU(s)" if node.cards else ""
            yield Waste(
                "node-empty", "node", node.name,
                f"Nothing runs on {node.name}", f"It has {has}{gpus}.",
                f"Switch it off, or remove it: shoal node remove {node.name}.",
            )  # fmt: skip


def _card(node: NodeFacts, card: Card, users: list[str], rows: list[ReplicaFacts]) -> Waste | None:
    whose = ", ".join(users)
    if card.peak is not None and card.peak < HARDLY:
        return Waste(
            "gpu-hardly-used", "node", node.name,
            f"A GPU of {node.name} is hardly used",
            f"{card.name} is given to {whose}, and was at work {card.peak:.1%} of its busiest hour "
            "of the last day.",
            "Let the deployments share another GPU, or give them an instance type without one.",
        )  # fmt: skip
    promised = sum(row.gpu_bytes for row in rows if card.uuid in row.gpus)
    promised = min(promised, card.memory_total_bytes)
    if promised - card.memory_used_bytes < LEAST_BYTES:
        return None
    if card.memory_used_bytes >= SMALL * promised:
        return None
    return Waste(
        "gpu-memory-hardly-used", "node", node.name,
        f"Little of a GPU's memory on {node.name} is used",
        f"{size_text(promised)} of {card.name} are counted for {whose}, "
        f"{size_text(card.memory_used_bytes)} are used.",
        "Put more replicas there, or look whether the models compute on the GPU at all.",
    )  # fmt: skip


def emptied(node: NodeFacts, replicas: int) -> Waste:
    """A node whose replicas would all fit elsewhere."""
    return Waste(
        "node-can-be-emptied", "node", node.name,
        f"{node.name} could be emptied",
        f"Its {replicas} replica(s) would fit on other nodes now.",
        f"See where they would go, then drain it: shoal node drain --dry-run {node.name}.",
    )  # fmt: skip
