"""What is told of the fleet: facts put together with what they mean."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from controlplane.capacity.cost import Cost, cost_of
from controlplane.capacity.facts import DeploymentFacts, NodeFacts, ReplicaFacts
from controlplane.capacity.headroom import headroom
from controlplane.capacity.loss import Loss, can_be_emptied, nodes_lost, reasons_of
from controlplane.capacity.selectors import (
    Fleet,
    deployment_rows,
    deployments_facts,
    fleet_now,
    of_installation,
    projects_of,
    residents_on,
    titles_of,
    with_peaks,
)
from controlplane.capacity.use import NodeUse, Use, node_uses, replicas_by_node, totals
from controlplane.capacity.waste import Waste, deployments_waste, emptied, nodes_waste
from controlplane.deployments import placement
from controlplane.deployments.models import Deployment
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.services import capacity

MOST_TRIED: Final = 100  # replicas, when somebody asks how many more would fit
MOST_LOOKED_AT: Final = 8  # nodes of which placement is asked whether they could be emptied
Shown = dict[str, Any]


def glance(now: datetime) -> Shown:
    fleet = fleet_now(now)
    uses = node_uses(fleet.nodes, fleet.replicas)
    return {
        "nodes": len(fleet.nodes),
        "nodes_online": sum(node.online for node in fleet.nodes),
        "totals": use_shown(totals(uses)),
        "currency": fleet.prices.currency,
        "priced": fleet.prices.is_set,
        "projects": _projects(fleet),
    }


def _projects(fleet: Fleet) -> list[Shown]:
    projects, price_of = projects_of(), fleet.price_of
    names = sorted(set(projects.values()))
    rows: dict[str, list[ReplicaFacts]] = {name: [] for name in names}
    for replica in fleet.replicas:
        if replica.deployment_id in projects:
            rows[projects[replica.deployment_id]].append(replica)
    return [
        {
            "project": name,
            "deployments": sum(project == name for project in projects.values()),
            "replicas": len(rows[name]),
            "gpus": sum(len(row.gpus) for row in rows[name]),
            **cost_shown(cost_of(rows[name], price_of, None)),
        }
        for name in names
    ]


def use_shown(use: Use) -> Shown:
    amounts = ("processors", "memory", "gpus", "gpu_memory")
    return {"replicas": use.replicas} | {name: getattr(use, name) for name in amounts}


def cost_shown(cost: Cost) -> Shown:
    return {"per_hour": cost.per_hour, "per_day": cost.per_day, "unpriced": cost.unpriced}


def node_shown(one: NodeUse, fleet: Fleet) -> Shown:
    return {
        "node": one.node,
        "idle": one.use.idle,
        "per_hour": fleet.prices.of_node(one.node),
        **use_shown(one.use),
    }


def deployments_shown(rows: list[Deployment], now: datetime) -> list[Shown]:
    fleet = fleet_now(now)
    facts = deployments_facts(rows, fleet.replicas, now)
    hosts = {replica.node_id for one in facts for replica in one.replicas}
    nodes = {
        node.id: node
        for node in with_peaks((node for node in fleet.nodes if node.id in hosts), now)
    }
    price_of = fleet.price_of
    return [_deployment(one, nodes, price_of) for one in facts]


def _deployment(
    one: DeploymentFacts, nodes: Mapping[str, NodeFacts], price_of: Mapping[str, float]
) -> Shown:
    cost = cost_of(one.replicas, price_of, one.measured)
    return {
        "endpoint": one.endpoint,
        "name": one.name,
        "project": one.project,
        "traffic": one.traffic,
        "replicas": len(one.replicas),
        "gpus": sum(len(row.gpus) for row in one.replicas),
        "measured": one.measured,
        "headroom": headroom(one, nodes),
        "cost": {**cost_shown(cost), "per_1000_requests": cost.per_1000_requests},
    }


def waste_shown(now: datetime) -> Shown:
    """What is promised and hardly used. Of nodes only for who may see all projects."""
    fleet = fleet_now(now)
    facts = deployments_facts(
        deployment_rows().order_by("endpoint__name", "name"), fleet.replicas, now
    )
    found = list(deployments_waste(facts))
    looked_at = 0
    if of_installation():
        nodes = with_peaks(fleet.nodes, now)
        found += nodes_waste(nodes, fleet.replicas, titles_of())
        candidates = _candidates(fleet)
        looked_at = len(candidates)
        found += _emptied(fleet, candidates, now)
    return {"items": found, "looked_at": looked_at}


def _candidates(fleet: Fleet) -> list[NodeFacts]:
    """Open nodes, those with the fewest replicas first."""
    count = {node_id: len(rows) for node_id, rows in replicas_by_node(fleet.replicas).items()}
    open_to = [n for n in fleet.nodes if n.online and not n.cordoned and count.get(n.id)]
    return sorted(open_to, key=lambda node: (count[node.id], node.name))[:MOST_LOOKED_AT]


def _emptied(fleet: Fleet, nodes: list[NodeFacts], now: datetime) -> list[Waste]:
    residents = residents_on({node.id for node in nodes}, fleet, now)
    placed = capacity.fleet(now)
    here = replicas_by_node(fleet.replicas)
    return [
        emptied(node, len(here[node.id]))
        for node in nodes
        if can_be_emptied(placed, node.id, residents)
    ]


def loss_shown(lost: Mapping[str, str], now: datetime) -> Loss:
    """``lost``: id -> name of the nodes that are gone."""
    fleet = fleet_now(now)
    return nodes_lost(capacity.fleet(now), set(lost), residents_on(set(lost), fleet, now))


def room_shown(endpoint: str, name: str, now: datetime) -> Shown:
    """How many more replicas would find a place. Raises EndpointNotFound, DeploymentNotFound."""
    row = deployment_get(endpoint, name)
    first = row.instance_count
    need = capacity.need_of(row, tuple(range(first, first + MOST_TRIED)))
    fleet = capacity.fleet(now)
    offers = placement.offers_of(fleet, capacity.subject_of(row))
    found = placement.place(need, offers)
    names = {machine.node_id: machine.name for machine in fleet.machines}
    counts: dict[str, int] = {}
    for _, node_id in found.assigned:
        counts[names[node_id]] = counts.get(names[node_id], 0) + 1
    return {
        "more": len(found.assigned),
        "at_least": not found.unplaced,
        "nodes": [{"node": node, "replicas": count} for node, count in sorted(counts.items())],
        "reasons": reasons_of(found.refusals),
        "note": capacity.crowding(first + len(found.assigned)),
    }
