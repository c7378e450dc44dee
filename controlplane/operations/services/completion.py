"""How operations end: what is set right when one succeeds, fails, is cancelled or superseded."""

from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, DeploymentRevision, Endpoint, Replica
from controlplane.deployments.rules import rules_naming
from controlplane.deployments.selectors import addresses
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.services.replicas import (
    replicas_remove,
    replicas_retire,
    replicas_stop,
)
from controlplane.deployments.services.traffic import shares_write
from controlplane.deployments.states import DEPLOYMENTS, ENDPOINTS, DeploymentCause, EndpointCause
from controlplane.deployments.traffic import traffic_check, traffic_without
from controlplane.deployments.types import DeploymentState, Desired, Failure, failure_data
from controlplane.metrics.selectors import log_lines
from controlplane.metrics.services import logs_forget
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import DELETIONS
from controlplane.operations.selectors import operations_active
from controlplane.operations.services.operations import describe
from controlplane.operations.services.rollout_ends import rollout_supersede
from controlplane.operations.services.rollout_firsts import rollout_first
from controlplane.operations.states import OPERATIONS, OperationCause
from controlplane.operations.types import ACTIVE, OperationKind, OperationState
from controlplane.registry.selectors import models_called

LAST_LINES = 20


def operation_succeed(operation: Operation, now: datetime) -> None:
    if operation.kind in DELETIONS:
        _forget(operation)
        result = None
    else:
        deployment = _deployment(operation)
        replicas_retire(operation.parameters.get("old_ids", []), now)
        if operation.kind == OperationKind.DEPLOY:
            DeploymentRevision.objects.filter(pk=deployment.revision_id).update(succeeded=True)
        _deployment_move(deployment, DeploymentCause.SUCCEED, None)
        result = deploy_result(deployment)
        if "rollout" in operation.parameters:
            result["rollout"] = rollout_first(operation, now)
    _close(operation, OperationCause.SUCCEED, now, result=result)
    _record(operation, "operation.succeeded", f"Done: {describe(operation)}")


def operation_fail(operation: Operation, failure: Failure, now: datetime) -> None:
    error = failure_data(_with_log(operation, failure))
    _undo(operation, DeploymentCause.FAIL, error)
    _close(operation, OperationCause.FAIL, now, error=error)
    _record(
        operation,
        "operation.failed",
        f"Failed: {describe(operation)}. {failure.message}",
        Event.Severity.ERROR,
    )


def operation_end_canceled(operation: Operation, now: datetime) -> None:
    _undo(operation, DeploymentCause.CANCEL, None)
    _close(operation, OperationCause.CANCEL, now)
    _record(
        operation, "operation.canceled", f"Cancelled: {describe(operation)}", Event.Severity.WARNING
    )


def operation_supersede(operation: Operation, now: datetime) -> None:
    """A deletion came: this operation ends at once, and what it started goes with the rest."""
    _close(operation, OperationCause.SUPERSEDE, now)
    _record(
        operation,
        "operation.canceled",
        f"Cancelled by a deletion: {describe(operation)}",
        Event.Severity.WARNING,
    )


@transaction.atomic
def operation_abandon(operation: Operation, now: datetime) -> None:
    """The last resort for one that cannot be advanced at all: it ends, and what runs is left alone.

    Its deployment is Failed, so that nobody waits for it: it may be retried, replaced or deleted.
    """
    error = failure_data(
        Failure(
            "InternalError",
            "This operation could not be carried on.",
            hints=("The log of the control worker has the cause.",),
        )
    )
    rows = Deployment.objects.filter(endpoint__name=operation.endpoint, name=operation.deployment)
    endpoint_lock(operation.endpoint)
    DEPLOYMENTS.write(rows, DeploymentCause.GIVE_UP, error=error, updated_at=timezone.now())
    _close(operation, OperationCause.GIVE_UP, now, error=error)
    _record(operation, "operation.failed", f"Given up: {describe(operation)}", Event.Severity.ERROR)


def deploy_result(deployment: Deployment) -> dict[str, Any]:
    """What whoever deployed wants to know next."""
    endpoint = Endpoint.objects.get(pk=deployment.endpoint_id)
    version = deployment.revision.model_version
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
        "rollout": None,
        "idle_deployments": sorted(
            name
            for name in others
            if not endpoint.traffic.get(name) and not rules_naming(endpoint.traffic_rules, name)
        ),
    }


def _deployment(operation: Operation) -> Deployment:
    return Deployment.objects.select_related("endpoint", "revision__model_version__model").get(
        endpoint__name=operation.endpoint, name=operation.deployment
    )


