"""Emptying a node: everything that runs there gets a twin elsewhere first, then goes."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments import placement
from controlplane.deployments.errors import DrainImpossible
from controlplane.deployments.models import Deployment, Replica
from controlplane.deployments.services import capacity, facts
from controlplane.deployments.services.replicas import replicas_place, replicas_retire
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState
from controlplane.nodes import services as nodes
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_get


@dataclass(frozen=True, slots=True)
class Move:
    """What draining would do to one replica: to which node it goes, or why to none."""

    replica: str
    endpoint: str
    deployment: str
    ordinal: int
    traffic: int
    to: str | None
    why_not: str


def drain_preview(*, name: str, now: datetime) -> list[Move]:
    """Where each replica on the node would go. Raises NodeNotFound."""
    node = node_get(name)
    rows = (
        Replica.objects.filter(node=node, desired=Desired.RUNNING)
        .select_related(
            "deployment__endpoint", "deployment__model_version", "deployment__instance_type"
        )
        .order_by("deployment_id", "ordinal")
    )
    by_deployment: dict[int, list[Replica]] = {}
    for row in rows:
        by_deployment.setdefault(row.deployment_id, []).append(row)
    return [move for found in by_deployment.values() for move in _moves(node, found, now)]


def _moves(node: Node, rows: list[Replica], now: datetime) -> list[Move]:
    deployment = rows[0].deployment
    offers = [offer for offer in capacity.offers(deployment, now) if offer.node_id != node.id]
    need = capacity.need_of(deployment, tuple(sorted({row.ordinal for row in rows})))
    placed = placement.place(need, offers)
    names = {offer.node_id: offer.name for offer in offers}
    targets = {ordinal: names[node_id] for ordinal, node_id in placed.assigned}
    return [
        Move(
            replica=row.pk,
            endpoint=deployment.endpoint.name,
            deployment=deployment.name,
            ordinal=row.ordinal,
            traffic=int(deployment.endpoint.traffic.get(deployment.name, 0)),
            to=targets.get(row.ordinal),
            why_not="" if row.ordinal in targets else placed.why_not() or "There is no other node.",
        )
        for row in rows
    ]


def node_drain(
    *, name: str, deadline: timedelta, force: bool, actor: str, now: datetime
) -> list[Move]:
    """Begin to empty a node; returns what will happen. Raises NodeNotFound, DrainImpossible."""
    moves = drain_preview(name=name, now=now)
    stuck = [move for move in moves if move.to is None]
    if stuck and not force:
        raise DrainImpossible(
            f"{len(stuck)} of {len(moves)} replica(s) have nowhere to go.",
            hints=(
                "Add a node, or stop these deployments.",
                "With force they are stopped when the time is up.",
            ),
            extra={
                "stuck": [
                    {"deployment": f"{m.endpoint}/{m.deployment}", "why_not": m.why_not}
                    for m in stuck
                ]
            },
        )
    nodes.node_drain(name=name, deadline_at=now + deadline, actor=actor, now=now)
    drains_advance(now=now)
    return moves


def drains_advance(*, now: datetime) -> None:
    """Take the next step for everything that runs on nodes that are being drained."""
    leaving = Replica.objects.filter(
        desired=Desired.RUNNING,
        node__drain_started_at__isnull=False,
        deployment__provisioning_state=DeploymentState.SUCCEEDED,
    )
    for deployment_id in sorted(set(leaving.values_list("deployment_id", flat=True))):
        _deployment_leave(deployment_id, now)
    for node in Node.objects.filter(drain_started_at__isnull=False):
        _finished(node, now)


@transaction.atomic
def _deployment_leave(deployment_id: int, now: datetime) -> None:
    # why locked: an operation that begins, or another pass, must not place the same twice
    deployment = (
        Deployment.objects.select_for_update(of=("self",))
        .select_related("endpoint", "model_version", "instance_type")
        .filter(pk=deployment_id, provisioning_state=DeploymentState.SUCCEEDED)
        .first()
    )
    if deployment is None:
        return
    rows = list(
        deployment.replicas.filter(desired=Desired.RUNNING)
        .select_related("node")
        .order_by("ordinal", "id")
    )
    staying = [row for row in rows if row.node.drain_started_at is None]
    twins = {row.ordinal: row for row in staying}
    going = [row for row in rows if row.node.drain_started_at is not None]
    done = [row for row in going if _may_go(row, twins.get(row.ordinal), now)]
    replicas_retire([row.pk for row in done], now)
    for row in done:
        _say(row, "goes" if row.ordinal in twins else "is stopped: the time to drain is up")
    chosen = capacity.choose(deployment, facts.replica_facts(staying, now=now), now)
    wanted = {row.ordinal for row in going if row not in done}
    replicas_place(deployment, [pair for pair in chosen.assigned if pair[0] in wanted], now)


def _may_go(row: Replica, twin: Replica | None, now: datetime) -> bool:
    if twin is not None and twin.state == ReplicaState.READY:
        return True
    deadline = row.node.drain_deadline_at
    return deadline is not None and now >= deadline


def _say(row: Replica, words: str) -> None:
    deployment = row.deployment
    events.record(
        actor="system",
        verb="replica.drained",
        subject=f"endpoint/{deployment.endpoint.name}",
        message=f"Replica {row.ordinal} of {deployment.name} on {row.node.name} {words}",
        data={"deployment": deployment.name, "replica": row.pk, "node": row.node.name},
    )


@transaction.atomic
def _finished(node: Node, now: datetime) -> None:
    """Once nothing is left, the deadline is taken away: that is how it is known to be empty."""
    left = Replica.objects.filter(node=node).exclude(
        state__in=[ReplicaState.STOPPED, ReplicaState.FAILED], desired=Desired.STOPPED
    )
    if left.exists():
        return
    ended = Node.objects.filter(
        pk=node.pk, drain_started_at__isnull=False, drain_deadline_at__isnull=False
    ).update(drain_deadline_at=None)
    if ended:
        events.record(
            actor="system",
            verb="node.drained",
            subject=f"node/{node.name}",
            message=f"Node {node.name} is empty",
            severity=Event.Severity.INFO,
            data={"seconds": round((now - (node.drain_started_at or now)).total_seconds())},
        )
