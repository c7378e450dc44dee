"""How rollouts end: the row, the traffic, and the event that says why."""

from datetime import datetime
from typing import Any, Final

from django.db.models import F

from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.deployments.services.traffic import shares_write
from controlplane.operations.models import Rollout
from controlplane.operations.selectors import rollouts_active
from controlplane.operations.states import ROLLOUTS, RolloutCause
from controlplane.operations.types import StageStatus

ACTOR: Final = "rollout"  # who acts where nobody does
_STATUS: Final = {
    RolloutCause.SUCCEED: StageStatus.SUCCEEDED,
    RolloutCause.WITHDRAW: StageStatus.FAILED,
}
_TOLD: Final = {  # verb and severity of the event
    RolloutCause.SUCCEED: ("rollout.succeeded", Event.Severity.INFO),
    RolloutCause.WITHDRAW: ("rollout.withdrawn", Event.Severity.ERROR),
    RolloutCause.ABORT: ("rollout.aborted", Event.Severity.WARNING),
    RolloutCause.SUPERSEDE: ("rollout.superseded", Event.Severity.WARNING),
}


def rollout_end(
    row: Rollout,
    ending: RolloutCause,
    *,
    actor: str,
    now: datetime,
    cause: str,
    reason: str,
    traffic: dict[str, int] | None,
    **changes: Any,
) -> bool:
    """Whether this one ended it, as it was read; the caller holds the endpoint. ``traffic``: from
    now on; None leaves it. ``changes`` are columns of the row."""
    stages = changes.pop("stages", row.stages)
    copied = _is_copied(row)
    mine = ROLLOUTS.move(
        row,
        ending,
        rows=Rollout.objects.filter(number=row.number),
        number=F("number") + 1,
        stages=stages_ended(stages, _STATUS.get(ending, StageStatus.CANCELED), now),
        ended_by=actor,
        outcome=cause,
        reason=reason,
        finished_at=now,
        updated_at=now,
        **changes,
    )
    if not mine:
        return False
    if traffic is not None or copied:
        endpoint = Endpoint.objects.get(pk=row.endpoint_id)
        shares = endpoint.traffic if traffic is None else traffic
        # why not none at all: others may be somebody's own
        mirror = dict(endpoint.mirror_traffic)
        if copied:
            mirror.pop(row.candidate, None)
        shares_write(
            endpoint, shares, actor=actor, now=now, mirror=mirror, watched=False, rollout=row.pk
        )
    verb, severity = _TOLD[ending]
    rollout_record(row, verb, reason, actor=actor, severity=severity, cause=cause)
    return True


def _is_copied(row: Rollout) -> bool:
    """Whether it sends the candidate copies of requests at this moment."""
    running = [stage for stage in row.stages if stage["status"] == StageStatus.RUNNING]
    return any(stage.get("mirror") for stage in running)


def rollout_supersede(endpoint: str, *, actor: str, now: datetime) -> int:
    """End the one of ``endpoint``, if any, and leave the traffic to who changes it. Returns how
    many have been ended."""
    return sum(
        rollout_end(
            row,
            RolloutCause.SUPERSEDE,
            actor=actor,
            now=now,
            cause="superseded",
            reason=f"{actor} goes on with something else.",
            traffic=None,
        )
        for row in rollouts_active([endpoint])
    )


def rollout_record(
    row: Rollout,
    verb: str,
    message: str,
    *,
    actor: str,
    severity: Event.Severity = Event.Severity.INFO,
    **data: Any,
) -> None:
    events.record(
        actor=actor,
        verb=verb,
        subject=f"endpoint/{row.endpoint.name}",
        message=f"Rollout of {row.candidate}: {message}",
        severity=severity,
        data={"deployment": row.candidate, "rollout": row.pk, **data},
    )


def stages_ended(
    stages: list[dict[str, Any]], status: StageStatus, now: datetime
) -> list[dict[str, Any]]:
    """The running stage has ended so, and what was to come does not; all is done where it has
    succeeded."""
    found = []
    for stage in stages:
        if stage["status"] == StageStatus.RUNNING:
            stage = {**stage, "status": status.value, "ended_at": now.isoformat()}
        elif stage["status"] == StageStatus.PENDING:
            rest = status if status == StageStatus.SUCCEEDED else StageStatus.CANCELED
            stage = {**stage, "status": rest.value}
        found.append(stage)
    return found
