"""Deployments: made, replaced, scaled, deleted, tried again; each change is an operation."""

from datetime import datetime
from typing import Any, Final

from django.db import transaction
from django.db.models import F

from controlplane.core import events
from controlplane.core.errors import Conflict
from controlplane.deployments.errors import (
    AsItIs,
    DeploymentHasTraffic,
    EndpointNotFound,
    OperationFinished,
)
from controlplane.deployments.models import (
    Deployment,
    DeploymentRevision,
    Endpoint,
    Operation,
)
from controlplane.deployments.naming import endpoint_name_for
from controlplane.deployments.probes import Probe
from controlplane.deployments.reconcile import DELETIONS
from controlplane.deployments.selectors import deployment_get, operation_get, operations_active
from controlplane.deployments.selectors.instance_types import instance_type_wanted
from controlplane.deployments.services import endings
from controlplane.deployments.services.endpoints import endpoint_create
from controlplane.deployments.services.operations import (
    cancel_request,
    nothing_active,
    operation_open,
)
from controlplane.deployments.services.revisions import (
    SPEC,
    code_record,
    revision_apply,
    revision_ensure,
    revision_record,
    revision_wanted,
    spec_of,
)
from controlplane.deployments.services.secrets import secrets_merged
from controlplane.deployments.services.starting import (
    Spec,
    advanced,
    colour_free,
    deployment_place,
    deployment_start,
    is_same,
    locked,
    not_deleting,
    resolve_to_run,
    rolling_open,
    runnable_check,
    running_as_asked,
    scaling_open,
    start_check,
)
from controlplane.deployments.services.superseding import operations_supersede
from controlplane.deployments.states import DEPLOYMENTS, DeploymentCause
from controlplane.deployments.types import (
    DeploymentState,
    Desired,
    OperationKind,
    OperationState,
)

# what gateways act on
ROUTED: Final = frozenset({"request_timeout_ms", "retries", "max_concurrent_requests_per_instance"})


def deploy(*, spec: Spec, endpoint: str, deployment: str, actor: str, now: datetime) -> Operation:
    """From a model to an answering endpoint, in one operation.

    The endpoint is made when missing. Without a name the deployment takes the free colour, or the
    one that carries no traffic. What runs already as asked is not started again; asking twice while
    it is under way returns the operation that is. Raises what ``deployment_create`` raises.
    """
    with transaction.atomic():
        version, revision, allowed = resolve_to_run(spec)
        name = endpoint or endpoint_name_for(spec.model)
        row = locked(name) or endpoint_create(name=name, actor=actor, now=now, field="endpoint")
        not_deleting(row)
        for running in operations_active(name):
            if is_same(running, row, deployment, spec, version, revision):
                return running
        if spec.traffic:
            nothing_active(name)
        existing = running_as_asked(row, deployment, spec, version, revision)
        if existing is not None:
            # the same model runs there already: only the difference is made up
            operation = scaling_open(
                existing,
                spec.instance_count,
                actor,
                now,
                kind=OperationKind.DEPLOY,
                traffic=spec.traffic,
            )
        else:
            chosen = deployment or colour_free(row)
            operation = deployment_place(
                row, chosen, spec, version, revision, allowed, actor, now,
                replace=True, field="deployment",
            )  # fmt: skip
    return advanced(operation, now)


def deployment_create(
    *, endpoint: str, name: str, spec: Spec, actor: str, now: datetime, replace: bool = False
) -> Operation:
    """``replace``: what has this name and no traffic is taken over.

    Raises EndpointNotFound, NameInvalid, NameTaken, OperationInProgress, ModelNotDeployable,
    ModelNotFound, CodeNotAllowed, CodeNotApproved."""
    with transaction.atomic():
        version, revision, allowed = resolve_to_run(spec)
        row = locked(endpoint)
        if row is None:
            raise EndpointNotFound(f"There is no endpoint called {endpoint}.")
        not_deleting(row)
        if spec.traffic:
            nothing_active(endpoint)
        chosen = name or colour_free(row)
        operation = deployment_place(
            row, chosen, spec, version, revision, allowed, actor, now, replace=replace
        )
    return advanced(operation, now)


