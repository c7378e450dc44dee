"""Removing a node together with what runs on it."""

from datetime import datetime

from django.db import transaction

from controlplane.deployments.models import Replica
from controlplane.deployments.services.locks import endpoints_lock
from controlplane.deployments.services.replicas import replicas_remove
from controlplane.deployments.types import Desired
from controlplane.nodes import services as nodes
from controlplane.nodes.selectors import node_get
from controlplane.operations.errors import NodeInUse
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
