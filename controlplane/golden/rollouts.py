"""Golden cases as a guardrail of rollouts: asked of the candidate before it gets traffic, in each
step, and again while that lasts. What it means is ``controlplane.rollouts``'."""

from datetime import datetime
from typing import Any, Final

from controlplane.core.errors import Conflict, DomainError
from controlplane.core.jobs import enqueue_on_commit
from controlplane.deployments.models import Deployment
from controlplane.deployments.selectors import deployment_get
from controlplane.golden.asking import Outcome, Status
from controlplane.golden.cases import MOST_CASES, asked, golden_cases
from controlplane.operations.models import Rollout
from controlplane.operations.selectors import rollouts_active, waking_since
from controlplane.operations.types import ROLLING
from controlplane.rollouts import (
    GOLDEN,
    Golden,
    golden_due,
    golden_from_json,
    golden_text,
    plan_asked,
    plan_from_json,
)

WITHIN_S: Final = 20.0  # that all cases may take once


class GoldenCasesFailed(Conflict):
    """``extra``: ``cases``, what was answered to each that failed."""

    code = "GoldenCasesFailed"
    tries = ("Where the new answers are right, accept them: `shoal test accept`.",)


def rollout_answers(*, endpoint: str, deployment: str, now: datetime, **plan: Any) -> Golden | None:
    """What the candidate answers before it gets traffic; None where nobody asked: it is no
    guardrail of ``plan``, or the candidate sleeps. Raises EndpointNotFound, DeploymentNotFound,
    Invalid, GoldenCasesFailed."""
    guardrail = plan_asked(**plan).guardrails.get(GOLDEN)
    candidate = deployment_get(endpoint, deployment)
    if guardrail is None or is_asleep(candidate):
        return None
    found = answers_of(candidate, now)
    if len(found.wrong) > guardrail.tolerance:
        raise GoldenCasesFailed(
            f"{golden_text(found, deployment)} It has not been given traffic.",
            field="deployment",
            hints=(
                f"Where its answers are right, accept them: `shoal test accept {endpoint} "
                f"-d {deployment}`.",
                "`--without golden` (`guardrails.golden: null`) begins without looking at them.",
            ),
            extra={"cases": list(found.wrong)},
        )
    return found


def rollouts_due(*, now: datetime) -> int:
    """Have the candidates asked whose turn it is, each by a job of its own. Returns how many."""
    due = [row for row in rollouts_active() if _is_due(row, now)]
    for row in due:
        enqueue_on_commit("golden.rollout", queue="ingest", expires_s=10, rollout=row.pk)
    return len(due)


def rollout_ask(rollout: str, *, now: datetime) -> bool:
    """Ask the candidate, and write down what it answered. Whether this one did."""
    row = rollouts_active().filter(pk=rollout).first()
    if row is None or not _is_due(row, now):
        return False
    candidate = candidate_awake(row)
    if candidate is None:
        return False
    mine = Rollout.objects.filter(pk=row.pk, state__in=ROLLING)
    # why claimed: of two jobs one asks; should it die, another does after the pace
    if not mine.filter(golden_asked_at=row.golden_asked_at).update(golden_asked_at=now):
        return False
    found = answers_of(candidate, now)
    kept = mine.filter(golden_asked_at=now, revision=found.revision)
    if not kept.update(golden=found.to_json()):
        return False
    enqueue_on_commit("operations.rollouts", expires_s=5)
    return True


def _is_due(row: Rollout, now: datetime) -> bool:
    asked_at = row.golden_asked_at.timestamp() if row.golden_asked_at else None
    watched = GOLDEN in plan_from_json(row.plan).guardrails
    slow, since = golden_from_json(row.golden).slow, float(row.memory["since"])
    return watched and golden_due(asked_at, since, now.timestamp(), slow=slow)


def candidate_awake(row: Rollout) -> Deployment | None:
    """None where it is gone, which the next look withdraws it for, or asleep."""
    try:
        candidate = deployment_get(row.endpoint.name, row.candidate)
    except DomainError:
        return None
    return None if is_asleep(candidate) else candidate


def is_asleep(candidate: Deployment) -> bool:
    """Asking would wake it, or wait until it is awake, and count as a time-out."""
    if candidate.idle_rule is None:
        return False
    return not candidate.instance_count or waking_since(candidate) is not None


def answers_of(
    candidate: Deployment, now: datetime, *, called: str = "", within_s: float = WITHIN_S
) -> Golden:
    """``called``: by which name gateways reach those that are asked, its own unless said.

    After a time-out no further one is asked: they would time out, too."""
    endpoint, name = candidate.endpoint.name, candidate.name
    rows = list(golden_cases(endpoint, name)[:MOST_CASES])
    outcomes: list[Outcome] = []
    slow = False
    for one in asked(endpoint, called or name, rows, within_s=within_s) if rows else ():
        outcomes.append(one)
        slow = one.status == Status.UNANSWERED and not one.code
        if slow:
            break
    return Golden(
        at=now.timestamp(),
        revision=candidate.revision.number,
        cases=len(rows),
        wrong=tuple(_told(one) for one in outcomes if one.wrong),
        unanswered=(
            *(_told(one) for one in outcomes if one.status == Status.UNANSWERED),
            *(f"{row.name!r} of {row.model}, it was not asked" for row in rows[len(outcomes) :]),
        ),
        slow=slow,
    )


def _told(one: Outcome) -> str:
    return f"{one.case!r} of {one.model}, {one.text}"