def deployment_scale(
    *, endpoint: str, name: str, instance_count: int, actor: str, now: datetime
) -> Operation:
    """Raises EndpointNotFound, DeploymentNotFound, OperationInProgress, Conflict."""
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
        nothing_active(endpoint, name)
        if row.provisioning_state != DeploymentState.SUCCEEDED:
            raise Conflict(
                f"{name} is {row.provisioning_state}; only a deployment that works can be scaled.",
                hints=("Retry its deployment first.",),
            )
        operation = scaling_open(row, instance_count, actor, now)
    return advanced(operation, now)


@transaction.atomic
def deployment_update(*, endpoint: str, name: str, actor: str, **changes: Any) -> Deployment:
    """The words about it, and what gateways need to know; no replica notices.

    ``changes``: description, tags, declared, request_timeout_ms, retries,
    max_concurrent_requests_per_instance.
    Raises EndpointNotFound, DeploymentNotFound.
    """
    locked(endpoint)
    row = deployment_get(endpoint, name)
    changed = sorted(key for key, value in changes.items() if getattr(row, key) != value)
    if not changed:
        return row
    before = {key: getattr(row, key) for key in changed}
    for key in changed:
        setattr(row, key, changes[key])
    row.save(update_fields=[*changed, "updated_at"])
    if ROUTED & set(changed):
        Endpoint.objects.filter(pk=row.endpoint_id).update(generation=F("generation") + 1)
    events.record(
        actor=actor,
        verb="deployment.updated",
        subject=f"endpoint/{endpoint}",
        message=f"{actor} changed {', '.join(changed)} of {endpoint}/{name}",
        data={"deployment": name, "changed": changed},
        before=before,
        after={key: changes[key] for key in changed},
    )
    return row


def deployment_roll(
    *,
    endpoint: str,
    name: str,
    actor: str,
    now: datetime,
    model: str = "",
    version: str = "",
    config_revision: int | None = None,
    environment: dict[str, str] | None = None,
    secret_environment: dict[str, str | None] | None = None,
    instance_type: str | None = None,
    node_labels: dict[str, str] | None = None,
    anti_affinity: str | None = None,
    instance_count: int | None = None,
    **settings: Probe | int | None,
) -> Operation:
    """Let a deployment run something else, while what it runs serves on until that is ready.

    What is not said stays as it is; ``settings``: liveness_probe, readiness_probe,
    max_queue_wait_ms, None takes one away. Code that it runs already must still be approved, and
    signed where that is required.
    Raises EndpointNotFound, DeploymentNotFound, ModelNotFound, ModelNotDeployable, Conflict,
    InstanceTypeUnknown, OperationInProgress, CodeNotAllowed, CodeNotApproved, SignatureRequired.
    """
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
        nothing_active(endpoint, name)
        if row.provisioning_state == DeploymentState.DELETING:
            raise Conflict(f"{name} is being deleted.")
        current = revision_ensure(row)
        before = spec_of(row)
        if model or version or config_revision is not None:
            now_runs = row.model_version
            spec = Spec(
                model=model or now_runs.model.name,
                version=version or ("latest" if model else str(now_runs.version)),
                config_revision=config_revision,
            )
            row.model_version, row.config_revision, allowed = resolve_to_run(spec)
        else:
            # why here too: fresh replicas start, of what may never have come up, or is withdrawn
            allowed = start_check(row.model_version, row.config_revision)
        if environment is not None:
            row.environment = environment
        if instance_type is not None:
            row.instance_type = instance_type_wanted(instance_type) if instance_type else None
        row.node_labels = row.node_labels if node_labels is None else node_labels
        row.anti_affinity = anti_affinity or row.anti_affinity
        for key, value in settings.items():
            setattr(row, key, value)
        row.secrets = secrets_merged(row.secrets, secret_environment)
        if spec_of(row) == before and row.provisioning_state == DeploymentState.SUCCEEDED:
            raise AsItIs(f"{name} runs just this already.")
        row.allow_code = allowed
        count = row.instance_count
        if instance_count is not None:
            row.instance_count, row.paused_count = instance_count, None
        row.save(update_fields=[*SPEC, "instance_count", "paused_count", "updated_at"])
        revision_record(row, author=actor, cause="updated")
        operation = _rolled(row, current.number, actor, now, previous_count=count)
    return advanced(operation, now)


