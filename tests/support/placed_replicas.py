"""A replica's row on a node, without an operation that places it."""

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
