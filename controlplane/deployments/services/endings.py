"""How operations end: what is set right when one succeeds, fails or is cancelled."""

from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import (
    Deployment,
    DeploymentRevision,
    Endpoint,
    Operation,
    Replica,
)
from controlplane.deployments.reconcile import DELETIONS, Failure, failure_data
from controlplane.deployments.selectors import addresses, operations_active
from controlplane.deployments.services.operations import describe
from controlplane.deployments.services.replicas import (
    endpoint_generation_raise,
    replicas_remove,
    replicas_retire,
    replicas_stop,
)
from controlplane.deployments.services.revisions import revision_apply
from controlplane.deployments.traffic import traffic_check, traffic_without
from controlplane.deployments.types import (
    ACTIVE,
    DEPLOYMENT_MOVES,
    OPERATION_MOVES,
    DeploymentState,
    Desired,
    EndpointState,
    OperationKind,
    OperationState,
    transition,
)
from controlplane.metrics.selectors import log_lines
from controlplane.metrics.services import logs_forget
from controlplane.registry.selectors import models_called

LAST_LINES = 20


def operation_succeed(operation: Operation, now: datetime) -> None:
    if operation.kind in DELETIONS:
        _forget(operation)
        result = None
    else:
        deployment = _deployment(operation)
        replicas_retire(operation.parameters.get("old_ids", []), now)
        if operation.kind == OperationKind.DEPLOY and deployment.revision is not None:
            DeploymentRevision.objects.filter(pk=deployment.revision.pk).update(succeeded=True)
        _deployment_state_set(deployment, DeploymentState.SUCCEEDED, None)
        result = deploy_result(deployment)
    _close(operation, OperationState.SUCCEEDED, now, result=result)
    _record(operation, "operation.succeeded", f"Done: {describe(operation)}")


def operation_fail(operation: Operation, failure: Failure, now: datetime) -> None:
    error = failure_data(_with_log(operation, failure))
    _undo(operation, DeploymentState.FAILED, error)
    _close(operation, OperationState.FAILED, now, error=error)
    _record(
        operation,
        "operation.failed",
        f"Failed: {describe(operation)}. {failure.message}",
        Event.Severity.ERROR,
    )


def operation_end_canceled(operation: Operation, now: datetime) -> None:
    _undo(operation, DeploymentState.CANCELED, None)
    _close(operation, OperationState.CANCELED, now)
    _record(
        operation, "operation.canceled", f"Cancelled: {describe(operation)}", Event.Severity.WARNING
    )


@transaction.atomic
def operation_abandon(operation: Operation, now: datetime) -> None:
    """The last resort for one that cannot be advanced at all: it ends, nothing else is touched."""
    error = failure_data(
        Failure(
            "InternalError",
            "This operation could not be carried on.",
            hints=("The log of the control worker has the cause.",),
        )
    )
    _close(operation, OperationState.FAILED, now, error=error)
    _record(operation, "operation.failed", f"Given up: {describe(operation)}", Event.Severity.ERROR)


def deploy_result(deployment: Deployment) -> dict[str, Any]:
    """What whoever deployed wants to know next."""
    endpoint = Endpoint.objects.get(pk=deployment.endpoint_id)
    version = deployment.model_version
    models = [model.name for model in models_called(version)]
    others = endpoint.deployments.exclude(pk=deployment.pk).values_list("name", flat=True)
    return {
        "endpoint": endpoint.name,
        "deployment": deployment.name,
        **addresses(endpoint.name),
        "model": version.model.name,
        "version": version.version,
        "model_name": models[0] if models else "",
        "models": models,
        "provisioning_state": deployment.provisioning_state,
        "idle_deployments": sorted(name for name in others if not endpoint.traffic.get(name)),
    }


def _deployment(operation: Operation) -> Deployment:
    return Deployment.objects.select_related("endpoint", "model_version__model").get(
        endpoint__name=operation.endpoint, name=operation.deployment
    )


def _undo(operation: Operation, state: DeploymentState, error: dict[str, Any] | None) -> None:
    """What served before serves on; what this operation started stops, and is not started again."""
    deployment = _deployment(operation)
    parameters = operation.parameters
    replicas_retire(parameters.get("placed_ids", []), timezone.now())
    _traffic_restore(deployment, parameters)
    if "previous_revision" in parameters:  # the old replicas were never stopped
        back = deployment.revisions.filter(number=parameters["previous_revision"]).first()
        if back is not None:
            revision_apply(deployment, back)
            count = parameters.get("previous_count", deployment.instance_count)
            Deployment.objects.filter(pk=deployment.pk).update(revision=back, instance_count=count)
            deployment.refresh_from_db()
        _deployment_state_set(deployment, DeploymentState.SUCCEEDED, None)
        return
    if "previous_count" in parameters:  # what served before is untouched
        count = parameters["previous_count"]
        paused = None if count else deployment.instance_count or deployment.paused_count
        Deployment.objects.filter(pk=deployment.pk).update(
            instance_count=count, paused_count=paused
        )
        _deployment_state_set(deployment, DeploymentState.SUCCEEDED, None)
        return
    running = deployment.replicas.filter(desired=Desired.RUNNING).values_list("id", flat=True)
    replicas_stop(running)
    _deployment_state_set(deployment, state, error)


