"""Moving one operation on.

Called by beat and directly by whatever changes something, several at once if it so happens: each
step is decided on values and applied in one transaction that only the first writer gets through.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.core import events
from controlplane.core.jobs import enqueue_on_commit
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.services.replicas import (
    replicas_admit,
    replicas_place,
    replicas_retire,
    replicas_stop,
)
from controlplane.deployments.services.traffic import shares_write
from controlplane.deployments.traffic import traffic_shift, traffic_without
from controlplane.operations.errors import OperationFinished
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import (
    DELETIONS,
    QUEUE_TIMEOUT,
    Action,
    AskCandidate,
    Cancel,
    Case,
    Fail,
    Finish,
    Move,
    Place,
    Reach,
    Remove,
    Rest,
    Restart,
    Retire,
    Route,
    Stage,
    Step,
    Stop,
    operation_step,
)
from controlplane.operations.selectors import operation_get
from controlplane.operations.services import completion, facts
from controlplane.operations.services.golden_gates import asks_first, gate_forget
from controlplane.operations.services.operations import describe, stage_data
from controlplane.operations.states import OPERATIONS, OperationCause
from controlplane.operations.types import ACTIVE, OperationKind, StageStatus

MAX_STEPS = 32  # of one operation in one pass: more than its stages need


class Overtaken(Exception):
    """Another pass has moved the row since it was read; nothing was written."""


def operation_advance(operation: Operation, *, now: datetime) -> None:
    """Take all the steps that can be taken now. ``operation`` is as it was read a moment ago: what
    has become of it since shows when a step is to be written."""
    found: Operation | None = operation
    for _ in range(MAX_STEPS):
        if found is None:
            return
        case = facts.case_load(found, now)
        step = operation_step(case)
        if _rests(case, step):
            return
        try:
            _apply(found, step, now)
        except Overtaken:
            pass
        else:
            case = replace(case, stages=step.stages)
            # why: nothing but the stages is new, and what moves the rest on comes here itself
            if not step.actions and _rests(case, operation_step(case)):
                return
        found = Operation.objects.filter(pk=operation.pk, state__in=ACTIVE).first()


def _rests(case: Case, step: Step) -> bool:
    return step.stages == case.stages and not step.actions


def advanced(operation: Operation, now: datetime) -> Operation:
    operation_advance(operation, now=now)
    operation.refresh_from_db()
    return operation


def operation_cancel(*, operation_id: str, actor: str, now: datetime) -> Operation:
    """Stop it at whatever stage it is; what served before serves on.

    Raises OperationNotFound, OperationFinished.
    """
    _cancel_request(operation_id=operation_id, actor=actor)
    return advanced(operation_get(operation_id), now)


@transaction.atomic
def _cancel_request(*, operation_id: str, actor: str) -> None:
    """Note the wish; the next step heeds it. Raises OperationNotFound, OperationFinished."""
    operation = operation_get(operation_id)
    if operation.kind in DELETIONS:
        raise OperationFinished(
            "A deletion cannot be taken back.",
            code="NotCancelable",
            hints=("Wait for its end, then make it anew.",),
        )
    asked = Operation.objects.filter(pk=operation.pk, state__in=ACTIVE).update(
        cancel_requested=True
    )
    if not asked:
        raise OperationFinished(f"It has ended already: {operation.state}.")
    events.record(
        actor=actor,
        verb="operation.cancel_requested",
        subject=f"endpoint/{operation.endpoint}",
        message=f"{actor} asked to cancel: {describe(operation)}",
        data={"operation": operation.id, "deployment": operation.deployment},
    )


@transaction.atomic
def candidate_begin(*, operation_id: str, now: datetime) -> Operation | None:
    """The operation whose candidate is to be asked now, by who calls this alone. None where nobody
    waits for that, or another job asks already: jobs are sent again where one may be lost."""
    operation = _waiting(operation_id)
    if operation is None or "candidate_began" in operation.parameters:
        return None
    if "candidate_asked" not in operation.parameters:
        return None
    began = now.isoformat()
    first = operation.parameters.get("candidate_first", began)
    _answer_keep(operation, {"candidate_began": began, "candidate_first": first})
    return operation


def candidate_answered(
    *, operation_id: str, asked_at: str, answer: dict[str, Any], now: datetime
) -> bool:
    """What came of asking the candidate, as ``asked_at`` calls it: ``golden``, as it is kept, with
    ``cases``, a line for each that failed; or ``refused``, why it goes no further; or
    ``unanswered``, why it is asked again. Whether somebody still waited for it."""
    with transaction.atomic():
        operation = _waiting(operation_id)
        if operation is None or operation.parameters.get("candidate_asked") != asked_at:
            return False  # others are asked by now
        kept = {"candidate_answer": answer}
        if "unanswered" in answer:
            kept = {"candidate_tried": {"asked": asked_at, **answer}}
        _answer_keep(operation, kept)
    operation_advance(operation_get(operation_id), now=now)
    return True


def _waiting(operation_id: str) -> Operation | None:
    """The operation, locked, while it goes on and its candidate has not answered."""
    asked = Operation.objects.filter(pk=operation_id).first()
    if asked is None:
        return None
    endpoint_lock(asked.endpoint)
    operation = Operation.objects.filter(pk=operation_id, state__in=ACTIVE).first()
    return None if operation and "candidate_answer" in operation.parameters else operation


def _answer_keep(operation: Operation, kept: dict[str, Any]) -> None:
    operation.parameters.update(kept)
    # why a new revision: a step that was decided on without it would write it away
    Operation.objects.filter(pk=operation.pk).update(
        parameters=operation.parameters, revision=F("revision") + 1
    )


@transaction.atomic
def _apply(operation: Operation, step: Step, now: datetime) -> None:
    endpoint_lock(operation.endpoint)
    before = {data["name"]: data["status"] for data in operation.stages}
    claimed = OPERATIONS.move(
        operation,
        OperationCause.STEP,
        rows=Operation.objects.filter(revision=operation.revision),
        revision=F("revision") + 1,
        stages=[stage_data(stage) for stage in step.stages],
        updated_at=timezone.now(),
    )
    if not claimed:
        raise Overtaken
    for stage in step.stages:
        if stage.status == StageStatus.SUCCEEDED and before.get(stage.name) != stage.status:
            _record_stage(operation, stage)
    for action in step.actions:
        _act(operation, action, now)


def _act(operation: Operation, action: Action, now: datetime) -> None:
    match action:
        case Place(assigned):
            _place(operation, assigned, now)
        case Stop(replica_ids) if operation.kind in DELETIONS:
            replicas_stop(replica_ids)  # nothing is routed there any more
        case Stop(replica_ids):
            replicas_retire(replica_ids, now)
        case Route():
            _route(operation, now)
        case Reach() | AskCandidate():
            _ask(operation, action, now)
        case Finish():
            completion.operation_succeed(operation, now)
        case Fail(failure):
            completion.operation_fail(operation, failure, now)
        case Cancel():
            completion.operation_end_canceled(operation, now)
        case Restart() | Rest() | Move() | Retire() | Remove():
            raise AssertionError(f"{action} belongs to upkeep, not to an operation")


def _place(operation: Operation, assigned: tuple[tuple[int, str], ...], now: datetime) -> None:
    rows = Deployment.objects.select_related("endpoint", "revision__instance_type")
    deployment = rows.get(endpoint__name=operation.endpoint, name=operation.deployment)
    asks = asks_first(operation)
    placed = replicas_place(deployment, assigned, now, held_out=asks)
    for name in ("replica_ids", "placed_ids"):
        operation.parameters[name] = [*operation.parameters.get(name, []), *placed]
    operation.parameters["route_generation"] = None
    gate_forget(operation.parameters)
    _parameters_save(operation)


def _ask(operation: Operation, action: Reach | AskCandidate, now: datetime) -> None:
    if isinstance(action, Reach):
        generation = Endpoint.objects.values_list("generation", flat=True)
        operation.parameters["candidate_generation"] = generation.get(name=operation.endpoint)
    else:
        # why a job: it calls the candidate, which takes seconds
        enqueue_on_commit(
            "golden.candidate",
            queue="ingest",
            expires_s=int(QUEUE_TIMEOUT.total_seconds()),  # it keeps its place behind others
            operation=operation.id,
        )
        operation.parameters["candidate_asked"] = now.isoformat()
        operation.parameters.pop("candidate_began", None)
    _parameters_save(operation)


def _route(operation: Operation, now: datetime) -> None:
    """Move the traffic and note which generation of the endpoint gateways have to confirm."""
    endpoint = Endpoint.objects.get(name=operation.endpoint)
    if operation.kind == OperationKind.DELETE_ENDPOINT:
        traffic: dict[str, int] = {}
    elif operation.kind == OperationKind.DELETE_DEPLOYMENT:
        traffic = traffic_without(endpoint.traffic, operation.deployment)
    elif operation.parameters.get("traffic"):
        operation.parameters.setdefault("previous_traffic", endpoint.traffic)
        wanted = operation.parameters["traffic"]
        traffic = traffic_shift(endpoint.traffic, operation.deployment, wanted)
    else:
        traffic = endpoint.traffic
    leaving = operation.kind == OperationKind.DELETE_DEPLOYMENT
    replicas_admit(operation.parameters.get("placed_ids", []))
    shares_write(
        endpoint,
        traffic,
        actor=operation.created_by,
        now=now,
        gone=operation.deployment if leaving else "",
        # why not: there is no way back to who is gone, and where nobody answered, nothing to lose
        watched=not leaving and any(endpoint.traffic.values()),
        operation=operation.id,
    )
    endpoint.refresh_from_db(fields=["generation"])
    operation.parameters["route_generation"] = endpoint.generation
    _parameters_save(operation)


def _parameters_save(operation: Operation) -> None:
    Operation.objects.filter(pk=operation.pk).update(parameters=operation.parameters)


def _record_stage(operation: Operation, stage: Stage) -> None:
    events.record(
        actor="system",
        verb="operation.stage_succeeded",
        subject=f"endpoint/{operation.endpoint}",
        message=f"{operation.endpoint}/{operation.deployment}".rstrip("/")
        + f": {stage.name.value} done"
        + (f" ({stage.detail})" if stage.detail else ""),
        data={
            "operation": operation.id,
            "stage": stage.name.value,
            "deployment": operation.deployment,
        },
    )
