"""Emptying a node: everything that runs there gets a twin elsewhere first, then goes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from controlplane.core import events
from controlplane.deployments import placement
from controlplane.deployments.models import Deployment, Replica
from controlplane.deployments.services import capacity
from controlplane.deployments.services.candidates import placed
from controlplane.deployments.services.locks import endpoints_lock
from controlplane.deployments.services.replicas import replicas_place, replicas_retire
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState
from controlplane.nodes import services as nodes
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_get
from controlplane.operations.errors import DrainImpossible
from controlplane.operations.services import facts


@dataclass(frozen=True, slots=True)
class Move:
    """What draining would do to one replica: to which node it goes, or why to none."""

    replica: str
    node: str
    endpoint: str
    deployment: str
    ordinal: int
    traffic: int
    to: str | None
    why_not: str
    waits_for: str = ""


@dataclass(frozen=True, slots=True)
class Exodus:
    """What of one deployment has to leave; ``twins`` are those that run elsewhere, by ordinal."""

    deployment: Deployment
    going: tuple[Replica, ...]
    twins: Mapping[int, Replica]

    def departure(self) -> placement.Departure:
        """Those without a twin, whichever nodes they leave, need a new place."""
        wanted = tuple(sorted({row.ordinal for row in self.going} - set(self.twins)))
        need = capacity.need_of(self.deployment, wanted)
        return placement.Departure(capacity.subject_of(self.deployment), need)


def drain_preview(*, names: Iterable[str], now: datetime) -> list[Move]:
    """Where each replica on these nodes would go if they were drained now. Raises NodeNotFound.

    It asks ``placement.relocate``, as the drain itself does, about everything that then leaves:
    what runs on nodes that are drained already is part of it.
    """
    chosen = {node_get(name).pk for name in names}
    leaving = chosen | _drained_ids()
    deployments = _deployments(Replica.objects.filter(node__in=leaving, desired=Desired.RUNNING))
    exoduses = [_exodus(deployment, leaving, now) for deployment in deployments]
    # why those that wait last: until their operation has ended the others take their places
    exoduses.sort(key=lambda exodus: _busy(exodus.deployment))
    fleet = capacity.fleet(now).closed(leaving)
    places, _ = placement.relocate(fleet, [exodus.departure() for exodus in exoduses])
    names_of = {machine.node_id: machine.name for machine in fleet.machines}
    return [
        _move(row, exodus, where, names_of)
        for exodus, where in zip(exoduses, places, strict=True)
        for row in exodus.going
        if row.node_id in chosen
    ]


def _drained_ids() -> set[str]:
    return set(Node.objects.filter(drain_started_at__isnull=False).values_list("pk", flat=True))


def _deployments(replicas: QuerySet[Replica]) -> list[Deployment]:
    """Theirs, in the order in which they are taken away."""
    return list(
        Deployment.objects.filter(pk__in=replicas.values("deployment_id"))
        .select_related("endpoint", "revision__model_version", "revision__instance_type")
        .order_by("pk")
    )


def _busy(deployment: Deployment) -> bool:
    """An operation works on it, which must end before anything of it moves."""
    return deployment.provisioning_state != DeploymentState.SUCCEEDED


def _exodus(deployment: Deployment, leaving: set[str], now: datetime) -> Exodus:
    rows = list(
        deployment.replicas.filter(desired=Desired.RUNNING)
        .select_related("node", "deployment__endpoint")
        .order_by("ordinal", "id")
    )
    staying = [row for row in rows if row.node_id not in leaving]
    # why: what is on a node that fell silent for good holds no place
    lost = {fact.id for fact in facts.replica_facts(staying, now=now) if fact.lost}
    return Exodus(
        deployment,
        going=tuple(row for row in rows if row.node_id in leaving),
        twins={row.ordinal: row for row in staying if row.pk not in lost},
    )


def _move(
    row: Replica, exodus: Exodus, placed: placement.Placement, names: Mapping[str, str]
) -> Move:
    deployment = exodus.deployment
    twin = exodus.twins.get(row.ordinal)
    targets = {ordinal: names[node_id] for ordinal, node_id in placed.assigned}
    to = twin.node.name if twin else targets.get(row.ordinal)
    busy = _busy(deployment)
    return Move(
        replica=row.pk,
        node=row.node.name,
        endpoint=deployment.endpoint.name,
        deployment=deployment.name,
        ordinal=row.ordinal,
        traffic=int(deployment.endpoint.traffic.get(deployment.name, 0)),
        to=to,
        why_not="" if to else placed.why_not() or "There is no other node.",
        waits_for=f"{deployment.name} is {deployment.provisioning_state}" if busy else "",
    )


def nodes_drain(
    *, names: Iterable[str], deadline: timedelta, force: bool, actor: str, now: datetime
) -> list[Move]:
    """Begin to empty nodes; returns what will happen. Raises NodeNotFound, DrainImpossible.

    All or none: nodes that are emptied together are no places for what leaves the others.
    """
    names = list(names)
    with transaction.atomic():
        moves = drain_preview(names=names, now=now)
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
        for name in names:
            nodes.node_drain(name=name, deadline_at=now + deadline, actor=actor, now=now)
    drains_advance(now=now)
    return moves


def drains_advance(*, now: datetime) -> None:
    """Take the next step for everything that runs on nodes that are being drained."""
    leaving = Replica.objects.filter(desired=Desired.RUNNING, node__drain_started_at__isnull=False)
    for deployment in _deployments(leaving):
        if not _busy(deployment):
            _deployment_leave(deployment.pk, now)
    for node in Node.objects.filter(drain_started_at__isnull=False):
        _finished(node, now)


@transaction.atomic
def _deployment_leave(deployment_id: int, now: datetime) -> None:
    # why locked: an operation that begins, or another pass, must not place the same twice
    endpoints_lock(
        Deployment.objects.filter(pk=deployment_id).values_list("endpoint_id", flat=True)
    )
    deployment = (
        Deployment.objects.select_related(
            "endpoint", "revision__model_version", "revision__instance_type"
        )
        .filter(pk=deployment_id, provisioning_state=DeploymentState.SUCCEEDED)
        .first()
    )
    if deployment is None:
        return
    leaving = _drained_ids()
    exodus = _exodus(deployment, leaving, now)
    done = [row for row in exodus.going if _may_go(row, exodus.twins.get(row.ordinal), now)]
    replicas_retire([row.pk for row in done], now)
    for row in done:
        _say(row, "goes" if row.ordinal in exodus.twins else "is stopped: the time to drain is up")
    left = replace(exodus, going=tuple(row for row in exodus.going if row not in done))
    departure = left.departure()
    if departure.need.ordinals:
        found = placed(departure.need, departure.subject, now, leaving=leaving)
        replicas_place(deployment, found.assigned, now)


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
    if not node_replicas_left(node).exists():
        nodes.node_emptied(node=node, now=now)


def node_replicas_left(node: Node) -> QuerySet[Replica]:
    """What is not known to have ended there."""
    ended = [ReplicaState.STOPPED, ReplicaState.FAILED]
    return Replica.objects.filter(node=node).exclude(state__in=ended, desired=Desired.STOPPED)
