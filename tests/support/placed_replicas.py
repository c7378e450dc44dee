"""Replicas as rows on a node, without an operation that places them."""

from django.utils import timezone

from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.nodes.models import Node
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register


def replica_place(node: Node, replica_id: str = "r0", deployment: str = "blue") -> Replica:
    """Of the endpoint digits."""
    endpoint, _ = Endpoint.objects.get_or_create(name="digits")
    row = Deployment.objects.filter(endpoint=endpoint, name=deployment).first()
    row = row or deployment_add(endpoint, model_register(), deployment)
    return Replica.objects.create(
        id=replica_id, deployment=row, revision=row.revision, ordinal=0, node=node
    )


def blue_and_green() -> None:
    """Blue answers, green is ready. As rows: to deploy both would take a second of every test."""
    node = Node.objects.create(id="n1", name="local", last_seen_at=timezone.now())
    for name in ("blue", "green"):
        replica_place(node, f"{name}-0", name)
    Deployment.objects.update(provisioning_state="Succeeded")
    Replica.objects.update(state="ready", last_report_at=timezone.now())
    Endpoint.objects.update(traffic={"blue": 100})
