"""Removing a node together with what runs on it, and nodes that leave by themselves."""

from datetime import datetime, timedelta

from django.db import transaction

from controlplane.deployments.models import Replica
from controlplane.deployments.services.locks import endpoints_lock
from controlplane.deployments.services.replicas import replicas_remove
from controlplane.deployments.types import Desired
from controlplane.nodes import services as nodes
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import node_get
from controlplane.nodes.states import NodeDuty
from controlplane.operations.errors import NodeInUse
from controlplane.operations.services.draining import node_replicas_left, nodes_drain
from controlplane.operations.services.tick import operations_tick


def node_delete(*, name: str, force: bool, actor: str, now: datetime) -> None:
    """Forget a node. Its replicas are placed elsewhere where possible.

    Raises NodeNotFound, NodeInUse (unless ``force``).
    """
    with transaction.atomic():
        node = node_get(name)
        rows = Replica.objects.filter(node=node).select_related("deployment__endpoint")
        running = [row for row in rows if row.desired == Desired.RUNNING]
        if running and not force:
            raise NodeInUse(
                f"{len(running)} replica(s) run on {name}.",
                hints=("Delete or move them, or remove the node by force.",),
                extra={"deployments": sorted({str(row.deployment) for row in running})},
            )
        endpoints_lock(row.deployment.endpoint_id for row in rows)
        replicas_remove([row.pk for row in rows])
        nodes.node_remove(node=node, actor=actor)
    if running:
        operations_tick(now=now)


def node_leave(*, node: Node, deadline: timedelta, now: datetime) -> int:
    """Empty a node that asks for it, because its machine goes; how many replicas are still there.

    It asks again until there are none; then it is forgotten, so that fleets that grow and shrink
    by themselves leave no dead names behind. A drain that is under way keeps its deadline.
    """
    actor = f"node/{node.name}"
    if node.duty in (NodeDuty.OPEN, NodeDuty.CORDONED):
        # why by force: the machine goes in any case, and a place may still come up meanwhile
        nodes_drain(names=[node.name], deadline=deadline, force=True, actor=actor, now=now)
    left = node_replicas_left(node).count()
    if not left:
        node_delete(name=node.name, force=True, actor=actor, now=now)
    return left
