"""Rollouts of traffic as people have them: started, paused, resumed, promoted, aborted."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import transaction
from django.db.models import F

from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.selectors import deployment_get, endpoint_get
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.services.traffic import (
    shares_text,
    shares_write,
    unready_deployments,
)
from controlplane.deployments.traffic import traffic_check, traffic_shift
from controlplane.metrics.selectors import answered, gateway_samples_newest, gateway_samples_since
from controlplane.operations.errors import RolloutFinished, RolloutInvalid
from controlplane.operations.models import Rollout
from controlplane.operations.selectors import rollout_get
from controlplane.operations.services.operations import (
    not_deleting,
    nothing_moves,
    nothing_rolls,
)
from controlplane.operations.services.rollout_ends import rollout_end, rollout_record
from controlplane.operations.services.rollout_facts import restarts_of
from controlplane.operations.states import ROLLOUTS, RolloutCause
from controlplane.operations.types import StageStatus
from controlplane.rollouts import (
    BLUE_GREEN,
    FAILED,
    REFUSED,
    Arm,
    Golden,
    Plan,
    arm_of,
    plan_asked,
    plan_to_json,
    started,
    state_to_json,
)

KNOWN_S = 600.0  # of before, in which the stable version's latencies count
SWITCHED_S = 3600.0  # likewise its failures, where nothing answers beside the candidate


@transaction.atomic
def rollout_start(
    *,
    endpoint: str,
    deployment: str,
    actor: str,
    now: datetime,
    golden: Golden | None = None,
    **asked: Any,
) -> Rollout:
    """Give ``deployment`` the share of the first step; ``rollout_looks`` does the rest.

    ``golden``: what it has answered, and whoever asked has let pass. ``asked``: as ``plan_asked``
    takes it. Raises EndpointNotFound, DeploymentNotFound, Invalid,
    RolloutInvalid, TrafficInvalid, OperationInProgress, RolloutInProgress.
    """
    plan = plan_asked(**asked)
    endpoint_lock(endpoint)
    row = endpoint_get(endpoint)
    not_deleting(row)
    candidate = deployment_get(endpoint, deployment)
    nothing_moves(endpoint)
    nothing_rolls(endpoint)
    traffic = _first_traffic(row, candidate, plan)
    revision = candidate.revision.number
    rollout = Rollout.objects.create(
        id=uuid4().hex,
        endpoint=row,
        candidate=deployment,
        revision=revision,
        plan=plan_to_json(plan),
        previous_traffic=row.traffic,
        stages=_stages(plan, now),
        memory=state_to_json(started(now.timestamp(), _before(row, deployment, plan, now))),
        restarts_before=restarts_of(row),
        golden=golden.to_json()
        if golden and golden.revision == candidate.revision.number
        else None,
        samples_until=gateway_samples_newest(),
        created_by=actor,
    )
    told = ", ".join(
        f"copies of {stage.mirror} %" if stage.mirror else f"{stage.percent} %"
        for stage in plan.stages
    )
    rollout_record(rollout, "rollout.started", f"{actor} began it: {told}.", actor=actor)
    mirror = {deployment: plan.shadow.percent} if plan.shadow else None
    # why not watched: its looks judge it, and take it back
    shares_write(
        row, traffic, actor=actor, now=now, mirror=mirror, watched=False, rollout=rollout.pk
    )
    return rollout_get(endpoint, rollout.pk)


def _first_traffic(row: Endpoint, candidate: Deployment, plan: Plan) -> dict[str, int]:
    """Raises RolloutInvalid, TrafficInvalid."""
    name, first = candidate.name, plan.stages[0].percent
    rollout_fits(row, name, plan)
    traffic = traffic_check(  # why 1 at least: one that gets copies must be as ready
        traffic_shift(row.traffic, name, first or 1),
        deployments=[deployment.name for deployment in row.deployments.all()],
        unready={key: why for key, why in unready_deployments(row).items() if key == name},
    )
    return traffic if first else row.traffic


def rollout_fits(row: Endpoint, name: str, plan: Plan) -> None:
    """Whether it could begin with the traffic as it is, once ``name`` is ready. Raises
    RolloutInvalid."""
    first = plan.stages[0].percent
    if not set(row.traffic) - {name}:
        raise RolloutInvalid(
            f"{row.name} has no other deployment with traffic to compare {name} with.",
            field="deployment",
            hints=("Give the traffic to the deployment that is known to work first.",),
        )
    if row.traffic.get(name) and row.traffic[name] >= first:
        raise RolloutInvalid(
            f"{name} has {row.traffic[name]} % of the traffic already, the first step gives it "
            f"{first} %.",
            field="steps",
        )
    if plan.shadow and (copied := sorted(set(row.mirror_traffic) - {name})):
        raise RolloutInvalid(
            f"{copied[0]} gets copies of requests already, and one deployment at most does.",
            field="shadow",
            hints=(f"`shoal traffic {row.name} --mirror {copied[0]}=0` ends that.",),
        )


def _stages(plan: Plan, now: datetime) -> list[dict[str, Any]]:
    stages = [
        {
            "percent": step.percent,
            "hold_s": step.hold_s,
            "mirror": step.mirror,
            "status": StageStatus.PENDING.value,
            "started_at": None,
            "ended_at": None,
            "requests": 0,
        }
        for step in plan.stages
    ]
    return [stage_begun(stages[0], now), *stages[1:]]


def stage_begun(stage: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    return {**stage, "status": StageStatus.RUNNING.value, "started_at": now.isoformat()}


def _before(row: Endpoint, candidate: str, plan: Plan, now: datetime) -> Arm:
    """What the stable version answered of late: its latencies, and how often it failed."""
    stable = set(row.traffic) - {candidate}
    timed = arm_of(gateway_samples_since(row.name, stable, now.timestamp() - KNOWN_S))
    if plan.strategy != BLUE_GREEN:
        return timed
    begun = [
        one.revision.created_at.timestamp() for one in row.deployments.all() if one.name in stable
    ]
    since = max([now.timestamp() - SWITCHED_S, *begun])
    told = answered(row.name, since, minutes_since=since, born=row.created_at)
    classes = [one.classes for one in told if one.deployment in stable]
    return Arm(
        requests=sum(sum(one.values()) for one in classes),
        failed=sum(one.get(FAILED, 0) for one in classes),
        refused=sum(one.get(REFUSED, 0) for one in classes),
        histogram=timed.histogram,
    )


def rollout_pause(*, endpoint: str, rollout_id: str, actor: str, now: datetime) -> Rollout:
    """No next step until it is resumed; guardrails go on. Raises RolloutNotFound,
    RolloutFinished."""
    return _held(endpoint, rollout_id, RolloutCause.PAUSE, actor, now)


def rollout_resume(*, endpoint: str, rollout_id: str, actor: str, now: datetime) -> Rollout:
    """Raises RolloutNotFound, RolloutFinished."""
    return _held(endpoint, rollout_id, RolloutCause.RESUME, actor, now)


@transaction.atomic
def _held(
    endpoint: str, rollout_id: str, cause: RolloutCause, actor: str, now: datetime
) -> Rollout:
    """Once or twice is the same."""
    row = _under_way(endpoint, rollout_id)
    pauses = cause == RolloutCause.PAUSE
    changed = ROLLOUTS.move(
        row,
        cause,
        rows=Rollout.objects.filter(number=row.number),
        number=F("number") + 1,
        paused_by=actor if pauses else "",
        updated_at=now,
    )
    if changed:
        verb, done = ("rollout.paused", "paused") if pauses else ("rollout.resumed", "resumed")
        rollout_record(row, verb, f"{actor} {done} it.", actor=actor)
    return rollout_get(endpoint, rollout_id)


@transaction.atomic
def rollout_promote(*, endpoint: str, rollout_id: str, actor: str, now: datetime) -> Rollout:
    """All of the traffic now, whatever the steps. Raises RolloutNotFound, RolloutFinished,
    TrafficInvalid."""
    row = _under_way(endpoint, rollout_id)
    shown = endpoint_get(endpoint)
    traffic = traffic_check(
        {row.candidate: 100},
        deployments=[deployment.name for deployment in shown.deployments.all()],
        unready=unready_deployments(shown),
    )
    rollout_end(
        row,
        RolloutCause.SUCCEED,
        actor=actor,
        now=now,
        cause="promoted",
        reason=f"{actor} promoted it: {row.candidate} has all of the traffic.",
        traffic=traffic,
    )
    return rollout_get(endpoint, rollout_id)


@transaction.atomic
def rollout_abort(*, endpoint: str, rollout_id: str, actor: str, now: datetime) -> Rollout:
    """The traffic is as it was before. Raises RolloutNotFound, RolloutFinished."""
    row = _under_way(endpoint, rollout_id)
    rollout_end(
        row,
        RolloutCause.ABORT,
        actor=actor,
        now=now,
        cause="aborted",
        reason=f"{actor} aborted it: back to {shares_text(row.previous_traffic)}.",
        traffic=row.previous_traffic,
    )
    return rollout_get(endpoint, rollout_id)


def _under_way(endpoint: str, rollout_id: str) -> Rollout:
    """The row, with its endpoint held. Raises RolloutNotFound, RolloutFinished."""
    endpoint_lock(endpoint)
    row = rollout_get(endpoint, rollout_id)
    if row.finished_at is not None:
        raise RolloutFinished(f"It has ended already: {row.state}. {row.reason}")
    return row