def _undo(operation: Operation, cause: DeploymentCause, error: dict[str, Any] | None) -> None:
    """What served before serves on; what this operation started stops, and is not started again.

    Where nothing served, the deployment ends by ``cause``.
    """
    deployment = _deployment(operation)
    parameters = operation.parameters
    replicas_retire(parameters.get("placed_ids", []), timezone.now())
    _traffic_restore(deployment, operation)
    if "previous_revision" in parameters:  # the old replicas were never stopped
        back = deployment.revisions.filter(number=parameters["previous_revision"]).first()
        if back is not None:
            count = parameters.get("previous_count", deployment.instance_count)
            Deployment.objects.filter(pk=deployment.pk).update(revision=back, instance_count=count)
        _deployment_move(deployment, DeploymentCause.RESTORE, None)
        return
    if "previous_count" in parameters:  # what served before is untouched
        count = parameters["previous_count"]
        paused = parameters.get(
            "previous_paused", deployment.instance_count or deployment.paused_count
        )
        Deployment.objects.filter(pk=deployment.pk).update(
            instance_count=count, paused_count=None if count else paused
        )
        _deployment_move(deployment, DeploymentCause.RESTORE, None)
        return
    running = deployment.replicas.filter(desired=Desired.RUNNING).values_list("id", flat=True)
    replicas_stop(running)
    _deployment_move(deployment, cause, error)


def _traffic_restore(deployment: Deployment, operation: Operation) -> None:
    """If this operation has moved the traffic already, move it back."""
    parameters = operation.parameters
    if "previous_traffic" not in parameters:
        return
    endpoint = Endpoint.objects.get(pk=deployment.endpoint_id)
    names = set(endpoint.deployments.values_list("name", flat=True))
    before = {k: v for k, v in parameters["previous_traffic"].items() if k in names}
    if sum(before.values()) not in (0, 100):  # one of them was deleted meanwhile
        before = traffic_without(before, "")
    traffic = traffic_check(before, deployments=names, unready={})
    shares_write(
        endpoint,
        traffic,
        actor=operation.created_by,
        now=timezone.now(),
        watched=False,
        operation=operation.id,
    )


def _deployment_move(
    deployment: Deployment, cause: DeploymentCause, error: dict[str, Any] | None
) -> None:
    """Compare-and-set: a deletion that came in between wins. Raises IllegalTransition."""
    if DEPLOYMENTS.move(deployment, cause, error=error, updated_at=timezone.now()):
        return
    deployment.refresh_from_db(fields=["provisioning_state"])
    state = DeploymentState(deployment.provisioning_state)
    if state != DeploymentState.DELETING:
        DEPLOYMENTS.check(state, cause)


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
    cause: OperationCause,
    now: datetime,
    *,
    result: dict[str, Any] | None = None,
    error: dict[str, Any] | None = None,
) -> None:
    OPERATIONS.check(OperationState(operation.state), cause)
    OPERATIONS.move(operation, cause, result=result, error=error, finished_at=now)
    if not operations_active(operation.endpoint).exists():
        rows = Endpoint.objects.filter(name=operation.endpoint)
        ENDPOINTS.write(rows, EndpointCause.SETTLE)


def _with_log(operation: Operation, failure: Failure) -> Failure:
    """The last lines of the replica that failed, when its own words do not hold them."""
    if not failure.replica_id or failure.detail.count("\n") >= 2:
        return failure
    lines = log_lines(
        endpoint=operation.endpoint,
        deployment=operation.deployment,
        replica_id=failure.replica_id,
        tail=LAST_LINES,
    ).lines
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


@transaction.atomic
def operations_supersede(
    *,
    endpoint: str,
    deployment: str | None,
    actor: str,
    now: datetime,
    moving_traffic: bool = False,
) -> int:
    """End what is under way at a deployment, or anywhere at the endpoint; deletions go on.

    The caller holds the endpoint and makes its own change in the same transaction: if that is
    refused, what was under way goes on. ``moving_traffic``: only what is about to move traffic. A
    rollout ends with what is under way anywhere, and leaves the traffic as it is.
    Returns how many have been ended.
    """
    ended = rollout_supersede(endpoint, actor=actor, now=now) if deployment is None else 0
    for running in operations_active(endpoint, deployment):
        if running.kind in DELETIONS:
            continue
        if moving_traffic and not running.parameters.get("traffic"):
            continue
        # why a new revision: a step that another process has decided on is not taken any more
        mine = Operation.objects.filter(pk=running.pk, state__in=ACTIVE).update(
            revision=F("revision") + 1, cancel_requested=True
        )
        if not mine:
            continue  # it has just ended
        running.refresh_from_db()
        events.record(
            actor=actor,
            verb="operation.superseded",
            subject=f"endpoint/{endpoint}",
            message=f"{actor} goes on with something else than: {describe(running)}",
            data={"operation": running.id, "deployment": running.deployment},
        )
        operation_end_canceled(running, now)
        ended += 1
    return ended
