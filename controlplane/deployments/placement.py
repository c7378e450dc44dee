"""Pure: which node runs which replica, and why each other node does not."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from controlplane.deployments.types import size_text

# Triton names that every runtime brings along: they only combine other models.
BUILT_IN: Final = frozenset({"", "ensemble"})


@dataclass(frozen=True, slots=True)
class Offer:
    """What one node has to give. Sizes in bytes; 0 where the node did not say."""

    node_id: str
    name: str
    state: str  # by age of its last report: online, suspect or offline
    age_s: float | None
    cordoned: bool
    backends: frozenset[str]  # empty: the node did not say
    disk_total_bytes: int
    disk_free_bytes: int
    cache_bytes: int  # can be freed, or holds the model already
    replicas: int  # running there, of all deployments
    siblings: int  # of them, of this deployment
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Need:
    ordinals: tuple[int, ...]
    backends: frozenset[str]
    size_bytes: int  # of the model repository
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Refusal:
    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What placement thinks of one node: why not, or how good a place it is (1 is the best)."""

    node: str
    reason: str | None
    rank: int | None
    because: str


@dataclass(frozen=True, slots=True)
class Placement:
    assigned: tuple[tuple[int, str], ...] = ()  # ordinal, node id
    unplaced: tuple[int, ...] = ()
    refusals: tuple[Refusal, ...] = ()

    def why_not(self) -> str:
        if not self.refusals:
            return "No node has joined yet."
        return "\n".join(f"{refusal.node}: {refusal.reason}" for refusal in self.refusals)


def refusal(need: Need, offer: Offer) -> str | None:
    """Why this node cannot take a replica; None when it can."""
    if offer.state != "online":
        heard = "never reported" if offer.age_s is None else f"last report {offer.age_s:.0f} s ago"
        return f"{offer.state} ({heard})"
    if offer.cordoned:
        return "cordoned: it takes no new replicas"
    lacking = [f"{k}={v}" for k, v in sorted(need.labels.items()) if offer.labels.get(k) != v]
    if lacking:
        return f"has no label {', '.join(lacking)}"
    missing = need.backends - BUILT_IN - offer.backends
    if offer.backends and missing:
        return f"has no backend {', '.join(sorted(missing))}"
    room = offer.disk_free_bytes + offer.cache_bytes
    if offer.disk_total_bytes and room < need.size_bytes:
        return f"{size_text(room)} of disk are free, the model has {size_text(need.size_bytes)}"
    return None


def place(need: Need, offers: list[Offer]) -> Placement:
    """Spread the replicas: first over nodes without a sibling, then over the emptiest ones.

    Deterministic; a node may take several.
    """
    refusals = tuple(
        Refusal(offer.name, reason) for offer in offers if (reason := refusal(need, offer))
    )
    fit = [offer for offer in offers if refusal(need, offer) is None]
    if not fit:
        return Placement(unplaced=need.ordinals, refusals=refusals)
    given: Counter[str] = Counter()
    assigned = []
    for ordinal in sorted(need.ordinals):
        chosen = min(fit, key=lambda offer: _rank(offer, given[offer.node_id]))
        given[chosen.node_id] += 1
        assigned.append((ordinal, chosen.node_id))
    return Placement(assigned=tuple(assigned), refusals=refusals)


def explain(need: Need, offers: list[Offer]) -> list[Verdict]:
    """Every node with its verdict for one more replica, the best place first."""
    fit = sorted(
        (offer for offer in offers if refusal(need, offer) is None),
        key=lambda offer: _rank(offer, 0),
    )
    found = [
        Verdict(
            offer.name,
            None,
            rank,
            f"{offer.siblings} of this deployment and {offer.replicas} in all run there, "
            f"{size_text(offer.disk_free_bytes)} of disk are free",
        )
        for rank, offer in enumerate(fit, start=1)
    ]
    for offer in offers:
        reason = refusal(need, offer)
        if reason is not None:
            found.append(Verdict(offer.name, reason, None, reason))
    return found


def _rank(offer: Offer, given: int) -> tuple[int, int, int, str]:
    return (
        offer.siblings + given,
        offer.replicas + given,
        -offer.disk_free_bytes,
        offer.name,
    )
