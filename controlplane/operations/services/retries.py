"""An operation that failed or was cancelled, made anew."""

from dataclasses import replace
from datetime import datetime

from django.db import transaction

from controlplane.deployments.models import Deployment, DeploymentRevision
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.services.revisions import (
    ReplicaTemplate,
    code_record,
    revision_record,
    template_of,
)
from controlplane.deployments.services.spec import runnable_check
from controlplane.deployments.types import DeploymentState
from controlplane.operations.errors import OperationFinished
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import DELETIONS
from controlplane.operations.selectors import operation_get
from controlplane.operations.services.advance import operation_advance
from controlplane.operations.services.completion import operations_supersede
from controlplane.operations.services.operations import not_deleting, nothing_active
from controlplane.operations.services.rolling_updates import rolled
from controlplane.operations.services.starting import (
    deployment_start,
    first_traffic,
    scaling_open,
)
from controlplane.operations.types import GoldenGate, OperationState


def operation_retry(
    *,
    operation_id: str,
    actor: str,
    now: datetime,
    supersede: bool = False,
    may_run_code: bool = False,
    golden: GoldenGate = GoldenGate.ASK,
) -> Operation:
    """A new operation that does the same again; with ``supersede`` instead of what is in its way.
    Golden cases are asked where the old one was to, unless ``golden`` is SKIP.

    Raises OperationNotFound, OperationFinished, OperationInProgress, DeploymentNotFound,
    ModelNotDeployable, CodeNotAllowed, CodeNotApproved (of what is not running)."""
    with transaction.atomic():
        old = operation_get(operation_id)
        if old.kind in DELETIONS or old.state not in (
            OperationState.FAILED,
            OperationState.CANCELED,
        ):
            raise OperationFinished("Only what failed or was cancelled can be retried.")
        if (endpoint := endpoint_lock(old.endpoint)) is not None:
            not_deleting(endpoint)
        rollout = old.parameters.get("rollout")
        if golden == GoldenGate.ASK:
            golden = GoldenGate(old.parameters.get("golden", GoldenGate.ASK))
        first = first_traffic(old.parameters.get("traffic", 0), rollout, golden)
        moves = first["traffic"] or rollout is not None
        place = None if moves else old.deployment  # traffic is everybody's
        if supersede:
            operations_supersede(endpoint=old.endpoint, deployment=place, actor=actor, now=now)
        nothing_active(old.endpoint, place)
        row = deployment_get(old.endpoint, old.deployment)
        wanted = old.parameters.get("instance_count", row.instance_count)
        revision = _revision_rolled(old, row)
        if row.provisioning_state != DeploymentState.SUCCEEDED:
            allowed = runnable_check(row.revision, row.revision, may_run_code=may_run_code)
            code_record(row.revision, allowed)
            operation = deployment_start(row, first, actor, now)
        elif revision is not None:
            allowed = runnable_check(row.revision, revision, may_run_code=may_run_code)
            template = replace(template_of(revision), allow_code=allowed)
            operation = _roll_again(row, template, old, actor, now, golden)
        else:
            operation = scaling_open(row, wanted, actor, now, first=first)
    return operation_advance(operation, now=now)


def _revision_rolled(old: Operation, row: Deployment) -> DeploymentRevision | None:
    """What an operation was to put in the place of what ran; None for other operations."""
    number = old.parameters.get("revision")
    return row.revisions.filter(number=number).first() if number else None


def _roll_again(
    row: Deployment,
    template: ReplicaTemplate,
    old: Operation,
    actor: str,
    now: datetime,
    golden: GoldenGate,
) -> Operation:
    back_to, count = row.revision.number, row.instance_count
    if old.parameters["instance_count"] != old.parameters["previous_count"]:
        row.instance_count, row.paused_count = old.parameters["instance_count"], None
        row.save(update_fields=["instance_count", "paused_count", "updated_at"])
    cause = f"retry of {old.parameters['revision']}"
    revision_record(row, template, author=actor, cause=cause)
    return rolled(row, back_to, actor, now, previous_count=count, golden=golden)
