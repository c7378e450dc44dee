"""Rows made into the values that ``reconcile`` and ``placement`` decide on."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from controlplane.deployments.models import Deployment, DeploymentRevision, Endpoint, Replica
from controlplane.deployments.services.candidates import placed
from controlplane.deployments.services.capacity import avoided, need_of, subject_of
from controlplane.deployments.types import Desired, Failure, ReplicaState
from controlplane.nodes.selectors import (
    liveness_of,
    node_state,
    nodes_heard_since,
)
from controlplane.operations.models import Operation
from controlplane.operations.reconcile import (
    UNTAKEN_AFTER,
    Case,
    Chosen,
    ReplicaFacts,
    Stage,
    missing_ordinals,
    to_move,
)
from controlplane.operations.services.golden_gates import gate_facts
from controlplane.operations.types import OperationKind, StageName, StageStatus
from controlplane.registry.models import ModelVersion
from controlplane.registry.stores import blob_store

SHOWN_LINE = 200  # characters of what a node's installer says


def case_load(operation: Operation, deployment: Deployment | None, now: datetime) -> Case:
    """Everything one step of this operation looks at, read now; ``deployment`` is its own."""
    kind = OperationKind(operation.kind)
    stages = tuple(stage_from(data) for data in operation.stages)
    endpoint = (
        deployment.endpoint
        if deployment
        else Endpoint.objects.filter(name=operation.endpoint).first()
    )
    own = set(operation.parameters.get("replica_ids", []))
    rows = _replicas(operation)
    replicas = replica_facts(rows, own=own, now=now)
    count = deployment.instance_count if deployment else 0
    pending = next((stage.name for stage in stages if stage.status != StageStatus.SUCCEEDED), None)
    # why also before: what has been validated is placed in the same step
    placing = deployment is not None and pending in (StageName.VALIDATE, StageName.PLACE)
    checking = deployment is not None and pending == StageName.VALIDATE
    return Case(
        kind=kind,
        stages=stages,
        now=now,
        deadline_at=operation.deadline_at,
        cancel_requested=operation.cancel_requested,
        instance_count=count,
        replicas=replicas,
        spec_failure=spec_failure(deployment.revision) if deployment and checking else None,
        chosen=choose(deployment, replicas, now) if deployment and placing else Chosen(),
        route_generation=operation.parameters.get("route_generation"),
        confirmed_generation=endpoint.confirmed_generation if endpoint else 0,
        refusal=_refusal(operation, endpoint),
        unconfirmed=tuple(
            (row["gateway"], now - datetime.fromisoformat(row["silent_since"]))
            for row in (endpoint.unconfirmed if endpoint else ())
        ),
        wave_size=settings.SHOAL_WAVE_REPLICAS,
        candidate_asked=_moment(operation.parameters.get("candidate_asked")),
        candidate_began=_moment(operation.parameters.get("candidate_began")),
        candidate_first=_moment(operation.parameters.get("candidate_first")),
        candidate_answered="candidate_answer" in operation.parameters,
        gate=gate_facts(operation),
    )


def case_placed(case: Case, rows: list[Replica]) -> Case:
    """``case`` with replicas that have been placed since, of which nobody has said a word."""
    ids = {row.pk for row in rows}
    placed = (*case.replicas, *replica_facts(rows, own=ids, now=case.now))
    return replace(
        case,
        replicas=tuple(sorted(placed, key=lambda one: (one.ordinal, one.id))),
        chosen=Chosen(),
        route_generation=None,
    )


def _refusal(operation: Operation, endpoint: Endpoint | None) -> Failure | None:
    """What a gateway left out of the generation that the operation waits for, or of a later one."""
    generation = operation.parameters.get("route_generation")
    if generation is None or endpoint is None:
        return None
    for part in endpoint.left_out:
        own = part["deployment"] in ("", operation.deployment)
        if own and part["generation"] >= generation:
            return Failure(
                "GatewayRefused",
                part["text"],
                hints=("Everything else is routed. It is tried again when this part changes.",),
            )
    return None


def deployment_of(operation: Operation) -> Deployment | None:
    """With all that its replicas need; None where it is gone, or the endpoint is meant."""
    return (
        Deployment.objects.select_related(
            "endpoint__project", "revision__model_version", "revision__instance_type"
        )
        .filter(endpoint__name=operation.endpoint, name=operation.deployment)
        .first()
    )


def _replicas(operation: Operation) -> list[Replica]:
    rows = Replica.objects.filter(deployment__endpoint__name=operation.endpoint)
    if operation.kind != OperationKind.DELETE_ENDPOINT:
        rows = rows.filter(deployment__name=operation.deployment)
        # why: what an update replaces is none of its business until the new ones answer
        rows = rows.exclude(pk__in=operation.parameters.get("old_ids", []))
    return list(rows.select_related("node").order_by("ordinal", "id"))


def replica_facts(
    rows: list[Replica], *, now: datetime, own: set[str] | None = None
) -> tuple[ReplicaFacts, ...]:
    found = tuple(_replica(row, own, None, now) for row in rows)
    if not any(fact.lost for fact in found):
        return found  # nearly always, and whatever we heard could only make silences shorter
    heard_since = nodes_heard_since(now)
    return tuple(_replica(row, own, heard_since, now) for row in rows)


def _replica(
    row: Replica, own: set[str] | None, heard_since: datetime | None, now: datetime
) -> ReplicaFacts:
    observed = row.observed
    last = row.node.last_seen_at or row.node.created_at
    # why: after an outage of our own every node looks silent; only what was listened to counts
    since = max(last, heard_since) if heard_since else last
    return ReplicaFacts(
        id=row.id,
        ordinal=row.ordinal,
        node=row.node.name,
        desired=Desired(row.desired),
        state=ReplicaState(row.state),
        state_age=now - (row.state_since or row.created_at),
        silence=max(now - since, timedelta(0)),
        node_offline=node_state(row.node, now) == "offline",
        own=own is None or row.id in own,
        attempts=row.attempts,
        downloaded_bytes=int(observed.get("downloaded_bytes", 0)),
        total_bytes=int(observed.get("total_bytes", 0)),
        cached_bytes=int(observed.get("cached_bytes", 0)),
        installing=str(observed.get("installing", ""))[:SHOWN_LINE],
        install_seconds=float(observed.get("install_seconds", 0.0)),
        error=failure_from(row.error, row.id) if row.error else None,
        lost_after=lost_after(
            taken_up=bool(observed),
            lost_after_s=settings.SHOAL_NODE_LOST_AFTER_S,
            offline_after_s=liveness_of(row.node).offline_after_s,
        ),
        replaces=row.replaces,
        resting=row.desired == Desired.RUNNING and row.retire_generation is not None,
        relieved=None if row.relieved_at is None else now - row.relieved_at,
    )


def lost_after(*, taken_up: bool, lost_after_s: float, offline_after_s: float) -> timedelta:
    """Silence of a node after which a replica is placed elsewhere.

    Soon where the node has never said a word about it: nothing is there to be spared. But never
    before the node is offline: in a large fleet nodes report rarely, and are well.
    """
    patience_s = lost_after_s if taken_up else min(lost_after_s, UNTAKEN_AFTER.total_seconds())
    return timedelta(seconds=max(patience_s, offline_after_s))


def spec_failure(asked: DeploymentRevision) -> Failure | None:
    """Why this cannot run on any node; None when nothing speaks against it."""
    version: ModelVersion = asked.model_version
    names = set(version.repo_models.values_list("name", flat=True))
    if not names:
        return Failure("NoModelFound", f"{version} holds no model.")
    revision = asked.config_revision
    strangers = sorted(set(revision.configs) - names) if revision else []
    if strangers:
        return Failure(
            "ConfigInvalid", f"The configuration is for {', '.join(strangers)}, not in {version}."
        )
    files = list(version.files.values_list("path", "sha256"))
    absent = blob_store().missing(sha256 for _, sha256 in files)
    missing = [path for path, sha256 in files if sha256 in absent]
    if missing:
        return Failure(
            "BlobMissing",
            f"{len(missing)} file(s) of {version} are no longer stored.",
            detail="\n".join(missing[:20]),
            hints=("Upload the model again.",),
        )
    return None


def failure_from(data: dict[str, Any], replica_id: str = "") -> Failure:
    return Failure(
        code=str(data.get("code", "ReplicaFailed")),
        message=str(data.get("message", "")),
        detail=str(data.get("detail", "")),
        hints=tuple(data.get("hints", ())),
        replica_id=replica_id,
    )


def stage_from(data: dict[str, Any]) -> Stage:
    return Stage(
        name=StageName(data["name"]),
        status=StageStatus(data["status"]),
        started_at=_moment(data["started_at"]),
        ended_at=_moment(data["ended_at"]),
        detail=data["detail"],
        progress=data["progress"],
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def choose(deployment: Deployment, replicas: tuple[ReplicaFacts, ...], now: datetime) -> Chosen:
    """Placement's answer for the ordinals that nobody runs."""
    missing = missing_ordinals(replicas, deployment.instance_count)
    if not missing:
        return Chosen()
    found = placed(need_of(deployment, missing), subject_of(deployment), now)
    return Chosen(assigned=found.assigned, unplaced=found.unplaced, why_not=found.why_not())


def alternatives(
    deployment: Deployment,
    rows: Iterable[Replica],
    replicas: tuple[ReplicaFacts, ...],
    now: datetime,
) -> dict[str, Chosen]:
    """Replica id -> placement's answer, for those that have no GPU memory where they are."""
    by_id = {row.pk: row for row in rows}
    found = {}
    for fact in to_move(replicas):
        row = by_id[fact.id]
        need = need_of(deployment, (fact.ordinal,), avoided(row))
        if fact.under_memory_pressure and row.gpus:
            # why: one that answers most requests on a GPU is worse off on processors
            need = replace(need, gpu=replace(need.gpu, required=True))
        place = placed(need, subject_of(deployment), now)
        found[fact.id] = Chosen(place.assigned, place.unplaced, place.why_not())
    return found
