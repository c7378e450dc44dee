"""Pure: what replicas cost by the prices that were set.

A replica costs the price of its instance type. One whose type has none costs its share of its
node's price: an equal one of each replica there that has no price of its own. A node's price is
that of its name, else the first whose label it has.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from controlplane.capacity.facts import Measured, NodeFacts, ReplicaFacts
from controlplane.capacity.use import replicas_by_node

HOUR_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class LabelPrice:
    key: str
    value: str
    per_hour: float


@dataclass(frozen=True, slots=True)
class PriceList:
    currency: str = ""
    instance_types: Mapping[str, float] = field(default_factory=dict)
    nodes: Mapping[str, float] = field(default_factory=dict)
    labels: tuple[LabelPrice, ...] = ()

    def of_node(self, node: NodeFacts) -> float | None:
        if node.name in self.nodes:
            return self.nodes[node.name]
        fits = (one.per_hour for one in self.labels if node.labels.get(one.key) == one.value)
        return next(fits, None)

    @property
    def is_set(self) -> bool:
        return bool(self.instance_types or self.nodes or self.labels)


@dataclass(frozen=True, slots=True)
class Cost:
    """``per_hour`` None: nothing of it has a price. ``unpriced``: replicas that have none."""

    per_hour: float | None = None
    unpriced: int = 0
    per_1000_requests: float | None = None

    @property
    def per_day(self) -> float | None:
        return None if self.per_hour is None else self.per_hour * 24


def replica_prices(
    nodes: Iterable[NodeFacts], replicas: Iterable[ReplicaFacts], prices: PriceList
) -> dict[str, float]:
    """Replica -> its price per hour; those that have none are not in it.

    ``replicas`` are all that run on ``nodes``, whoever asks: they share what nodes cost.
    """
    here, found = replicas_by_node(replicas), dict[str, float]()
    for node in nodes:
        rest = []
        for replica in here.get(node.id, []):
            own = prices.instance_types.get(replica.instance_type)
            if own is None:
                rest.append(replica.id)
            else:
                found[replica.id] = own
        whole = prices.of_node(node)
        if whole is not None:
            found |= dict.fromkeys(rest, whole / len(rest)) if rest else {}
    return found


def cost_of(
    replicas: Iterable[ReplicaFacts], price_of: Mapping[str, float], measured: Measured | None
) -> Cost:
    """Of what runs now. By 1,000 requests: as if the same had run as long as they were counted."""
    rows = list(replicas)
    known = [price_of[row.id] for row in rows if row.id in price_of]
    if not known:
        return Cost(None, len(rows))
    per_hour = sum(known)
    per_1000 = None
    if measured is not None and measured.requests:
        per_1000 = per_hour * measured.seconds / HOUR_S / measured.requests * 1000
    return Cost(per_hour, len(rows) - len(known), per_1000)
