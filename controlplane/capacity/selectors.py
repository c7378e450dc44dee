"""Rows made into the facts about what there is room for."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet, Value
from django.db.models.functions import Concat

from controlplane.accounts.scope import scope_now
from controlplane.capacity.cost import LabelPrice, PriceList, replica_prices
from controlplane.capacity.facts import (
    Card,
    DeploymentFacts,
    NodeFacts,
    ReplicaFacts,
    Swept,
)
from controlplane.capacity.loss import Resident
from controlplane.capacity.models import THE_ONE, Prices
from controlplane.capacity.peaks import deployments_measured, nodes_peaks
from controlplane.deployments import placement
from controlplane.deployments.models import Deployment, LoadSweep, Replica
from controlplane.deployments.selectors.runs import plan_of
from controlplane.deployments.selectors.sweeps import last_sweeps, points_of
from controlplane.deployments.services.capacity import needs_of, subject_of
from controlplane.deployments.types import Desired, ReplicaState
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import labels_of, node_list, node_state
from load_client.points import best_within, knee

COLUMNS: Final = ("id", "name", "state", "cordoned", "labels", "info", "last_seen_at")


@dataclass(frozen=True, slots=True)
class Fleet:
    """All nodes and all replicas that shall run, whoever asks: they share what there is."""

    nodes: tuple[NodeFacts, ...]
    replicas: tuple[ReplicaFacts, ...]
    prices: PriceList

    @property
    def price_of(self) -> dict[str, float]:
        return replica_prices(self.nodes, self.replicas, self.prices)


def fleet_now(now: datetime) -> Fleet:
    """In three queries."""
    nodes = tuple(_node(row, now) for row in node_list().only(*COLUMNS))
    return Fleet(nodes, tuple(_replicas()), price_list())


def _node(node: Node, now: datetime) -> NodeFacts:
    info = node.info
    return NodeFacts(
        id=node.id,
        name=node.name,
        online=node_state(node, now) == "online",
        cordoned=node.cordoned,
        processors=int(info.get("cpu_count", 0)),
        cpu=float(info.get("cpu_utilization", 0.0)),
        memory_total_bytes=int(info.get("memory_total_bytes", 0)),
        memory_used_bytes=int(info.get("memory_used_bytes", 0)),
        cards=tuple(_card(data) for data in info.get("gpus", [])),
        labels=labels_of(node),
    )


def _card(data: Mapping[str, Any]) -> Card:
    return Card(
        uuid=data["uuid"],
        name=data["name"],
        memory_total_bytes=int(data["memory_total_bytes"]),
        memory_used_bytes=int(data.get("memory_used_bytes", 0)),
        index=int(data.get("index", 0)),
        utilization=data.get("utilization"),
    )


def _replicas() -> Iterable[ReplicaFacts]:
    # why everything: a node is as full as all projects make it
    rows = Replica.everything.filter(desired=Desired.RUNNING).values_list(
        "id", "node_id", "deployment_id", "ordinal", "state", "gpus",
        "revision__model_version__size", "revision__instance_type__name",
        "revision__instance_type__cpu_count", "revision__instance_type__memory_bytes",
    )  # fmt: skip
    for key, node, deployment, ordinal, state, gpus, size, kind, processors, memory in rows:
        yield ReplicaFacts(
            id=key,
            node_id=node,
            deployment_id=deployment,
            ordinal=ordinal,
            ready=state == ReplicaState.READY,
            gpus=tuple(gpus or ()),
            gpu_bytes=placement.gpu_estimate(size, len(gpus or ())),
            instance_type=kind or "",
            cpu_count=processors or 0,
            memory_bytes=memory or 0,
        )


def price_list() -> PriceList:
    row = Prices.objects.filter(pk=THE_ONE).first()
    if row is None:
        return PriceList()
    labels = tuple(LabelPrice(**one) for one in row.labels)
    return PriceList(row.currency, row.instance_types, row.nodes, labels)


def with_peaks(nodes: Iterable[NodeFacts], now: datetime) -> list[NodeFacts]:
    """The same, with what their busiest hours were."""
    rows = list(nodes)
    most = max((card.index + 1 for node in rows for card in node.cards), default=0)
    peaks = nodes_peaks([node.name for node in rows], most, now.timestamp())
    found = []
    for node in rows:
        peak = peaks.get(node.name)
        if peak is not None:
            cards = tuple(replace(card, peak=peak.gpus[card.index]) for card in node.cards)
            node = replace(node, cpu_peak=peak.cpu, cards=cards)
        found.append(node)
    return found


def deployment_rows(q: str = "") -> QuerySet[Deployment]:
    """Those that the caller may see, with ``q`` in their ``title``, which is endpoint and name."""
    rows = Deployment.objects.select_related("endpoint")
    titled = rows.annotate(title=Concat("endpoint__name", Value("/"), "name"))
    return titled.filter(title__icontains=q)


def deployments_facts(
    rows: Iterable[Deployment], replicas: Iterable[ReplicaFacts], now: datetime | None
) -> list[DeploymentFacts]:
    """With what was measured of them in the last day; ``now`` None: without."""
    of: dict[int, list[ReplicaFacts]] = {}
    for replica in replicas:
        of.setdefault(replica.deployment_id, []).append(replica)
    found = list(rows)
    since = {(row.endpoint.name, row.name): _since(row) for row in found}
    measured = deployments_measured(since, now.timestamp()) if now else {}
    sweeps = last_sweeps([row.pk for row in found]) if now else {}
    return [
        DeploymentFacts(
            id=row.pk,
            endpoint=row.endpoint.name,
            name=row.name,
            project=row.endpoint.project_name,
            traffic=int(row.endpoint.traffic.get(row.name, 0)),
            replicas=tuple(sorted(of.get(row.pk, ()), key=lambda one: (one.ordinal, one.id))),
            max_concurrent=row.max_concurrent_requests_per_instance,
            measured=measured.get((row.endpoint.name, row.name)),
            swept=_swept(sweeps[row.pk]) if row.pk in sweeps else None,
        )
        for row in found
    ]


def _swept(row: LoadSweep) -> Swept | None:
    """The most within its objective; of a sweep without one, at the knee."""
    plan, points = plan_of(row), points_of(row)
    if plan.slo_percentile:
        best = best_within(points, plan.slo_percentile, plan.slo_us)
        where = f"within p{plan.slo_percentile} ≤ {plan.slo_us / 1000:g} ms"
    else:
        best, where = knee(points), "at its knee"
    if best is None:
        return None
    return Swept(rate=best.throughput, point=where, when=f"{row.created_at:%Y-%m-%d}")


def _since(row: Deployment) -> float:
    """Figures are kept by name, and another project may have had an endpoint of this one."""
    return row.created_at.timestamp()


def residents_on(node_ids: Collection[str], fleet: Fleet, now: datetime) -> list[Resident]:
    """Every deployment with a replica on one of these nodes, as placement sees it; in the order in
    which a drain takes them."""
    wanted = {row.deployment_id for row in fleet.replicas if row.node_id in node_ids}
    rows = list(
        Deployment.objects.filter(pk__in=wanted)
        .select_related("endpoint", "revision__model_version", "revision__instance_type")
        .order_by("pk")
    )
    needs = needs_of(rows, now)
    facts = deployments_facts(rows, fleet.replicas, None)
    return [
        Resident(one, subject_of(row), needs[row.pk]) for row, one in zip(rows, facts, strict=True)
    ]


def projects_of() -> dict[int, str]:
    """Deployment -> its project, of those that the caller may see."""
    return dict(Deployment.objects.values_list("pk", "endpoint__project_id"))


def titles_of() -> dict[int, str]:
    rows = Deployment.objects.values_list("pk", "endpoint__name", "name")
    return {pk: f"{endpoint}/{name}" for pk, endpoint, name in rows}


def of_installation() -> bool:
    """Whether who asks may see all projects, and with them nodes."""
    return scope_now() is None
