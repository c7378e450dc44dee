"""Replica rows: placed, stopped, started anew, forgotten.

Each also moves the numbers that tell others: the desired generation of the nodes, and the
generation of the endpoint.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, OuterRef, Q, Subquery

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.services.capacity import avoided, gpus_give
from controlplane.deployments.services.generations import endpoint_generation_raise
from controlplane.deployments.services.locks import endpoints_lock
from controlplane.deployments.states import DESIRED, REPLICAS, DesiredCause, ReplicaCause
from controlplane.deployments.types import Desired, ReplicaState
from controlplane.nodes.models import Node
from controlplane.nodes.services import node_generation_raise

RETIRE_TIMEOUT: Final = timedelta(seconds=10)  # a dead gateway holds up nothing


def replicas_place(
    deployment: Deployment,
    assigned: Iterable[tuple[int, str]],
    now: datetime,
    *,
    avoid: Iterable[str] = (),
    replaces: str = "",
    held_out: bool = False,
) -> list[Replica]:
    """New rows, one per (ordinal, node id), with the GPUs that are theirs.

    ``held_out``: they get no requests before ``replicas_admit``."""
    rows, told = replicas_write(
        deployment, assigned, now, avoid=avoid, replaces=replaces, held_out=held_out
    )
    events.record_all(told)
    return rows


def replicas_write(
    deployment: Deployment,
    assigned: Iterable[tuple[int, str]],
    now: datetime,
    *,
    avoid: Iterable[str] = (),
    replaces: str = "",
    held_out: bool = False,
) -> tuple[list[Replica], list[Event]]:
    """As ``replicas_place``, for who has more to record: the events are the caller's to write."""
    pairs, avoid = list(assigned), list(avoid)
    if not pairs:
        return [], []
    gpus = gpus_give(deployment, [node_id for _, node_id in pairs], now, avoid)
    nodes = {node_id for _, node_id in pairs}
    node_generation_raise(nodes)
    told = Node.objects.in_bulk(nodes)
    rows = [
        Replica(
            id=secrets.token_hex(8),
            deployment=deployment,
            ordinal=ordinal,
            node=told[node_id],
            node_generation=told[node_id].desired_generation,
            revision_id=deployment.revision_id,
            state_since=now,
            gpus=given,
            avoid=avoid,
            replaces=replaces,
            held_out=held_out,
        )
        for (ordinal, node_id), given in zip(pairs, gpus, strict=True)
    ]
    Replica.objects.bulk_create(rows)
    placed = [
        _event(
            deployment,
            "replica.placed",
            f"Replica {row.ordinal} of {deployment.name} goes to node {row.node.name}",
            row,
        )
        for row in rows
    ]
    return rows, placed


def replicas_admit(replica_ids: Iterable[str]) -> None:
    """They get their part of the requests from now on, if they did not before."""
    rows = Replica.objects.filter(pk__in=list(replica_ids), held_out=True)
    endpoints = list(rows.values_list("deployment__endpoint_id", flat=True).distinct())
    if not endpoints:
        return
    rows.update(held_out=False)
    endpoint_generation_raise(endpoints)


@transaction.atomic(savepoint=False)
def replicas_retire(replica_ids: Iterable[str], now: datetime) -> None:
    """No longer wanted: gateways hear of it first, and once they have confirmed, the nodes.

    What does not answer yet is stopped at once.
    """
    rows = list(
        Replica.objects.filter(pk__in=list(replica_ids), desired=Desired.RUNNING).select_related(
            "deployment"
        )
    )
    answering = [row for row in rows if row.state == ReplicaState.READY]
    replicas_stop([row.pk for row in rows if row not in answering])
    endpoints = {row.deployment.endpoint_id for row in answering}
    endpoint_generation_raise(endpoints)
    for endpoint in Endpoint.objects.filter(pk__in=endpoints):
        ids = [row.pk for row in answering if row.deployment.endpoint_id == endpoint.pk]
        DESIRED.write(
            Replica.objects.filter(pk__in=ids),
            DesiredCause.RETIRE,
            retire_generation=endpoint.generation,
            retire_since=now,
        )


@transaction.atomic
def retirements_end(now: datetime) -> None:
    """Stop what gateways have confirmed to leave alone, or have been silent about for too long."""
    rows = Replica.objects.filter(desired=Desired.RETIRING).filter(_left_alone(now))
    found = dict(rows.values_list("pk", "deployment__endpoint_id"))
    endpoints_lock(found.values())
    replicas_stop(found)


def _left_alone(now: datetime) -> Q:
    """By gateways: they have confirmed it, or have been silent for too long."""
    confirmed = Q(deployment__endpoint__confirmed_generation__gte=F("retire_generation"))
    return confirmed | Q(retire_since__lte=now - RETIRE_TIMEOUT)


