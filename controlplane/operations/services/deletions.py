"""Deployments, deleted."""

from datetime import datetime

from django.db import transaction

from controlplane.deployments.errors import DeploymentHasTraffic
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.states import DEPLOYMENTS, DeploymentCause
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import DELETIONS
from controlplane.operations.selectors import operations_active
from controlplane.operations.services import completion
from controlplane.operations.services.advance import operation_advance
from controlplane.operations.services.operations import nothing_rolls, operation_open
from controlplane.operations.services.starting import unruled_check
from controlplane.operations.types import OperationKind


def deployment_delete(
    *, endpoint: str, name: str, force: bool, actor: str, now: datetime
) -> Operation:
    """Legal in every state: what is under way there is cancelled first.

    Raises EndpointNotFound, DeploymentNotFound, DeploymentHasTraffic (unless ``force``),
    RolloutInProgress (by force, too: where would it go back to).
    """
    with transaction.atomic():
        endpoint_lock(endpoint)
        row = deployment_get(endpoint, name)
        nothing_rolls(endpoint, name)
        percent = row.endpoint.traffic.get(name, 0)
        if percent and not force:
            raise DeploymentHasTraffic(
                f"{name} answers {percent} % of the requests.",
                hints=("Give its traffic to another deployment first.",),
            )
        copies = row.endpoint.mirror_traffic.get(name, 0)
        if copies and not force:
            raise DeploymentHasTraffic(
                f"{name} gets copies of {copies} % of the requests.",
                hints=('End that first: `PUT .../mirror` with {"mirror_traffic": {}}.',),
            )
        unruled_check(row, force=force)
        for running in operations_active(endpoint):
            if running.kind == OperationKind.DELETE_ENDPOINT:
                return running
            if running.deployment != name:
                continue
            if running.kind in DELETIONS:
                return running
            completion.operation_supersede(running, now)
        DEPLOYMENTS.move(row, DeploymentCause.DELETE)
        operation = operation_open(
            kind=OperationKind.DELETE_DEPLOYMENT,
            endpoint=row.endpoint,
            deployment=row,
            parameters={},
            actor=actor,
            now=now,
        )
    return operation_advance(operation, now=now)
