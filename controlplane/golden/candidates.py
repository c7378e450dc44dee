"""A deployment that is ready, asked its golden cases before the rollout that it was deployed with
begins."""

from datetime import datetime
from typing import Any

from controlplane.core.errors import DomainError
from controlplane.golden.captured import captured_wanted
from controlplane.golden.rollouts import rollout_answers
from controlplane.operations.models import Operation
from controlplane.operations.services import candidate_answered
from controlplane.operations.types import ACTIVE


def candidate_ask(operation: str, *, now: datetime) -> bool:
    """Ask it what ``POST .../rollouts`` would, and say so to its operation. Whether that waited."""
    row = Operation.objects.filter(pk=operation, state__in=ACTIVE).first()
    if row is None or "rollout" not in row.parameters:
        return False
    asked = {
        "endpoint": row.endpoint,
        "deployment": row.deployment,
        **row.parameters["rollout"],
    }
    answer: dict[str, Any]
    try:
        captured_wanted(**asked)
        found = rollout_answers(now=now, **asked)
        answer = {"golden": found.to_json() if found else None}
    except DomainError as error:
        answer = {"refused": error.message}
    return candidate_answered(operation_id=operation, answer=answer, now=now)
