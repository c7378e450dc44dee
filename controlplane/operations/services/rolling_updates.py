"""Rolling updates: what a deployment runs serves on until what it is to run is ready."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction

from controlplane.core.errors import Conflict
from controlplane.deployments.models import Deployment
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.selectors.instance_types import instance_type_wanted
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.services.revisions import (
    revision_record,
    revision_wanted,
    template_of,
)
from controlplane.deployments.services.spec import (
    resolve,
    runnable_check,
    secrets_merged,
    start_check,
)
from controlplane.deployments.spec import Spec
from controlplane.deployments.types import DeploymentState, Desired
from controlplane.operations.errors import AsItIs
from controlplane.operations.models import Operation
from controlplane.operations.services.advance import operation_advance
from controlplane.operations.services.operations import nothing_active
from controlplane.operations.services.starting import (
    deployment_start,
    first_traffic,
    rolling_open,
    settled_check,
)
from controlplane.operations.types import GoldenGate


def deployment_roll(
    *,
    endpoint: str,
    name: str,
    actor: str,
    now: datetime,
    model: str = "",
    version: str = "",
    config_revision: int | None = None,
    secret_environment: dict[str, str | None] | None = None,
    instance_type: str | None = None,
    instance_count: int | None = None,
    golden: GoldenGate = GoldenGate.ASK,
    **settings: Any,
) -> Operation:
    """Let a deployment run something else, while what it runs serves on until that is ready.

    What is not said stays as it is; ``settings`` are those of ``spec.RUN_SETTINGS``. Code that it
    runs already must still be approved, and signed where that is required.
    Raises EndpointNotFound, DeploymentNotFound, ModelNotFound, ModelNotDeployable, Conflict,
    InstanceTypeUnknown, OperationInProgress, CodeNotAllowed, CodeNotApproved, SignatureRequired.
    """
    with transaction.atomic():
        endpoint_lock(endpoint)
        row = deployment_get(endpoint, name)
        nothing_active(endpoint, name)
        if row.provisioning_state == DeploymentState.DELETING:
            raise Conflict(f"{name} is being deleted.")
        current, runs = row.revision, template_of(row.revision)
        if model or version or config_revision is not None:
            spec = Spec(
                model=model or runs.model_version.model.name,
                version=version or ("latest" if model else str(runs.model_version.version)),
                config_revision=config_revision,
            )
            wanted_version, wanted_config = resolve(spec)
        else:
            wanted_version, wanted_config = runs.model_version, runs.config_revision
        kind = runs.instance_type
        if instance_type is not None:
            kind = instance_type_wanted(instance_type) if instance_type else None
        wanted = replace(
            runs,
            model_version=wanted_version,
            config_revision=wanted_config,
            instance_type=kind,
            secrets=secrets_merged(runs.secrets, secret_environment),
            settings=replace(runs.settings, **settings),
        )
        if wanted == runs and row.provisioning_state == DeploymentState.SUCCEEDED:
            raise AsItIs(f"{name} runs just this already.")
        # why of what runs, too: fresh replicas start, and its approval may have been withdrawn
        allowed = start_check(wanted_version, wanted_config)
        count = row.instance_count
        if instance_count is None and not count and not row.paused:
            instance_count = 1  # it is idle: what is new shows first that it runs
        if instance_count is not None:
            row.instance_count, row.paused_count = instance_count, None
        row.save(update_fields=["instance_count", "paused_count", "updated_at"])
        revision_record(row, replace(wanted, allow_code=allowed), author=actor, cause="updated")
        operation = rolled(row, current.number, actor, now, previous_count=count, golden=golden)
    return operation_advance(operation, now=now)


def rolled(
    row: Deployment,
    back_to: int,
    actor: str,
    now: datetime,
    *,
    previous_count: int | None = None,
    golden: GoldenGate = GoldenGate.NONE,
) -> Operation:
    """Without a gap where something serves, afresh where nothing does."""
    running = row.replicas.filter(desired=Desired.RUNNING).exists()
    if row.provisioning_state == DeploymentState.SUCCEEDED and running:
        return rolling_open(row, back_to, actor, now, previous_count=previous_count, golden=golden)
    return deployment_start(row, first_traffic(0, None, golden), actor, now)


def deployment_rollback(
    *,
    endpoint: str,
    name: str,
    revision: int | None,
    actor: str,
    now: datetime,
    may_run_code: bool = False,
) -> Operation:
    """Run an earlier revision again, the last that came up unless said which.

    What serves serves on until the others are ready; nothing is uploaded anew, and no golden case
    is asked: who goes back is in need, and that revision has answered before. ``may_run_code``:
    the actor may set the variables that it had, whatever they are.
    Raises EndpointNotFound, DeploymentNotFound, RevisionNotFound, OperationInProgress, Conflict,
    ModelNotDeployable, CodeNotAllowed, CodeNotApproved.
    """
    with transaction.atomic():
        endpoint_lock(endpoint)
        row = deployment_get(endpoint, name)
        nothing_active(endpoint, name)
        if row.provisioning_state == DeploymentState.DELETING:
            raise Conflict(f"{name} is being deleted.")
        current = row.revision
        wanted = revision_wanted(row, revision)
        if wanted.pk == current.pk and row.provisioning_state == DeploymentState.SUCCEEDED:
            raise AsItIs(f"{name} runs revision {current.number} already.", field="revision")
        # why here too: what ran once may have been archived, or its approval withdrawn, since
        allowed = runnable_check(current, wanted, may_run_code=may_run_code)
        template = replace(template_of(wanted), allow_code=allowed)
        revision_record(row, template, author=actor, cause=f"rollback to {wanted.number}")
        operation = rolled(row, current.number, actor, now)
    return operation_advance(operation, now=now)


def deployment_restart(*, endpoint: str, name: str, actor: str, now: datetime) -> Operation:
    """Replace every replica by one of the same kind. Raises EndpointNotFound, DeploymentNotFound,
    OperationInProgress, Conflict."""
    with transaction.atomic():
        endpoint_lock(endpoint)
        row = deployment_get(endpoint, name)
        settled_check(row)
        if row.instance_count == 0:
            state = "paused" if row.paused else "idle: it has no replica"
            raise Conflict(f"{name} is {state}.", hints=("Start it instead.",))
        current = row.revision
        # why a revision: it tells the fresh replicas from those of before
        revision_record(row, template_of(current), author=actor, cause="restarted")
        operation = rolled(row, current.number, actor, now)
    return operation_advance(operation, now=now)
