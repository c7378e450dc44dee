"""Deployments under a policy, looked at every few seconds and scaled as a person would.

The decision is ``controlplane.autoscaling``'s; here are its samples, its memory, and the road that
every change of a count takes: the endpoint's lock, placement, an operation, events.
"""

import logging
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import F, Prefetch, QuerySet

from controlplane.autoscaling import (
    CHANGED,
    LOOKED_AT,
    MAY_TAKE_BACK,
    PAUSED,
    Decision,
    decide,
    policy_from_json,
    state_from_json,
    state_to_json,
)
from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Autoscaler, Deployment, Replica
from controlplane.deployments.selectors.sampling import AUTOSCALED_INTERVAL_S, EARLY
from controlplane.deployments.services.locks import endpoint_lock
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState
from controlplane.metrics.counters import Track
from controlplane.metrics.selectors import live_tracks
from controlplane.nodes.selectors import cadence_now
from controlplane.nodes.types import LEISURE_S
from controlplane.operations.models import Operation
from controlplane.operations.selectors import may_take_back, operations_active
from controlplane.operations.services import facts
from controlplane.operations.services.advance import operation_advance
from controlplane.operations.services.loads import Pace, load_of
from controlplane.operations.services.operations import describe
from controlplane.operations.services.quotas import replicas_within
from controlplane.operations.services.starting import scaling_open
from controlplane.operations.types import STUCK, OperationState

logger = logging.getLogger(__name__)

ACTOR: Final = "autoscaler"
LOST: Final = (DeploymentState.FAILED, DeploymentState.CANCELED, DeploymentState.DELETING)
RETRY_AFTER: Final = timedelta(minutes=2)  # a change of its own that failed
HELD_S: Final = 10.0  # after a gateway's word that requests wait; it says so again while they do
OPEN_ENDED: Final = (OperationState.FAILED, OperationState.CANCELED)


@dataclass(frozen=True, slots=True)
class Blocked:
    """Why a decision is not, or not wholly, carried out; ``by`` is a stable word for programs."""

    by: str
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is shown of a look: ``serializers.autoscaling`` has what the fields mean."""

    wanted: int
    asked: int | None
    reason: str
    figures: dict[str, float]
    blocked: str = ""
    blocked_by: str = ""


def autoscale(*, now: datetime) -> int:
    """Look at every deployment whose policy is due. One that fails does not keep the others from
    it. Returns how many were looked at."""
    rows = [row for row in _under_policies() if _is_due(row, now)]
    if not rows:
        return 0
    sample_s = cadence_now().sample_s
    pace = Pace(AUTOSCALED_INTERVAL_S if sample_s <= LEISURE_S else sample_s)
    endpoints = {row.endpoint.name for row in rows}
    found = live_tracks(endpoints, now.timestamp() - pace.lookback_s, now.timestamp())
    for row in rows:
        tracks = found.get((row.endpoint.name, row.name), {})
        try:
            _look(row, tracks, pace, now)
        except Exception:
            logger.exception("Autoscaling of %s failed, the next look tries again", row)
    return len(rows)


@dataclass(frozen=True, slots=True)
class Waking:
    """``wakes``: there is, or will be, a replica. ``reason``: what stands in the way."""

    wakes: bool
    reason: str = ""


def deployment_wake(*, endpoint: str, deployment: str, now: datetime) -> Waking:
    """A gateway holds requests of it: at zero it gets a replica at once, and none goes meanwhile.

    However often, and by however many gateways: one replica is started.
    """
    rows = _under_policies().filter(endpoint__name=endpoint, name=deployment)
    row = rows.first()
    if row is None or row.idle_rule is None:
        return Waking(False, "somebody has paused it, deleted it, or changed its policy.")
    if row.provisioning_state in LOST:
        return Waking(False, f"it is {row.provisioning_state}.")
    known = Autoscaler.objects.get_or_create(deployment=row)[0]
    Autoscaler.objects.filter(pk=known.pk).update(held_at=now)
    known.held_at = now
    row.autoscaler = known
    if row.instance_count:
        return Waking(True)
    blocked = _look(row, {}, Pace(AUTOSCALED_INTERVAL_S), now)
    return Waking(True, blocked.text if blocked is not None else "")


def _needed(row: Deployment, known: Autoscaler, now: datetime) -> str:
    """Why it must not be without a replica; empty: it may."""
    # why abs: a clock that was set back is no hold
    if known.held_at is not None and abs((now - known.held_at).total_seconds()) <= HELD_S:
        return "woken by a request"
    if row.endpoint.mirror_traffic.get(row.name):
        return "it gets copies of requests"
    return ""


def _under_policies() -> QuerySet[Deployment]:
    ready = Replica.objects.filter(state=ReplicaState.READY, desired=Desired.RUNNING)
    ready = ready.select_related("node", "revision__instance_type")
    rows = Deployment.objects.filter(autoscale__isnull=False).select_related(
        "endpoint", "autoscaler", "revision__model_version", "revision__instance_type"
    )
    return rows.prefetch_related(Prefetch("replicas", ready))


def _is_due(row: Deployment, now: datetime) -> bool:
    known = getattr(row, "autoscaler", None)
    if known is None or known.decided_at is None:
        return True
    soon = bool(known.memory.get("soon"))
    interval = timedelta(seconds=policy_from_json(row.autoscale or {}).rest_s(soon=soon))
    since: timedelta = now - known.decided_at
    return abs(since) >= interval - EARLY  # a clock that was set back is no wait


def _look(row: Deployment, tracks: dict[str, Track], pace: Pace, now: datetime) -> Blocked | None:
    """What stands in the way of the decision, if anything does."""
    known = getattr(row, "autoscaler", None) or Autoscaler.objects.get_or_create(deployment=row)[0]
    policy = policy_from_json(row.autoscale or {})
    load = load_of(tracks, row.replicas.all(), now.timestamp(), pace)
    state, needed = state_from_json(known.memory), _needed(row, known, now)
    found = decide(policy, load, state, row.instance_count, now, needed=needed)
    operation, blocked = None, None
    with transaction.atomic():
        if row.paused:
            blocked = Blocked("Paused", PAUSED)
        elif found.wanted != row.instance_count:
            operation, blocked = _carry_out(row, found, now)
        if not _remember(known, found, blocked, now):
            transaction.set_rollback(True)  # another process has looked, too
            return Blocked("OperationInProgress", LOOKED_AT)
        _tell_blocked(row, known, blocked)
    if operation is not None:
        operation_advance(operation, now=now)
    return blocked


def _remember(known: Autoscaler, found: Decision, blocked: Blocked | None, now: datetime) -> bool:
    verdict = Verdict(found.wanted, found.asked, found.reason, found.figures)
    told = asdict(verdict)
    if blocked is not None:
        told |= {"blocked": blocked.text, "blocked_by": blocked.by}
    same = Autoscaler.objects.filter(pk=known.pk, number=known.number)
    return bool(
        same.update(
            number=F("number") + 1,
            memory=state_to_json(found.state),
            decision=told,
            decided_at=now,
            updated_at=now,
        )
    )


def _carry_out(
    row: Deployment, found: Decision, now: datetime
) -> tuple[Operation | None, Blocked | None]:
    """Within the caller's transaction, as ``deployment_scale`` does for a person."""
    endpoint_lock(row.endpoint.name)
    seen = {"instance_count": row.instance_count, "autoscale": row.autoscale}
    fresh = Deployment.objects.filter(pk=row.pk).values(*seen, "provisioning_state").first()
    if fresh is None or any(fresh[name] != value for name, value in seen.items()):
        return None, Blocked("OperationInProgress", CHANGED)
    running = operations_active(row.endpoint.name, row.name).first()
    if running is not None:
        return None, Blocked("OperationInProgress", f"It waits for: {describe(running)}.")
    if fresh["provisioning_state"] != DeploymentState.SUCCEEDED:
        state = fresh["provisioning_state"]
        text = f"The deployment is {state}; only one that works is scaled."
        return None, Blocked("NotSucceeded", text)
    if failed := _failed_lately(row, now):
        return None, failed
    if found.wanted < row.instance_count and may_take_back(row.endpoint.name, row.name):
        return None, Blocked("RolloutInProgress", MAY_TAKE_BACK)
    allowed, refused = replicas_within(row, found.wanted)
    count, blocked = _placeable(row, allowed, now)
    if blocked is None and refused:
        blocked = Blocked("ProjectQuotaExceeded", refused)
    if count == row.instance_count:
        return None, blocked
    operation = scaling_open(row, count, ACTOR, now, idle=True)
    events.record(
        actor=ACTOR,
        verb="deployment.autoscaled",
        subject=f"endpoint/{row.endpoint.name}",
        message=f"{row.name}: {found.reason}" + (f" {blocked.text}" if blocked else ""),
        data={"deployment": row.name, "operation": operation.id, "figures": found.figures},
        before={"instance_count": seen["instance_count"]},
        after={"instance_count": count},
    )
    return operation, blocked


