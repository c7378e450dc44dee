"""Operations: opening, cancelling, trying again."""

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

from django.conf import settings

from controlplane.core import events
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.services.capacity import crowding
from controlplane.deployments.states import ENDPOINTS, EndpointCause
from controlplane.deployments.types import EndpointState
from controlplane.operations.errors import OperationInProgress, RolloutInProgress
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import DELETIONS, TITLES, Stage, stages_new, waves
from controlplane.operations.selectors import operations_active, rollouts_active
from controlplane.operations.services.golden_gates import gate_of, gate_skipped
from controlplane.operations.services.quotas import replicas_check
from controlplane.operations.types import GoldenGate, OperationKind

SHORTEST_DEADLINE: Final = timedelta(minutes=15)
LOAD_ALLOWANCE: Final = timedelta(minutes=7)
SLOWEST_DOWNLOAD: Final = 5_000_000  # bytes per second
PLACE: Final = "/api/v1/operations/"
DELETE_DEADLINE: Final = timedelta(minutes=2)


def deadline_for(kind: OperationKind, deployment: Deployment | None) -> timedelta:
    """How long an operation may take: loading, and downloading over a slow line, wave by wave."""
    if kind in DELETIONS or deployment is None:
        return DELETE_DEADLINE
    download = timedelta(seconds=deployment.revision.model_version.size / SLOWEST_DOWNLOAD)
    rounds = waves(deployment.instance_count, settings.SHOAL_WAVE_REPLICAS)
    return max(SHORTEST_DEADLINE, LOAD_ALLOWANCE + download) * rounds


def stage_data(stage: Stage) -> dict[str, Any]:
    return {
        "name": stage.name.value,
        "title": str(TITLES[stage.name]),
        "status": stage.status.value,
        "started_at": stage.started_at.isoformat() if stage.started_at else None,
        "ended_at": stage.ended_at.isoformat() if stage.ended_at else None,
        "detail": stage.detail,
        "progress": stage.progress,
    }


def operation_open(
    *,
    kind: OperationKind,
    endpoint: Endpoint,
    deployment: Deployment | None,
    parameters: dict[str, Any],
    actor: str,
    now: datetime,
) -> Operation:
    """A new operation in the caller's transaction; the caller has seen that none is in its way.

    ``parameters`` with ``instance_count`` get ``warnings`` of what that may do.
    Raises IllegalTransition where the endpoint is being deleted, unless it deletes, too, and
    ProjectQuotaExceeded.
    """
    name = deployment.name if deployment else ""
    if deployment is not None and "instance_count" in parameters:
        replicas_check(deployment, parameters)
    if crowded := crowding(parameters.get("instance_count", 0)):
        parameters = {**parameters, "warnings": [crowded]}
    gate = gate_of(kind, deployment, parameters)
    stages = stages_new(kind, rolls="rollout" in parameters, asks=gate == GoldenGate.ASK)
    operation = Operation.objects.create(
        id=uuid4().hex,
        kind=kind,
        project_id=endpoint.project_id,
        endpoint=endpoint.name,
        deployment=name,
        stages=[stage_data(stage) for stage in stages],
        parameters=parameters,
        deadline_at=now + deadline_for(kind, deployment),
        created_by=actor,
    )
    leaving = kind == OperationKind.DELETE_ENDPOINT
    cause = EndpointCause.DELETE if leaving else EndpointCause.CHANGE
    if not ENDPOINTS.move(endpoint, cause) and kind not in DELETIONS:
        endpoint.refresh_from_db(fields=["provisioning_state"])
        ENDPOINTS.check(EndpointState(endpoint.provisioning_state), cause)
    events.record(
        actor=actor,
        verb="operation.started",
        subject=f"endpoint/{endpoint.name}",
        message=f"{actor} started: {describe(operation)}",
        data={"operation": operation.id, "kind": kind.value, "deployment": name},
    )
    if gate == GoldenGate.SKIP:
        gate_skipped(operation, actor)
    return operation


def describe(operation: Operation) -> str:
    target = f"{operation.endpoint}/{operation.deployment}".rstrip("/")
    return {
        OperationKind.DEPLOY: f"deploy {target}",
        OperationKind.SCALE: f"scale {target} to {operation.parameters.get('instance_count')}",
        OperationKind.DELETE_DEPLOYMENT: f"delete deployment {target}",
        OperationKind.DELETE_ENDPOINT: f"delete endpoint {target}",
    }[OperationKind(operation.kind)]


def nothing_active(endpoint: str, deployment: str | None = None) -> None:
    """Raises OperationInProgress when something is under way there, and RolloutInProgress when the
    whole endpoint is meant: its traffic is on its way."""
    if deployment is None:
        nothing_rolls(endpoint)
    operation = operations_active(endpoint, deployment).first()
    if operation is None:
        return
    raise in_the_way(f"Another change is under way: {describe(operation)}.", operation)


def nothing_moves(endpoint: str, deployment: str | None = None) -> None:
    """Raises OperationInProgress when something is about to move traffic (to ``deployment``)."""
    for operation in operations_active(endpoint, deployment):
        if operation.parameters.get("traffic"):
            raise in_the_way(
                f"A deployment is about to move the traffic: {describe(operation)}.", operation
            )


def nothing_rolls(endpoint: str, deployment: str = "") -> None:
    """Raises RolloutInProgress where a rollout moves the traffic, to or from ``deployment`` if one
    is named."""
    row = rollouts_active([endpoint]).first()
    if row is None or (deployment and deployment not in {row.candidate, *row.previous_traffic}):
        return
    percent = row.endpoint.traffic.get(row.candidate, 0)
    part = f"{deployment} is part of a rollout" if deployment else "A rollout is under way"
    raise RolloutInProgress(
        f"{part}: {row.candidate} has {percent} % of the traffic of {endpoint}.",
        extra={
            "rollout": row.pk,
            "rollout_url": f"/api/v1/endpoints/{endpoint}/rollouts/{row.pk}",
        },
    )


def in_the_way(
    message: str, operation: Operation | None, *, hints: tuple[str, ...] = ()
) -> OperationInProgress:
    """The error for a change that has to wait, with a link to what it waits for."""
    extra: dict[str, str | None] = {"operation": None, "operation_url": None}
    if operation is not None:
        extra = {"operation": operation.id, "operation_url": f"{PLACE}{operation.id}"}
    return OperationInProgress(message, hints=hints, extra=extra)


def not_deleting(endpoint: Endpoint) -> None:
    if endpoint.provisioning_state == EndpointState.DELETING:
        raise in_the_way(
            f"{endpoint.name} is being deleted.",
            operations_active(endpoint.name).first(),
            hints=("Its name is free again in a moment.",),
        )
