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
from controlplane.metrics.selectors import gateway_histograms, gateway_samples_newest
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
from controlplane.rollouts import Golden, Plan, plan_asked, plan_to_json, started, state_to_json

KNOWN_S = 600.0  # latencies of the stable version of before that count


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
        memory=state_to_json(started(now.timestamp(), _latencies(row, deployment, now))),
        restarts_before=restarts_of(row),
        golden=golden.to_json()
        if golden and golden.revision == candidate.revision.number
        else None,
        samples_until=gateway_samples_newest(),
        created_by=actor,
    )
    told = ", ".join(f"{step.percent} %" for step in plan.steps)
    rollout_record(rollout, "rollout.started", f"{actor} began it: {told}.", actor=actor)
    shares_write(row, traffic, actor=actor, now=now, rollout=rollout.pk)
    return rollout_get(endpoint, rollout.pk)


def _first_traffic(row: Endpoint, candidate: Deployment, plan: Plan) -> dict[str, int]:
    """Raises RolloutInvalid, TrafficInvalid."""
    name, first = candidate.name, plan.steps[0].percent
    if not set(row.traffic) - {name}:
        raise RolloutInvalid(
            f"{row.name} has no other deployment with traffic to compare {name} with.",
            field="deployment",
            hints=("Give the traffic to the deployment that is known to work first.",),
        )
    if row.traffic.get(name, 0) >= first:
        raise RolloutInvalid(
            f"{name} has {row.traffic[name]} % of the traffic already, the first step gives it "
            f"{first} %.",
            field="steps",
        )
    return traffic_check(
        traffic_shift(row.traffic, name, first),
        deployments=[deployment.name for deployment in row.deployments.all()],
        unready={key: why for key, why in unready_deployments(row).items() if key == name},
    )


def _stages(plan: Plan, now: datetime) -> list[dict[str, Any]]:
    stages = [
        {
            "percent": step.percent,
            "hold_s": step.hold_s,
            "status": StageStatus.PENDING.value,
            "started_at": None,
            "ended_at": None,
            "requests": 0,
        }
        for step in plan.steps
    ]
    return [stage_begun(stages[0], now), *stages[1:]]


def stage_begun(stage: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    return {**stage, "status": StageStatus.RUNNING.value, "started_at": now.isoformat()}


def _latencies(row: Endpoint, candidate: str, now: datetime) -> list[dict[int, int]]:
    stable = set(row.traffic) - {candidate}
    return gateway_histograms(row.name, stable, now.timestamp() - KNOWN_S)


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
