"""Replica rows: placed, stopped, started anew, forgotten.

Each also moves the numbers that tell others: the desired generation of the nodes, and the
generation of the endpoint.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from django.db.models import F, Q
from django.utils import timezone

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.services.capacity import gpus_give
from controlplane.deployments.types import Desired, ReplicaState
from controlplane.nodes.services import node_generation_raise

RETIRE_PATIENCE: Final = timedelta(seconds=10)  # a dead gateway holds up nothing


def endpoint_generation_raise(endpoint_ids: Iterable[int]) -> None:
    """Something that gateways must know has changed."""
    Endpoint.objects.filter(pk__in=set(endpoint_ids)).update(
        generation=F("generation") + 1, updated_at=timezone.now()
    )


def replicas_place(
    deployment: Deployment, assigned: Iterable[tuple[int, str]], now: datetime
) -> list[str]:
    """New rows, one per (ordinal, node id), with the GPUs that are theirs; returns their ids."""
    pairs = list(assigned)
    gpus = gpus_give(deployment, [node_id for _, node_id in pairs], now)
    rows = [
        Replica(
            id=secrets.token_hex(8),
            deployment=deployment,
            ordinal=ordinal,
            node_id=node_id,
            revision_id=deployment.revision_id,
            state_since=now,
            gpus=given,
        )
        for (ordinal, node_id), given in zip(pairs, gpus, strict=True)
    ]
    Replica.objects.bulk_create(rows)
    _tell_nodes(row.id for row in rows)
    for row in Replica.objects.filter(pk__in=[row.id for row in rows]).select_related("node"):
        _record(
            deployment,
            "replica.placed",
            f"Replica {row.ordinal} of {deployment.name} goes to node {row.node.name}",
            row,
        )
    return [row.id for row in rows]


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
        Replica.objects.filter(pk__in=ids, desired=Desired.RUNNING).update(
            desired=Desired.RETIRING, retire_generation=endpoint.generation, retire_since=now
        )


def retirements_end(now: datetime) -> None:
    """Stop what gateways have confirmed to leave alone, or have been silent about for too long."""
    rows = Replica.objects.filter(desired=Desired.RETIRING).filter(
        Q(deployment__endpoint__confirmed_generation__gte=F("retire_generation"))
        | Q(retire_since__lte=now - RETIRE_PATIENCE)
    )
    replicas_stop(list(rows.values_list("pk", flat=True)))


def replicas_stop(replica_ids: Iterable[str]) -> None:
    """No longer wanted: their nodes drain and stop them, gateways send them nothing new."""
    ids = list(replica_ids)
    rows = list(Replica.objects.filter(pk__in=ids).exclude(desired=Desired.STOPPED))
    Replica.objects.filter(pk__in=[row.id for row in rows]).update(desired=Desired.STOPPED)
    _tell_nodes(row.id for row in rows)
    endpoint_generation_raise(endpoint_ids_of(row.id for row in rows))


def replicas_restart(deployment: Deployment, replica_ids: Iterable[str], now: datetime) -> None:
    """A new generation: the agent gave up on the old one and starts afresh."""
    ids = list(replica_ids)
    for row in Replica.objects.filter(pk__in=ids, desired=Desired.RUNNING):
        Replica.objects.filter(pk=row.pk, generation=row.generation).update(
            generation=F("generation") + 1,
            attempts=F("attempts") + 1,
            state=ReplicaState.PENDING,
            state_since=now,
            observed={},
        )
        _record(
            deployment,
            "replica.restarted",
            f"Replica {row.ordinal} of {deployment.name} is started again",
            row,
        )
    _tell_nodes(ids)


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
    raised = node_generation_raise(rows.values_list("node_id", flat=True).distinct())
    for node_id, generation in raised.items():
        rows.filter(node_id=node_id).update(node_generation=generation)


def _record(
    deployment: Deployment,
    verb: str,
    message: str,
    replica: Replica,
    severity: Event.Severity = Event.Severity.INFO,
) -> None:
    events.record(
        actor="system",
        verb=verb,
        subject=f"endpoint/{deployment.endpoint.name}",
        message=message,
        severity=severity,
        data={"deployment": deployment.name, "replica": replica.id},
    )
