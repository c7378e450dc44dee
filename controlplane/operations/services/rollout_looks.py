"""Rollouts that are under way, looked at whenever gateways have counted, and every few seconds.

The judgement is ``controlplane.rollouts``'; here are its samples and its memory, and what it
decides is carried out: in one transaction, that only the first of several processes gets through.
"""

import logging
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import F

from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.deployments.selectors import endpoint_get
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.services.traffic import shares_text, shares_write
from controlplane.deployments.traffic import traffic_shift
from controlplane.metrics.selectors import gateway_samples_after
from controlplane.operations.models import Rollout
from controlplane.operations.selectors import rollouts_active
from controlplane.operations.services.rollout_carried import carried_of
from controlplane.operations.services.rollout_changes import stage_begun
from controlplane.operations.services.rollout_ends import ACTOR, rollout_end, rollout_record
from controlplane.operations.services.rollout_facts import facts_of
from controlplane.operations.states import RolloutCause
from controlplane.operations.types import ROLLING, StageStatus
from controlplane.rollouts import (
    Action,
    Cause,
    Judgement,
    Plan,
    judge,
    plan_from_json,
    state_from_json,
    state_to_json,
    windows,
)

logger = logging.getLogger(__name__)

MOST_SAMPLES: Final = 5000  # of one look
# An event when it begins.
TOLD: Final = (Cause.NO_SAMPLES, Cause.NODES_SILENT, Cause.GOLDEN_WAITS, Cause.SATURATED)


def rollouts_look(*, now: datetime, unless_within_s: float = 0.0) -> int:
    """Judge every rollout, but those that were within so many seconds. One that fails does not
    keep the others from it. Returns how many."""
    least = timedelta(seconds=unless_within_s)
    # why abs: a clock that was set back is no wait
    rows = [
        row
        for row in rollouts_active()
        if row.judged_at is None or abs(now - row.judged_at) >= least
    ]
    for row in rows:
        try:
            _look(row, now)
        except Exception:
            logger.exception("Looking at the %s failed, the next look tries again", row)
    return len(rows)


def shown_of(found: Judgement) -> dict[str, Any]:
    """As rows keep it, and REST shows it."""
    latency = [
        {"quantile": quantile, "candidate_us": new, "stable_us": old}
        for quantile, (new, old) in ((0.95, found.p95_us), (0.99, found.p99_us))
    ]
    return {
        "cause": str(found.cause),
        "reason": found.reason,
        "missing": found.missing,
        "figures": [_figure(asdict(figure)) for figure in found.figures],
        "latency": latency,
    }


def _figure(told: dict[str, Any]) -> dict[str, Any]:
    (bad, of), (stable_bad, stable_of) = told.pop("candidate"), told.pop("stable")
    counted = {"bad": bad, "of": of, "stable_bad": stable_bad, "stable_of": stable_of}
    return told | counted


def _look(row: Rollout, now: datetime) -> None:
    endpoint = endpoint_get(row.endpoint.name)
    plan, state = plan_from_json(row.plan), state_from_json(row.memory)
    samples, until = gateway_samples_after(endpoint.name, row.samples_until, MOST_SAMPLES)
    arms = {row.candidate, *row.previous_traffic}
    counted = windows([one for one in samples if one["deployment"] in arms], row.candidate)
    carried = carried_of(row, endpoint, plan, state, now)
    facts = facts_of(row, endpoint, carried, now, behind=len(samples) == MOST_SAMPLES)
    found = judge(plan, state, counted, facts, now.timestamp(), carried.copies)
    answered = found.answered
    stages = _counted(row.stages, answered)
    kept = {
        "memory": state_to_json(found.state),
        "judgement": shown_of(found),
        "samples_until": until,
        "judged_at": now,
    }
    with transaction.atomic():
        fresh = endpoint_lock(endpoint.name)
        if fresh is None:
            return
        stage = plan.stages[state.step]
        moved = fresh.traffic != _expected(row, stage.percent)
        if moved or fresh.mirror_traffic.get(row.candidate, 0) < stage.mirror:
            _overtaken(row, fresh, now)
        elif found.action == Action.WITHDRAW:
            _withdraw(row, found, now, stages=stages, **kept)
        elif found.action == Action.NEXT:
            _next(row, fresh, plan, found, now, stages=stages, **kept)
        elif _keep(row, now, stages=stages, **kept) and found.cause in TOLD:
            _tell_once(row, found)


def _expected(row: Rollout, percent: int) -> dict[str, int]:
    return traffic_shift(row.previous_traffic, row.candidate, percent)


def _counted(stages: list[dict[str, Any]], requests: int) -> list[dict[str, Any]]:
    return [
        {**stage, "requests": requests} if stage["status"] == StageStatus.RUNNING else stage
        for stage in stages
    ]


def _keep(row: Rollout, now: datetime, **changes: Any) -> bool:
    """Whether nobody else has looked, or changed it, meanwhile."""
    same = Rollout.objects.filter(pk=row.pk, number=row.number, state__in=ROLLING)
    return bool(same.update(number=F("number") + 1, updated_at=now, **changes))


def _tell_once(row: Rollout, found: Judgement) -> None:
    if row.judgement.get("cause") != found.cause:
        rollout_record(
            row,
            "rollout.held",
            found.reason,
            actor=ACTOR,
            severity=Event.Severity.WARNING,
            cause=str(found.cause),
        )


def _withdraw(row: Rollout, found: Judgement, now: datetime, **kept: Any) -> None:
    back = f" Withdrawn, back to {shares_text(row.previous_traffic)}."
    rollout_end(
        row,
        RolloutCause.WITHDRAW,
        actor=ACTOR,
        now=now,
        cause=str(found.cause),
        reason=found.reason + back,
        traffic=row.previous_traffic,
        **kept,
    )


def _next(
    row: Rollout, endpoint: Endpoint, plan: Plan, found: Judgement, now: datetime, **kept: Any
) -> None:
    percent = plan.stages[min(found.state.step, len(plan.stages) - 1)].percent
    traffic = _expected(row, percent)
    if found.state.step >= plan.ends_at:
        rollout_end(
            row,
            RolloutCause.SUCCEED,
            actor=ACTOR,
            now=now,
            cause=str(found.cause),
            reason=found.reason,
            traffic=traffic,
            **kept,
        )
        return
    stages = [
        {**stage, "status": StageStatus.SUCCEEDED.value, "ended_at": now.isoformat()}
        if stage["status"] == StageStatus.RUNNING
        else stage
        for stage in kept.pop("stages")
    ]
    stages[found.state.step] = stage_begun(stages[found.state.step], now)
    if not _keep(row, now, stages=stages, **kept):
        return
    shares_write(endpoint, traffic, actor=ACTOR, now=now, watched=False, rollout=row.pk)
    rollout_record(row, "rollout.step", found.reason, actor=ACTOR, percent=percent)


def _overtaken(row: Rollout, endpoint: Endpoint, now: datetime) -> None:
    """What else moves traffic asks first; this is for what does not, such as an older version."""
    current = Rollout.objects.filter(pk=row.pk, number=row.number, state__in=ROLLING)
    if not current.exists():
        return  # somebody has ended it, or taken the next step, since it was read
    rollout_end(
        row,
        RolloutCause.SUPERSEDE,
        actor=ACTOR,
        now=now,
        cause="traffic_changed",
        reason=f"The traffic was changed by another way: {shares_text(endpoint.traffic)}, copies "
        f"to {shares_text(endpoint.mirror_traffic)}.",
        traffic=None,
    )