def replicas_stop(replica_ids: Iterable[str]) -> None:
    """No longer wanted: their nodes drain and stop them, gateways send them nothing new."""
    ids = list(replica_ids)
    rows = list(Replica.objects.filter(pk__in=ids).exclude(desired=Desired.STOPPED))
    DESIRED.write(Replica.objects.filter(pk__in=[row.id for row in rows]), DesiredCause.STOP)
    _tell_nodes(row.id for row in rows)
    endpoint_generation_raise(endpoint_ids_of(row.id for row in rows))


def replica_move(deployment: Deployment, replica_id: str, node_id: str, now: datetime) -> None:
    """A twin elsewhere; what does not serve goes at once, what does when the twin is ready."""
    row = Replica.objects.get(pk=replica_id)
    serves = row.state == ReplicaState.READY
    if not serves:
        replicas_stop([row.pk])
    replicas_place(
        deployment,
        [(row.ordinal, node_id)],
        now,
        avoid=avoided(row),
        replaces=row.pk if serves else row.replaces,
    )


@transaction.atomic(savepoint=False)
def replicas_rest(replica_ids: Iterable[str], now: datetime) -> None:
    """Take traffic away from those that serve; ``rests_end`` starts them again."""
    rows = Replica.objects.filter(
        pk__in=list(replica_ids), desired=Desired.RUNNING, retire_generation=None
    )
    pairs = list(rows.values_list("pk", "deployment__endpoint_id"))
    endpoint_generation_raise(endpoint_id for _, endpoint_id in pairs)
    for replica_id, endpoint_id in pairs:
        generation = Endpoint.objects.values_list("generation", flat=True).get(pk=endpoint_id)
        Replica.objects.filter(pk=replica_id).update(retire_generation=generation, retire_since=now)


def rests_end(now: datetime) -> None:
    """Start again what gateways have confirmed to leave alone, or were silent about too long."""
    rows = Replica.objects.filter(desired=Desired.RUNNING, retire_generation__isnull=False).filter(
        _left_alone(now)
    )
    for row in rows.select_related("deployment__endpoint"):
        with transaction.atomic():
            endpoints_lock([row.deployment.endpoint_id])
            if row.state == ReplicaState.READY:
                replicas_restart(row.deployment, [row.pk], now)
            else:  # it has come to harm meanwhile, and comes up again by itself
                Replica.objects.filter(pk=row.pk).update(retire_generation=None, retire_since=None)
                endpoint_generation_raise([row.deployment.endpoint_id])


@transaction.atomic(savepoint=False)
def replicas_restart(deployment: Deployment, replica_ids: Iterable[str], now: datetime) -> None:
    """A new generation: the agent ends what runs at the old one, if anything, and starts afresh."""
    ids = list(replica_ids)
    for row in Replica.objects.filter(pk__in=ids, desired=Desired.RUNNING):
        serves = row.state == ReplicaState.READY
        out_of_memory = serves and row.error is not None
        if serves:
            endpoint_generation_raise([deployment.endpoint_id])
        REPLICAS.write(
            Replica.objects.filter(pk=row.pk, generation=row.generation),
            ReplicaCause.RESTART,
            generation=F("generation") + 1,
            attempts=F("attempts") + 1,
            state_since=now,
            observed={},
            retire_generation=None,
            retire_since=None,
            relieved_at=now if out_of_memory else row.relieved_at,
        )
        why = f": {row.error['message']}" if out_of_memory and row.error else ""
        restarted = _event(
            deployment,
            "replica.restarted",
            f"Replica {row.ordinal} of {deployment.name} is started again{why}",
            row,
            Event.Severity.WARNING if out_of_memory else Event.Severity.INFO,
        )
        events.record_all([restarted])
    _tell_nodes(ids)


@transaction.atomic(savepoint=False)
def replicas_remove(replica_ids: Iterable[str]) -> None:
    """Forget rows. A node that still runs one finds it undesired and stops it."""
    ids = list(replica_ids)
    endpoint_generation_raise(endpoint_ids_of(ids))
    _tell_nodes(ids)
    Replica.objects.filter(pk__in=ids).delete()


def endpoint_ids_of(replica_ids: Iterable[str]) -> list[int]:
    return list(
        Replica.objects.filter(pk__in=list(replica_ids))
        .values_list("deployment__endpoint_id", flat=True)
        .distinct()
    )


def _tell_nodes(replica_ids: Iterable[str]) -> None:
    rows = Replica.objects.filter(pk__in=list(replica_ids))
    node_generation_raise(rows.values_list("node_id", flat=True).distinct())
    theirs = Node.objects.filter(pk=OuterRef("node_id")).values("desired_generation")
    rows.update(node_generation=Subquery(theirs))


def _event(
    deployment: Deployment,
    verb: str,
    message: str,
    replica: Replica,
    severity: Event.Severity = Event.Severity.INFO,
) -> Event:
    return Event(
        actor="system",
        verb=verb,
        subject=f"endpoint/{deployment.endpoint.name}",
        message=message,
        severity=severity,
        data={"deployment": deployment.name, "replica": replica.id, "node": replica.node_id},
    )