def _traffic_restore(deployment: Deployment, parameters: dict[str, Any]) -> None:
    """If this operation has moved the traffic already, move it back."""
    if "previous_traffic" not in parameters:
        return
    endpoint = Endpoint.objects.get(pk=deployment.endpoint_id)
    names = set(endpoint.deployments.values_list("name", flat=True))
    before = {k: v for k, v in parameters["previous_traffic"].items() if k in names}
    if sum(before.values()) not in (0, 100):  # one of them was deleted meanwhile
        before = traffic_without(before, "")
    Endpoint.objects.filter(pk=endpoint.pk).update(
        traffic=traffic_check(before, deployments=names, ready=names)
    )
    endpoint_generation_raise([endpoint.pk])


def _deployment_state_set(
    deployment: Deployment, state: DeploymentState, error: dict[str, Any] | None
) -> None:
    """Compare-and-set: a deletion that came in between wins."""
    old = DeploymentState(deployment.provisioning_state)
    if old == DeploymentState.DELETING:
        return
    new = transition(DEPLOYMENT_MOVES, old, state)
    Deployment.objects.filter(pk=deployment.pk, provisioning_state=old).update(
        provisioning_state=new, error=error, updated_at=timezone.now()
    )
    deployment.provisioning_state = new


def _forget(operation: Operation) -> None:
    """The end of a deletion: rows and log lines go. Nodes stop what they no longer find wanted."""
    deployments = Deployment.objects.filter(endpoint__name=operation.endpoint)
    if operation.kind == OperationKind.DELETE_DEPLOYMENT:
        deployments = deployments.filter(name=operation.deployment)
    rows = Replica.objects.filter(deployment__in=deployments)
    replicas_remove(list(rows.values_list("id", flat=True)))
    deployments.delete()
    if operation.kind == OperationKind.DELETE_ENDPOINT:
        Endpoint.objects.filter(name=operation.endpoint).delete()
    # why robust: they lie in another database, and what is left goes with `logs_sweep`
    transaction.on_commit(
        partial(logs_forget, endpoint=operation.endpoint, deployment=operation.deployment),
        robust=True,
    )


def _close(
    operation: Operation,
    state: OperationState,
    now: datetime,
    *,
    result: dict[str, Any] | None = None,
    error: dict[str, Any] | None = None,
) -> None:
    old = OperationState(operation.state)
    Operation.objects.filter(pk=operation.pk, state__in=ACTIVE).update(
        state=transition(OPERATION_MOVES, old, state), result=result, error=error, finished_at=now
    )
    operation.state = state
    if not operations_active(operation.endpoint).exists():
        Endpoint.objects.filter(name=operation.endpoint).exclude(
            provisioning_state=EndpointState.DELETING
        ).update(provisioning_state=EndpointState.SUCCEEDED)


def _with_log(operation: Operation, failure: Failure) -> Failure:
    """The last lines of the replica that failed, when its own words do not hold them."""
    if not failure.replica_id or failure.detail.count("\n") >= 2:
        return failure
    lines = log_lines(
        endpoint=operation.endpoint,
        deployment=operation.deployment,
        replica_id=failure.replica_id,
        tail=LAST_LINES,
    )
    if not lines:
        return failure
    text = "\n".join([*filter(None, [failure.detail]), "Last log lines:", *(x.text for x in lines)])
    return Failure(failure.code, failure.message, text, failure.hints, failure.replica_id)


def _record(
    operation: Operation,
    verb: str,
    message: str,
    severity: Event.Severity = Event.Severity.INFO,
) -> None:
    events.record(
        actor="system",
        verb=verb,
        subject=f"endpoint/{operation.endpoint}",
        message=message,
        severity=severity,
        data={
            "operation": operation.id,
            "kind": operation.kind,
            "deployment": operation.deployment,
        },
    )


def operation_supersede(operation: Operation, now: datetime) -> None:
    """A deletion came: this operation ends at once, and what it started goes with the rest."""
    _close(operation, OperationState.CANCELED, now)
    _record(
        operation,
        "operation.canceled",
        f"Cancelled by a deletion: {describe(operation)}",
        Event.Severity.WARNING,
    )
