"""New replicas that are ready, asked their golden cases: before the rollout that they were deployed
with begins, or before the first request of a client."""

from datetime import datetime
from typing import Any, Final

from controlplane.core.errors import DomainError
from controlplane.deployments.models import Replica
from controlplane.deployments.naming import held_out_name
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.types import Desired
from controlplane.golden.captured import captured_wanted
from controlplane.golden.rollouts import answers_of, rollout_answers
from controlplane.operations.models import Operation
from controlplane.operations.services import asks_first, candidate_answered, candidate_begin

GATE_S: Final = 60.0  # that all cases may take once: nobody else waits for the new replicas


def candidate_ask(operation: str, *, now: datetime) -> bool:
    """Ask it, and say so to its operation. Whether that waited, for this job and no other."""
    row = candidate_begin(operation_id=operation, now=now)
    if row is None:
        return False
    if "rollout" in row.parameters:
        answer = _before_rollout(row, now)
    elif asks_first(row):
        answer = _before_requests(row, now)
    else:
        return False
    return candidate_answered(
        operation_id=operation,
        asked_at=row.parameters["candidate_asked"],
        answer=answer,
        now=now,
    )


def _before_rollout(row: Operation, now: datetime) -> dict[str, Any]:
    """What ``POST .../rollouts`` would ask."""
    asked = {
        "endpoint": row.endpoint,
        "deployment": row.deployment,
        **row.parameters["rollout"],
    }
    try:
        captured_wanted(**asked)
        found = rollout_answers(now=now, **asked)
    except DomainError as error:
        return {"refused": error.message}
    return {"golden": found.to_json() if found else None}


def _before_requests(row: Operation, now: datetime) -> dict[str, Any]:
    """A wrong answer is the end of it; a case that was not answered is asked again."""
    try:
        candidate = deployment_get(row.endpoint, row.deployment)
        found = answers_of(candidate, now, called=_reached_by(row), within_s=GATE_S)
    except DomainError as error:
        return {"unanswered": [error.message]}
    if found.unanswered and not found.wrong:
        return {"unanswered": found.to_json()["unanswered"]}
    return {"golden": found.to_json(), "cases": [*found.wrong, *found.unanswered]}


def _reached_by(row: Operation) -> str:
    """What runs already, without a request, has no name but the deployment's."""
    mine = Replica.objects.filter(pk__in=row.parameters.get("replica_ids", []), held_out=True)
    held_out = mine.filter(desired=Desired.RUNNING).exists()
    return held_out_name(row.deployment) if held_out else row.deployment
