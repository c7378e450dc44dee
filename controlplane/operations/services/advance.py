"""Moving one operation on.

Called by beat and directly by whatever changes something, several at once if it so happens: each
step is decided on values and applied in one transaction that only the first writer gets through.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from controlplane.core import events
from controlplane.core.jobs import enqueue_on_commit
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.services.locks import endpoint_hold
from controlplane.deployments.services.replicas import (
    replicas_admit,
    replicas_retire,
    replicas_stop,
    replicas_write,
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


def operation_advance(operation: Operation, *, now: datetime) -> Operation:
    """Take all the steps that can be taken now; returns the operation as the last of them left it.

    ``operation`` is as it was read a moment ago: what has become of it since shows when a step is
    to be written.
    """
    found = operation
    for _ in range(MAX_STEPS):
        if found.state not in ACTIVE:
            break
        deployment = facts.deployment_of(found)
        case = facts.case_load(found, deployment, now)
        step = operation_step(case)
        if _rests(case, step):
            break
        try:
            rests = _apply(found, deployment, case, step, now)
        except Overtaken:
            newer = Operation.objects.filter(pk=operation.pk).first()
            if newer is None:
                break
            found = newer
        else:
            if found.state not in ACTIVE:
                found.refresh_from_db()  # what ends it writes more than its steps
            if rests:
                break
    return found


def _rests(case: Case, step: Step) -> bool:
    return step.stages == case.stages and not step.actions


def operation_cancel(*, operation_id: str, actor: str, now: datetime) -> Operation:
    """Stop it at whatever stage it is; what served before serves on.

    Raises OperationNotFound, OperationFinished.
    """
    _cancel_request(operation_id=operation_id, actor=actor)
    return operation_advance(operation_get(operation_id), now=now)


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
    endpoint_hold(asked.endpoint)
    operation = Operation.objects.filter(pk=operation_id, state__in=ACTIVE).first()
    return None if operation and "candidate_answer" in operation.parameters else operation


def _answer_keep(operation: Operation, kept: dict[str, Any]) -> None:
    operation.parameters.update(kept)
    # why a new revision: a step that was decided on without it would write it away
    Operation.objects.filter(pk=operation.pk).update(
        parameters=operation.parameters, revision=F("revision") + 1
    )


@transaction.atomic
def _apply(
    operation: Operation, deployment: Deployment | None, case: Case, step: Step, now: datetime
) -> bool:
    """Write the step into the database and into ``operation``, which is then the row that was
    written. Whether nothing more can be done now: what moves it on comes here itself."""
    endpoint_hold(operation.endpoint)
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
    operation.revision += 1
    told = _stage_events(operation, step.stages, before)
    case = replace(case, stages=step.stages)
    only = step.actions[0] if len(step.actions) == 1 else None
    if isinstance(only, Place) and deployment is not None:
        return _place(operation, deployment, only, case, told)
    events.record_all(told)
    if not step.actions:
        return _rests(case, operation_step(case))
    if isinstance(only, Route):
        generation = _route(operation, now)
        return _onward(operation, replace(case, route_generation=generation))
    for action in step.actions:
        _act(operation, action, now)
    return False


def _act(operation: Operation, action: Action, now: datetime) -> None:
    match action:
        case Stop(replica_ids) if operation.kind in DELETIONS:
            replicas_stop(replica_ids)  # nothing is routed there any more
        case Stop(replica_ids):
            replicas_retire(replica_ids, now)
        case Reach() | AskCandidate():
            _ask(operation, action, now)
        case Finish():
            completion.operation_succeed(operation, now)
        case Fail(failure):
            completion.operation_fail(operation, failure, now)
        case Cancel():
            completion.operation_end_canceled(operation, now)
        case Place() | Route() | Restart() | Rest() | Move() | Retire() | Remove():
            raise AssertionError(f"{action} is no action among others of an operation")


def _place(
    operation: Operation, deployment: Deployment, action: Place, case: Case, told: list[Event]
) -> bool:
    """Place them, and go on to the stage that waits for their nodes: nobody knows more of them
    than what was written here. Whether it got there. ``told``: what comes before in the log.

    Whoever changes what the deployment runs ends its operation first, so that ``deployment``, read
    after the operation, is as it was when the step was claimed.
    """
    asks = asks_first(operation)
    placed, news = replicas_write(deployment, action.assigned, case.now, held_out=asks)
    told = [*told, *news]
    ids = [row.pk for row in placed]
    for name in ("replica_ids", "placed_ids"):
        operation.parameters[name] = [*operation.parameters.get(name, []), *ids]
    operation.parameters["route_generation"] = None
    gate_forget(operation.parameters)
    return _onward(operation, facts.case_placed(case, placed), told)


def _onward(operation: Operation, case: Case, told: Sequence[Event] = ()) -> bool:
    """Save parameters, and the stages that ``case`` leads to where it only waits from there on.
    Whether it does."""
    step = operation_step(case)
    if step.actions:
        events.record_all(told)
        _parameters_save(operation)
        return False
    before = {data["name"]: data["status"] for data in operation.stages}
    operation.stages = [stage_data(stage) for stage in step.stages]
    events.record_all([*told, *_stage_events(operation, step.stages, before)])
    _parameters_save(operation, stages=operation.stages)
    return True


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


def _route(operation: Operation, now: datetime) -> int:
    """Move the traffic; returns the generation of the endpoint that gateways have to confirm, which
    ``operation`` keeps once it is saved."""
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
    generation = Endpoint.objects.values_list("generation", flat=True).get(pk=endpoint.pk)
    operation.parameters["route_generation"] = generation
    return generation


def _parameters_save(operation: Operation, **fields: Any) -> None:
    rows = Operation.objects.filter(pk=operation.pk)
    rows.update(parameters=operation.parameters, **fields)


def _stage_events(
    operation: Operation, stages: tuple[Stage, ...], before: dict[str, str]
) -> list[Event]:
    """One for each that succeeded now; ``before``: name -> status."""
    return [
        _stage_event(operation, stage)
        for stage in stages
        if stage.status == StageStatus.SUCCEEDED and before.get(stage.name) != stage.status
    ]


def _stage_event(operation: Operation, stage: Stage) -> Event:
    return Event(
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