def _rolled(
    row: Deployment,
    back_to: int,
    actor: str,
    now: datetime,
    *,
    previous_count: int | None = None,
) -> Operation:
    """Without a gap where something serves, afresh where nothing does."""
    running = row.replicas.filter(desired=Desired.RUNNING).exists()
    if row.provisioning_state == DeploymentState.SUCCEEDED and running:
        return rolling_open(row, back_to, actor, now, previous_count=previous_count)
    return deployment_start(row, 0, actor, now)


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

    What serves serves on until the others are ready; nothing is uploaded anew. ``may_run_code``:
    the actor may set the variables that it had, whatever they are.
    Raises EndpointNotFound, DeploymentNotFound, RevisionNotFound, OperationInProgress, Conflict,
    ModelNotDeployable, CodeNotAllowed, CodeNotApproved.
    """
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
        nothing_active(endpoint, name)
        if row.provisioning_state == DeploymentState.DELETING:
            raise Conflict(f"{name} is being deleted.")
        current = revision_ensure(row)
        wanted = revision_wanted(row, revision)
        if wanted.pk == current.pk and row.provisioning_state == DeploymentState.SUCCEEDED:
            raise AsItIs(f"{name} runs revision {current.number} already.", field="revision")
        # why here too: what ran once may have been archived, or its approval withdrawn, since
        allowed = runnable_check(row, wanted, may_run_code=may_run_code)
        revision_apply(row, wanted)
        code_record(row, None, allowed)
        revision_record(row, author=actor, cause=f"rollback to {wanted.number}")
        operation = _rolled(row, current.number, actor, now)
    return advanced(operation, now)


def deployment_restart(*, endpoint: str, name: str, actor: str, now: datetime) -> Operation:
    """Replace every replica by one of the same kind. Raises EndpointNotFound, DeploymentNotFound,
    OperationInProgress, Conflict."""
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
        _settled(row)
        if row.instance_count == 0:
            raise Conflict(f"{name} is paused.", hints=("Start it instead.",))
        current = revision_ensure(row)
        # why a revision: it tells the fresh replicas from those of before
        revision_record(row, author=actor, cause="restarted")
        operation = _rolled(row, current.number, actor, now)
    return advanced(operation, now)


def deployment_pause(
    *, endpoint: str, name: str, force: bool, actor: str, now: datetime
) -> Operation:
    """Stop every replica and keep the deployment, to be resumed as it was.

    Raises EndpointNotFound, DeploymentNotFound, DeploymentHasTraffic (unless ``force``),
    OperationInProgress, Conflict.
    """
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
        _settled(row)
        percent = row.endpoint.traffic.get(name, 0)
        if percent and not force:
            raise DeploymentHasTraffic(
                f"{name} answers {percent} % of the requests.",
                hints=("Give its traffic to another deployment first, or pause it by force.",),
            )
        if row.instance_count == 0:
            raise AsItIs(f"{name} is paused already.")
        operation = scaling_open(row, 0, actor, now)
    return advanced(operation, now)


def deployment_resume(*, endpoint: str, name: str, actor: str, now: datetime) -> Operation:
    """As many replicas as before the pause. Raises what ``deployment_pause`` raises."""
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
        _settled(row)
        if row.instance_count:
            raise AsItIs(f"{name} is not paused.")
        operation = scaling_open(row, row.paused_count or 1, actor, now)
    return advanced(operation, now)


def deployment_confirm(*, endpoint: str, name: str, actor: str, now: datetime) -> Operation:
    """An operation that ends once what the deployment asks for now serves, and changes nothing.

    For who went back to what ran before by superseding the change that was under way.
    Raises EndpointNotFound, DeploymentNotFound, OperationInProgress, Conflict.
    """
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
        _settled(row)
        kind = OperationKind.DEPLOY if row.instance_count else OperationKind.SCALE
        operation = scaling_open(row, row.instance_count, actor, now, kind=kind)
    return advanced(operation, now)


def _settled(row: Deployment) -> None:
    nothing_active(row.endpoint.name, row.name)
    if row.provisioning_state != DeploymentState.SUCCEEDED:
        raise Conflict(
            f"{row.name} is {row.provisioning_state}; only a deployment that works can do that.",
            hints=("Retry its deployment first.",),
        )


def deployment_delete(
    *, endpoint: str, name: str, force: bool, actor: str, now: datetime
) -> Operation:
    """Legal in every state: what is under way there is cancelled first.

    Raises EndpointNotFound, DeploymentNotFound, DeploymentHasTraffic (unless ``force``).
    """
    with transaction.atomic():
        locked(endpoint)
        row = deployment_get(endpoint, name)
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
        for running in operations_active(endpoint):
            if running.kind == OperationKind.DELETE_ENDPOINT:
                return running
            if running.deployment != name:
                continue
            if running.kind in DELETIONS:
                return running
            endings.operation_supersede(running, now)
        DEPLOYMENTS.move(row, DeploymentCause.DELETE)
        operation = operation_open(
            kind=OperationKind.DELETE_DEPLOYMENT,
            endpoint=row.endpoint,
            deployment=row,
            parameters={},
            actor=actor,
            now=now,
        )
    return advanced(operation, now)


def operation_cancel(*, operation_id: str, actor: str, now: datetime) -> Operation:
    """Stop it at whatever stage it is; what served before serves on.

    Raises OperationNotFound, OperationFinished.
    """
    cancel_request(operation_id=operation_id, actor=actor)
    return advanced(operation_get(operation_id), now)


def operation_retry(
    *,
    operation_id: str,
    actor: str,
    now: datetime,
    supersede: bool = False,
    may_run_code: bool = False,
) -> Operation:
    """A new operation that does the same again; with ``supersede`` instead of what is in its way.

    Raises OperationNotFound, OperationFinished, OperationInProgress, DeploymentNotFound,
    ModelNotDeployable, CodeNotAllowed, CodeNotApproved (of what is not running)."""
    with transaction.atomic():
        old = operation_get(operation_id)
        if old.kind in DELETIONS or old.state not in (
            OperationState.FAILED,
            OperationState.CANCELED,
        ):
            raise OperationFinished("Only what failed or was cancelled can be retried.")
        if (endpoint := locked(old.endpoint)) is not None:
            not_deleting(endpoint)
        traffic = old.parameters.get("traffic", 0)
        place = None if traffic else old.deployment  # traffic is everybody's
        if supersede:
            operations_supersede(endpoint=old.endpoint, deployment=place, actor=actor, now=now)
        nothing_active(old.endpoint, place)
        row = deployment_get(old.endpoint, old.deployment)
        wanted = old.parameters.get("instance_count", row.instance_count)
        revision = _revision_rolled(old, row)
        if row.provisioning_state != DeploymentState.SUCCEEDED:
            allowed = runnable_check(row, row, may_run_code=may_run_code)
            code_record(row, row.revision, allowed)
            operation = deployment_start(row, traffic, actor, now)
        elif revision is not None:
            allowed = runnable_check(row, revision, may_run_code=may_run_code)
            code_record(row, revision, allowed)
            operation = _roll_again(row, revision, old, actor, now)
        else:
            operation = scaling_open(row, wanted, actor, now, traffic=traffic)
    return advanced(operation, now)


def _revision_rolled(old: Operation, row: Deployment) -> DeploymentRevision | None:
    """What an operation was to put in the place of what ran; None for other operations."""
    number = old.parameters.get("revision")
    return row.revisions.filter(number=number).first() if number else None


def _roll_again(
    row: Deployment, revision: DeploymentRevision, old: Operation, actor: str, now: datetime
) -> Operation:
    current, count = revision_ensure(row), row.instance_count
    revision_apply(row, revision)
    if old.parameters["instance_count"] != old.parameters["previous_count"]:
        row.instance_count, row.paused_count = old.parameters["instance_count"], None
        row.save(update_fields=["instance_count", "paused_count", "updated_at"])
    revision_record(row, author=actor, cause=f"retry of {revision.number}")
    return _rolled(row, current.number, actor, now, previous_count=count)
