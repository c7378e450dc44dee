"""The client's calls about capacity: what runs where, what it costs, what a loss would do."""

from collections.abc import Iterable, Mapping
from typing import Any, TypedDict, cast

from shoal.client.administration import Administration, quoted


class Amount(TypedDict):
    total: float
    promised: float
    used: float
    idle: float


class Use(TypedDict):
    replicas: int
    processors: Amount
    memory: Amount
    gpus: Amount
    gpu_memory: Amount


class NodeCapacity(Use):
    name: str
    online: bool
    cordoned: bool
    idle: float
    per_hour: float | None


class ProjectCost(TypedDict):
    project: str
    deployments: int
    replicas: int
    gpus: int
    per_hour: float | None
    per_day: float | None
    unpriced: int


class Capacity(TypedDict):
    nodes: int
    nodes_online: int
    totals: Use
    currency: str
    priced: bool
    projects: list[ProjectCost]


class Headroom(TypedDict):
    times: float | None
    limit: str
    because: str


class DeploymentCapacity(TypedDict):
    endpoint: str
    deployment: str
    project: str
    traffic: int
    replicas: int
    gpus: int
    measured: dict[str, Any] | None
    headroom: Headroom
    cost: dict[str, Any]


class WasteItem(TypedDict):
    code: str
    kind: str
    subject: str
    title: str
    text: str
    change: str


class LabelPrice(TypedDict):
    key: str
    value: str
    per_hour: float


class Prices(TypedDict):
    currency: str
    instance_types: dict[str, float]
    nodes: dict[str, float]
    labels: list[LabelPrice]


class Capacities(Administration):
    """A part of ``Client``."""

    def get_capacity(self) -> Capacity:
        """What all nodes have together, and what projects use and cost."""
        return cast(Capacity, self._get("/capacity"))

    def list_capacity_nodes(self) -> list[NodeCapacity]:
        """The idlest first; needs a role in the installation."""
        return list(self._items("/capacity/nodes"))

    def list_capacity_deployments(self) -> list[DeploymentCapacity]:
        """Each with its busiest hour of the last day, its headroom and its cost."""
        return list(self._items("/capacity/deployments"))

    def list_waste(self) -> list[WasteItem]:
        """What is promised and hardly used, with what to do."""
        return cast("list[WasteItem]", self._get("/capacity/waste")["items"])

    def what_if_lost(self, nodes: Iterable[str]) -> dict[str, Any]:
        """``replicas``, ``deployments`` and ``endpoints`` that the loss of these nodes hits."""
        return cast(dict[str, Any], self._get("/capacity/what-if", lost=list(nodes)))

    def get_room(self, endpoint: str, deployment: str) -> dict[str, Any]:
        """``more``: how many more replicas of it would find a place now."""
        path = f"/endpoints/{quoted(endpoint)}/deployments/{quoted(deployment)}/room"
        return cast(dict[str, Any], self._get(path))

    def get_prices(self) -> Prices:
        return cast(Prices, self._get("/prices"))

    def set_prices(self, prices: Mapping[str, Any]) -> Prices:
        """All of them at once, as ``get_prices`` gives them; needs the role admin."""
        return cast(Prices, self._transport.json("PUT", "/prices", json=dict(prices)))
