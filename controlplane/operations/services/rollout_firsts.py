"""Rollouts that are asked for with a deployment: checked before anything is made, begun once it is
ready, by whatever ends its operation."""

from datetime import datetime
from typing import Any, Final

from django.db import transaction

from controlplane.core import events
from controlplane.core.errors import DomainError, Invalid
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.operations.errors import RolloutInvalid
from controlplane.operations.models import Operation
from controlplane.operations.services.rollout_changes import rollout_fits, rollout_start
from controlplane.operations.types import StageName, StageStatus
from controlplane.rollouts import Plan, golden_from_json, plan_asked

UNASKED: Final = "its golden cases were not asked in time; is the worker of the queue ingest up?"


def plan_read(asked: dict[str, Any]) -> Plan:
    """Raises Invalid, which names the field below ``rollout``."""
    try:
        return plan_asked(**asked)
    except Invalid as error:
        where = f"rollout.{error.field}"
        raise Invalid(f"rollout.{error.message}", field=where, hints=error.hints) from error


def rollout_check(endpoint: Endpoint, name: str, asked: dict[str, Any] | None) -> None:
    """Whether it could begin with the traffic as it is now. Raises RolloutInvalid."""
    if asked is None:
        return
    try:
        rollout_fits(endpoint, name, plan_read(asked))
    except RolloutInvalid as error:
        below = "" if error.field == "deployment" else f".{error.field}"
        hints = error.hints
        if not any(endpoint.traffic.values()):
            hints = ("Without it `traffic: 100` gives the deployment all of the requests.",)
        raise RolloutInvalid(error.message, field=f"rollout{below}", hints=hints) from error


def rollout_first(operation: Operation, now: datetime) -> str | None:
    """Begin it, and write into the stage what came of it; the deployment has succeeded, and the
    caller holds its endpoint. Returns the id, None where it could not begin."""
    try:
        with transaction.atomic():
            row = _begun(operation, now)
    except DomainError as error:
        _stage_end(operation, StageStatus.FAILED, f"Not begun: {error.message}", now)
        events.record(
            actor="system",
            verb="rollout.not_begun",
            subject=f"endpoint/{operation.endpoint}",
            message=f"Rollout of {operation.deployment}: not begun. {error.message}",
            severity=Event.Severity.WARNING,
            data={
                "operation": operation.id,
                "deployment": operation.deployment,
                "code": error.code,
            },
        )
        return None
    _stage_end(operation, StageStatus.SUCCEEDED, row[1], now)
    return row[0]


def _begun(operation: Operation, now: datetime) -> tuple[str, str]:
    """Its id, and its steps in words. Raises what ``rollout_start`` raises."""
    answer = operation.parameters.get("candidate_answer") or {"refused": UNASKED}
    if refused := answer.get("refused"):
        raise RolloutInvalid(refused)
    golden = answer["golden"]
    row = rollout_start(
        endpoint=operation.endpoint,
        deployment=operation.deployment,
        actor=operation.created_by,
        now=now,
        golden=golden_from_json(golden) if golden else None,
        **operation.parameters["rollout"],
    )
    told = [
        f"copies of {stage['mirror']} %" if stage["mirror"] else f"{stage['percent']} %"
        for stage in row.stages
    ]
    return row.pk, f"{operation.deployment} gets {' → '.join(told)}"


def _stage_end(operation: Operation, status: StageStatus, detail: str, now: datetime) -> None:
    """The progress is whole in either way: the deployment is done."""
    stages = Operation.objects.values_list("stages", flat=True).get(pk=operation.pk)
    ended = {
        "status": status.value,
        "ended_at": now.isoformat(),
        "detail": detail,
        "progress": 1.0,
    }
    operation.stages = [
        {**stage, **ended} if stage["name"] == StageName.ROLLOUT else stage for stage in stages
    ]
    Operation.objects.filter(pk=operation.pk).update(stages=operation.stages)
