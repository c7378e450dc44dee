"""A replica's row on a node, without an operation that places it."""

from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.nodes.models import Node
from tests.support.registered_models import model_register


def replica_place(node: Node, replica_id: str = "r0", deployment: str = "blue") -> Replica:
    """Of the endpoint digits."""
    endpoint, _ = Endpoint.objects.get_or_create(name="digits")
    row = Deployment.objects.filter(endpoint=endpoint, name=deployment).first()
    row = row or Deployment.objects.create(
        endpoint=endpoint, name=deployment, model_version=model_register()
    )
    return Replica.objects.create(id=replica_id, deployment=row, ordinal=0, node=node)
