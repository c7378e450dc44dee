"""What a judgement needs to know besides requests: replicas of both arms, and what they run."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.deployments.types import Desired, ReplicaState
from controlplane.operations.models import Rollout
from controlplane.operations.selectors import waking_since
from controlplane.operations.services.rollout_carried import Carried
from controlplane.rollouts import (
    ANSWERS,
    GOLDEN,
    Compared,
    Facts,
    Golden,
    Side,
    compared_from_json,
    golden_from_json,
)


def facts_of(
    row: Rollout, endpoint: Endpoint, carried: Carried, now: datetime, *, behind: bool
) -> Facts:
    """``endpoint`` with its deployments and their replicas; ``carried``: what these do."""
    rows = {deployment.name: deployment for deployment in endpoint.deployments.all()}
    candidate = rows.get(row.candidate)
    stable = [rows[name] for name in row.previous_traffic if name in rows and name != row.candidate]
    own = _side([candidate] if candidate else [], row)
    idle, overslept = _sleep(candidate, own, now)
    return Facts(
        candidate=row.candidate,
        own=replace(own, used=carried.own),
        stable=replace(_side(stable, row), used=carried.stable),
        idle=idle,
        overslept=overslept,
        changed=_changed(row, candidate),
        behind=behind,
        paused_by=row.paused_by,
        golden=_golden(row),
        compared=_compared(row),
    )


def _sleep(candidate: Deployment | None, own: Side, now: datetime) -> tuple[bool, str]:
    """Whether it sleeps, or is being woken for no longer than a request waits; and why it does not
    count so any more."""
    rule = candidate.idle_rule if candidate is not None else None
    if candidate is None or rule is None:
        return False, ""
    if not candidate.instance_count:
        return True, ""
    since = None if own.ready else waking_since(candidate)
    if since is None:
        return False, ""
    seconds = (now - since).total_seconds()
    if seconds <= rule.hold_s:
        return True, ""
    waits = f"a request waits {rule.hold_s} s at most"
    return False, f"It is being woken for {seconds:.0f} s, and {waits}."


def _compared(row: Rollout) -> Compared | None:
    asked = row.plan.get("compare") and ANSWERS in row.plan["guardrails"]
    return compared_from_json(row.compared) if asked else None


def _golden(row: Rollout) -> Golden | None:
    if GOLDEN not in row.plan["guardrails"]:
        return None
    found = golden_from_json(row.golden)
    return None if found.at is not None and not found.cases else found


def restarts_of(endpoint: Endpoint) -> dict[str, int]:
    """Replica -> how often it has been started again, by its node or by us."""
    return {
        replica.pk: _restarts(replica)
        for deployment in endpoint.deployments.all()
        for replica in deployment.replicas.all()
    }


def _restarts(replica: Replica) -> int:
    return int(replica.observed.get("restarts", 0)) + replica.attempts


def _side(deployments: Iterable[Deployment], row: Rollout) -> Side:
    replicas = [
        replica
        for deployment in deployments
        for replica in deployment.replicas.all()
        if replica.desired == Desired.RUNNING
    ]
    before = row.restarts_before
    return Side(
        replicas=len(replicas),
        ready=sum(replica.state == ReplicaState.READY for replica in replicas),
        unknown=sum(replica.state == ReplicaState.UNKNOWN for replica in replicas),
        restarts=sum(
            max(0, _restarts(replica) - int(before.get(replica.pk, 0))) for replica in replicas
        ),
    )


def _changed(row: Rollout, candidate: Deployment | None) -> str:
    if candidate is None:
        return f"{row.candidate} is gone."
    if candidate.revision.number == row.revision:
        return ""
    return (
        f"{row.candidate} runs revision {candidate.revision.number} by now, and this began with "
        f"revision {row.revision}."
    )