def _failed_lately(row: Deployment, now: datetime) -> Blocked | None:
    """Its last change, if that came to nothing a short time ago: the next would as well."""
    last = (
        Operation.objects.filter(endpoint=row.endpoint.name, deployment=row.name)
        .order_by("-created_at")
        .first()
    )
    if last is None or last.created_by != ACTOR or last.state not in OPEN_ENDED:
        return None
    again = (last.finished_at or now) + RETRY_AFTER
    if now >= again:
        return None
    ended = "was canceled" if last.state == OperationState.CANCELED else "failed"
    why = f": {last.error['message']}" if last.error else "."
    text = f"To {describe(last)} {ended}{why} It tries again at {again:%H:%M:%S} UTC."
    return Blocked("LastChangeFailed", text)


def _placeable(row: Deployment, wanted: int, now: datetime) -> tuple[int, Blocked | None]:
    """As many of ``wanted`` as nodes can take, and why no more."""
    if wanted <= row.instance_count:
        return wanted, None
    asked = Deployment.objects.select_related(
        "endpoint", "revision__model_version", "revision__instance_type"
    ).get(pk=row.pk)
    asked.instance_count = wanted  # as a question; it is not saved
    replicas = list(asked.replicas.select_related("node").order_by("ordinal", "id"))
    chosen = facts.choose(asked, facts.replica_facts(replicas, now=now), now)
    missing = len(chosen.unplaced)
    if not missing:
        return wanted, None
    count = max(wanted - missing, row.instance_count)
    text = f"No node can take {missing} of {wanted} replicas: {chosen.why_not}"
    return count, Blocked("OutOfCapacity", text)


def _tell_blocked(row: Deployment, known: Autoscaler, blocked: Blocked | None) -> None:
    """Once when it begins; what ends by itself in a moment is no event."""
    if blocked is None or blocked.by not in STUCK:
        return
    before: dict[str, Any] = known.decision
    if before.get("blocked_by") == blocked.by:
        return
    events.record(
        actor=ACTOR,
        verb="deployment.autoscaling_blocked",
        subject=f"endpoint/{row.endpoint.name}",
        message=f"{row.name}: {blocked.text}",
        severity=Event.Severity.WARNING,
        data={"deployment": row.name, "cause": blocked.by},
    )
