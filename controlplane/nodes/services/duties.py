"""What people ask of nodes: cordon, labels, drain, removal; and the wake-up that tells them."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import F

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.nodes import selectors, wake_ups
from controlplane.nodes.models import Node
from controlplane.nodes.states import (
    DUTIES,
    DutyCause,
    NodeDuty,
)


def node_cordon(*, name: str, cordoned: bool, actor: str) -> Node:
    """Keep new replicas away from a node, or let them come again. Raises NodeNotFound."""
    node = selectors.node_get(name)
    if not DUTIES.allows(node.duty, DutyCause.CORDON if cordoned else DutyCause.UNCORDON):
        return node  # it is so already
    with transaction.atomic():
        rows = Node.objects.filter(pk=node.pk, cordoned=not cordoned)
        if rows.update(cordoned=cordoned, drain_started_at=None, drain_deadline_at=None):
            events.record(
                actor=actor,
                verb="node.cordoned" if cordoned else "node.uncordoned",
                subject=f"node/{name}",
                message=f"Node {name} takes {'no' if cordoned else 'again'} new replicas",
            )
    return selectors.node_get(name)


@transaction.atomic
def node_labels_set(*, name: str, labels: dict[str, str], actor: str) -> Node:
    """Replace the labels that placement goes by. Raises NodeNotFound."""
    node = selectors.node_get(name)
    if node.labels != labels:
        Node.objects.filter(pk=node.pk).update(labels=labels)
        events.record(
            actor=actor,
            verb="node.labelled",
            subject=f"node/{name}",
            message=f"{actor} changed the labels of node {name}",
            data={"labels": labels, "before": node.labels},
        )
    return selectors.node_get(name)


@transaction.atomic
def node_drain(*, name: str, deadline_at: datetime, actor: str, now: datetime) -> Node:
    """Cordon it and let what runs there move away until ``deadline_at``. Raises NodeNotFound."""
    node = selectors.node_get(name)
    DUTIES.check(node.duty, DutyCause.DRAIN)
    going_on = node.duty == NodeDuty.DRAINING
    Node.objects.filter(pk=node.pk).update(
        cordoned=True,
        drain_started_at=node.drain_started_at if going_on else now,
        drain_deadline_at=deadline_at,
    )
    if not going_on:
        events.record(
            actor=actor,
            verb="node.drain_started",
            subject=f"node/{name}",
            message=f"Node {name} is drained: what runs there moves away",
            severity=Event.Severity.WARNING,
            data={"deadline_at": deadline_at.isoformat()},
        )
    return selectors.node_get(name)


@transaction.atomic
def node_emptied(*, node: Node, now: datetime) -> None:
    """Nothing is left there: the deadline is taken away, that is how it is known to be empty."""
    if not DUTIES.allows(node.duty, DutyCause.EMPTY):
        return
    # why the moments in the filter: it may have been uncordoned since ``node`` was read
    draining = Node.objects.filter(pk=node.pk, drain_started_at=node.drain_started_at)
    if draining.filter(drain_deadline_at__isnull=False).update(drain_deadline_at=None):
        events.record(
            actor="system",
            verb="node.drained",
            subject=f"node/{node.name}",
            message=f"Node {node.name} is empty",
            data={"seconds": round((now - (node.drain_started_at or now)).total_seconds())},
        )


@transaction.atomic
def node_remove(*, node: Node, actor: str) -> None:
    """Forget a node; its credential stops working. Its replicas must be gone from the rows."""
    node.delete()
    events.record(
        actor=actor,
        verb="node.removed",
        subject=f"node/{node.name}",
        message=f"Node {node.name} was removed",
        severity=Event.Severity.WARNING,
    )


@transaction.atomic(savepoint=False)
def node_generation_raise(node_ids: Iterable[str]) -> None:
    """The nodes' desired state changed: raise its number and wake their agents on commit."""
    ids = sorted(set(node_ids))
    Node.objects.filter(pk__in=ids).update(desired_generation=F("desired_generation") + 1)
    wake_ups.wake_on_commit(ids)


def nodes_wake() -> int:
    """Wake every node again that has not acted yet: a wake-up may get lost."""
    behind = [node.id for node in selectors.node_list_behind()]
    wake_ups.wake_on_commit(behind)
    return len(behind)
