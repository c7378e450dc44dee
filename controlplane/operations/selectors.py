"""Operations and rollouts: found, as the API shows them, and endpoints with their latest ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.selectors.shown import Shown, endpoint_shown
from controlplane.deployments.types import DeploymentState, Desired, ReplicaState
from controlplane.nodes.types import LIVENESS
from controlplane.operations.errors import OperationNotFound, RolloutNotFound
from controlplane.operations.models import Operation, Rollout
from controlplane.operations.types import ACTIVE, ROLLING, StageStatus
from controlplane.rollouts import (
    BLUE_GREEN,
    BY_STEPS,
    CAPTURED,
    GOLDEN,
    MEASURES,
    SOURCES,
    Tally,
    captured_text,
    compared_from_json,
    plan_from_json,
    plan_to_json,
)


def operation_list(endpoint: str = "") -> QuerySet[Operation]:
    """Those of ``endpoint``; an empty text stands for all."""
    return Operation.objects.filter(endpoint=endpoint) if endpoint else Operation.objects.all()


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """Empty fields let everything through."""

    endpoint: str = ""
    state: Sequence[str] = ()
    kind: Sequence[str] = ()
    actor: str = ""
    q: str = ""  # in the name of the endpoint or the deployment
    project: str = ""
    since: datetime | None = None
    until: datetime | None = None  # not included

    def rows(self) -> QuerySet[Operation]:
        wanted = {
            "state__in": self.state,
            "kind__in": self.kind,
            "created_by": self.actor,
            "project": self.project,
            "created_at__gte": self.since,
            "created_at__lt": self.until,
        }
        rows = operation_list(self.endpoint).filter(
            **{name: value for name, value in wanted.items() if value}
        )
        if self.q:
            rows = rows.filter(Q(endpoint__icontains=self.q) | Q(deployment__icontains=self.q))
        return rows


def settled_to_keep(now: datetime) -> list[tuple[int, str]]:
    """Primary keys and names of the settled deployments that may need something.

    All others have as many replicas as are wanted, one for each ordinal, that serve without trouble
    on nodes heard of so short ago that none of them can be given up. In one query, whatever their
    number: each of them would take three.
    """
    heard = now - timedelta(seconds=LIVENESS.offline_after_s)
    serving = Q(
        replicas__desired=Desired.RUNNING,
        replicas__state=ReplicaState.READY,
        replicas__error__isnull=True,
        replicas__retire_generation__isnull=True,
        replicas__node__last_seen_at__gte=heard,
    )
    well = Q(
        error__isnull=True,
        all_replicas=F("instance_count"),
        serving=F("instance_count"),
        ordinals=F("instance_count"),
        end=F("instance_count"),
    )
    settled = Deployment.objects.filter(provisioning_state=DeploymentState.SUCCEEDED).annotate(
        all_replicas=Count("replicas"),
        serving=Count("replicas", filter=serving),
        ordinals=Count("replicas__ordinal", distinct=True),
        end=Coalesce(Max("replicas__ordinal") + 1, 0),
    )
    return list(settled.filter(~well).order_by("pk").values_list("pk", "name"))


def operation_get(operation_id: str) -> Operation:
    """Raises OperationNotFound."""
    operation = Operation.objects.filter(pk=operation_id).first()
    if operation is None:
        raise OperationNotFound(f"There is no operation {operation_id}.")
    return operation


def operations_active(endpoint: str = "", deployment: str | None = None) -> QuerySet[Operation]:
    """Those that have not ended, oldest first."""
    # why both: the time has the index, the state is the truth
    rows = operation_list(endpoint).filter(finished_at__isnull=True, state__in=ACTIVE)
    if deployment is not None:
        rows = rows.filter(deployment=deployment)
    return rows.order_by("created_at")


def waking_since(deployment: Deployment) -> datetime | None:
    """Since when it is brought back from zero, where its policy had taken it."""
    if deployment.idle_rule is None or not deployment.instance_count:
        return None
    for change in operations_active(deployment.endpoint.name, deployment.name):
        if change.parameters.get("previous_count") == 0:
            return change.created_at
    return None


def operation_state(operation_id: str) -> tuple[Any, ...] | None:
    """State alone, the cheapest look at an operation; None when there is none."""
    return Operation.objects.filter(pk=operation_id).values_list("state").first()


def latest_operations(endpoints: Iterable[str] | None = None) -> dict[tuple[str, str], str]:
    """(endpoint, deployment) -> id of its latest operation, of the deployments that there are.

    A row for each, however many operations there were. None stands for all endpoints.
    """
    deployments = Deployment.objects.all()
    if endpoints is not None:
        deployments = deployments.filter(endpoint__name__in=list(endpoints))
    own = Operation.objects.filter(
        endpoint=OuterRef("endpoint__name"), deployment=OuterRef("name")
    ).order_by("-created_at")
    rows = deployments.annotate(latest=Subquery(own.values("id")[:1])).values_list(
        "endpoint__name", "name", "latest"
    )
    return {(endpoint, name): latest for endpoint, name, latest in rows if latest}


def endpoints_shown(endpoints: Iterable[Endpoint]) -> list[Shown]:
    rows = list(endpoints)
    operations = latest_operations(endpoint.name for endpoint in rows)
    return [endpoint_shown(endpoint, operations) for endpoint in rows]


def operation_shown(operation: Operation) -> Shown:
    return {
        "id": operation.id,
        "kind": operation.kind,
        "project": operation.project_id,
        "endpoint": operation.endpoint,
        "deployment": operation.deployment,
        "state": operation.state,
        "stages": operation.stages,
        "percent": percent(operation.stages),
        "error": operation.error,
        "result": operation.result,
        "warnings": operation.parameters.get("warnings", []),
        "deadline_at": operation.deadline_at,
        "created_by": operation.created_by,
        "created_at": operation.created_at,
        "finished_at": operation.finished_at,
    }


def percent(stages: list[Shown]) -> int:
    """Every stage weighs the same; a running one counts by its progress."""
    if not stages:
        return 0
    done = sum(
        1.0 if stage["status"] == StageStatus.SUCCEEDED else (stage["progress"] or 0.0)
        for stage in stages
    )
    return int(100 * done / len(stages))


def rollout_list(endpoint: str) -> QuerySet[Rollout]:
    """Those of an endpoint, newest first."""
    return Rollout.objects.filter(endpoint__name=endpoint).select_related("endpoint")


def rollouts_active(endpoints: Iterable[str] | None = None) -> QuerySet[Rollout]:
    """Those that have not ended, of these endpoints or of all."""
    rows = Rollout.objects.filter(state__in=ROLLING).select_related("endpoint")
    return rows if endpoints is None else rows.filter(endpoint__name__in=list(endpoints))


def rollout_get(endpoint: str, rollout_id: str) -> Rollout:
    """Raises RolloutNotFound."""
    row = rollout_list(endpoint).filter(pk=rollout_id).first()
    if row is None:
        raise RolloutNotFound(f"{endpoint} has no rollout {rollout_id}.")
    return row


def copies_roll(endpoint: str) -> bool:
    """Whether a rollout sends copies of requests at this moment."""
    return any(
        stage["status"] == StageStatus.RUNNING and stage.get("mirror")
        for row in rollouts_active([endpoint])
        for stage in row.stages
    )


def may_take_back(endpoint: str, deployment: str) -> bool:
    """Whether a switch may still go back to this one, which answers nobody meanwhile."""
    return any(
        row.plan.get("strategy") == BLUE_GREEN and deployment in row.previous_traffic
        for row in rollouts_active([endpoint])
    )


def _compared(row: Rollout) -> Shown:
    known, compare = compared_from_json(row.compared), plan_from_json(row.plan).compare
    asked = known.sources.get(CAPTURED, Tally()).of
    told = compare is not None and CAPTURED in compare.sources
    return {
        "unanswered": known.unanswered,
        "example": known.example,
        "sources": [
            {"source": source, "inputs": tally.of, "differing": tally.bad}
            for source in SOURCES
            if (tally := known.sources.get(source))
        ],
        "captured": captured_text(known.captured, asked) if told else "",
        "differences": len(known.differing),
    }


def _answers_checked(row: Rollout) -> bool:
    """Of one whose candidate was asleep nobody knows yet whether it has golden cases."""
    watched = row.plan["guardrails"].get(GOLDEN) is not None
    golden = watched and (row.golden is None or row.golden["cases"] > 0)
    return golden or row.plan.get("compare") is not None


def rollout_shown(row: Rollout) -> Shown:
    judged = row.judgement
    return {
        "id": row.id,
        "endpoint": row.endpoint.name,
        "deployment": row.candidate,
        "state": row.state,
        "percent": row.endpoint.traffic.get(row.candidate, 0),
        # why defaults: one that began before an upgrade knows none of these
        "strategy": row.plan.get("strategy", BY_STEPS),
        "shadow": row.plan.get("shadow"),
        "stages": [{"mirror": 0, **stage} for stage in row.stages],
        "min_requests": row.plan["min_requests"],
        "guardrails": {name: row.plan["guardrails"].get(name) for name in MEASURES},
        "previous_traffic": row.previous_traffic,
        "reason": row.reason or judged.get("reason", ""),
        "cause": row.outcome or judged.get("cause", ""),
        "missing_requests": judged.get("missing", 0),
        # why a default: one that was judged before an upgrade knows only these two
        "figures": [
            {"counts": "replicas" if one["measure"] == "restarts" else "requests", **one}
            for one in judged.get("figures", [])
        ],
        "golden": row.golden,
        "compare": plan_to_json(plan_from_json(row.plan))["compare"]
        if row.plan.get("compare")
        else None,
        "compared": _compared(row) if row.compared else None,
        "answers_checked": _answers_checked(row),
        "latency": judged.get("latency", []),
        "judged_at": row.judged_at,
        "paused_by": row.paused_by,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "ended_by": row.ended_by,
        "finished_at": row.finished_at,
    }
