"""Replica rows: placed, stopped, started anew, forgotten.

Each also moves the numbers that tell others: the desired generation of the nodes, and the
generation of the endpoint.
"""

import secrets
from collections.abc import Iterable
from datetime import datetime

from django.db.models import F
from django.utils import timezone

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.types import Desired, ReplicaState
from controlplane.nodes.services import node_generation_raise


def endpoint_generation_raise(endpoint_ids: Iterable[int]) -> None:
    """Something that gateways must know has changed."""
    Endpoint.objects.filter(pk__in=set(endpoint_ids)).update(
        generation=F("generation") + 1, updated_at=timezone.now()
    )


def replicas_place(
    deployment: Deployment, assigned: Iterable[tuple[int, str]], now: datetime
) -> list[str]:
    """New rows, one per (ordinal, node id); returns their ids."""
    rows = [
        Replica(
            id=secrets.token_hex(8),
            deployment=deployment,
            ordinal=ordinal,
            node_id=node_id,
            revision_id=deployment.revision_id,
            state_since=now,
        )
        for ordinal, node_id in assigned
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


def replicas_stop(replica_ids: Iterable[str]) -> None:
    """No longer wanted: their nodes drain and stop them, gateways send them nothing new."""
    ids = list(replica_ids)
    rows = list(Replica.objects.filter(pk__in=ids, desired=Desired.RUNNING))
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
