"""Rows made into what ``placement`` looks at: what a deployment needs, what every node offers."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final, cast

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from controlplane.accounts.models import Project
from controlplane.deployments import placement
from controlplane.deployments.models import (
    Deployment,
    DeploymentRevision,
    GpuFootprint,
    InstanceType,
    Replica,
)
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.types import AntiAffinity, Desired, GpuPolicy
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import labels_of, node_age_s, node_is_late, node_list, node_state
from controlplane.registry.models import RepoModel
from wire.messages import SANDBOX_NEEDED

# Another process may have grown meanwhile, so that the bound is too high: a day later it is tried.
REMEMBERED_FOR: Final = timedelta(days=1)


def need_of(
    deployment: Deployment, ordinals: tuple[int, ...], avoid: Iterable[str] = ()
) -> placement.Need:
    """``avoid`` holds UUIDs of GPUs and ids of nodes."""
    need = needs_of([deployment], timezone.now())[deployment.pk]
    return replace(
        need,
        ordinals=ordinals,
        avoid=frozenset(avoid),
        gpu=replace(need.gpu, avoid=frozenset(avoid)),
    )


def needs_of(deployments: Collection[Deployment], now: datetime) -> dict[int, placement.Need]:
    """Primary key -> what one replica needs, without ordinals; in at most two queries
    for all of them."""
    versions = {deployment.revision.model_version_id for deployment in deployments}
    # why everything: whoever asks has been given these deployments
    models = RepoModel.everything.filter(model_version__in=versions)
    backends: dict[int, set[str]] = {}
    for version_id, backend in models.values_list("model_version_id", "backend"):
        backends.setdefault(version_id, set()).add(backend)
    kinds = [deployment.revision.instance_type for deployment in deployments]
    known = {}
    if any(kind is not None and kind.gpu_count for kind in kinds):
        known = {
            (row.model_version_id, row.config_revision_key, row.kind): row
            for row in _footprints(now).filter(model_version__in=versions)
        }
    return {
        deployment.pk: _need(
            deployment.revision,
            frozenset(backends.get(deployment.revision.model_version_id, ())),
            known,
        )
        for deployment in deployments
    }


def _need(
    revision: DeploymentRevision,
    backends: frozenset[str],
    known: Mapping[tuple[int, int, str], GpuFootprint],
) -> placement.Need:
    version, run, kind = revision.model_version, revision.settings, revision.instance_type
    need = need_for(kind, backends=backends, size_bytes=version.size)
    key = (version.pk, revision.config_revision_id or 0, kind.name if kind else "")
    return replace(
        need,
        ordinals=(),
        labels={**need.labels, **run.node_labels},
        one_per_node=run.anti_affinity == AntiAffinity.REQUIRED,
        gpu=gpu_remembered(need.gpu, known.get(key)),
    )


def gpu_remembered(need: placement.GpuNeed, known: GpuFootprint | None) -> placement.GpuNeed:
    if known is None:
        return need
    because = f"with less it could not be loaded on {known.node_name} on {known.seen_at:%Y-%m-%d}"
    return replace(need, least_free_bytes=known.least_bytes, least_because=because)


def need_for(
    kind: InstanceType | None, *, backends: frozenset[str], size_bytes: int
) -> placement.Need:
    """Of one replica of this size; ``kind`` None: nothing is asked of the machine."""
    asked = kind or InstanceType()
    return placement.Need(
        ordinals=(0,),
        backends=backends,
        size_bytes=size_bytes,
        labels=asked.node_labels,
        instance_type=asked.name,
        cpu_count=asked.cpu_count,
        memory_bytes=asked.memory_bytes,
        gpu=_gpu_need(asked, size_bytes),
    )


def _gpu_need(kind: InstanceType, size_bytes: int) -> placement.GpuNeed:
    if not kind.gpu_count:
        return placement.GpuNeed()
    return placement.GpuNeed(
        count=kind.gpu_count,
        required=kind.gpu_policy == GpuPolicy.REQUIRED,
        model=kind.gpu_model,
        least_total_bytes=kind.gpu_memory_bytes,
        estimate_bytes=placement.gpu_estimate(size_bytes, kind.gpu_count),
    )


def subject_of(deployment: Deployment) -> placement.Subject:
    """What its next replica runs."""
    revision = deployment.revision
    return placement.Subject(deployment.pk, revision.pk, revision.model_version_id)


def offers(subject: placement.Subject, now: datetime) -> list[placement.Offer]:
    """What every node has to give to it."""
    return placement.offers_of(fleet(now), subject)


def fleet(now: datetime, node_ids: Collection[str] | None = None) -> placement.Fleet:
    """Every node, or these, and everything that runs or is about to there, in two queries."""
    # why of everything: a node is as full as all projects make it
    nodes, replicas = node_list(), Replica.everything.filter(desired=Desired.RUNNING)
    if node_ids is not None:
        nodes, replicas = nodes.filter(pk__in=node_ids), replicas.filter(node__in=node_ids)
    return placement.Fleet(tuple(_machine(node, now) for node in nodes), _tenants(replicas))


def crowding(instance_count: int) -> str:
    """What to tell somebody who wants more replicas than all nodes together have processors;
    empty where nothing is to be told, or a node does not say how many it has."""
    if instance_count < 2:  # whatever there is has one
        return ""
    open_to = node_list().filter(cordoned=False).order_by()
    # why not of all: so many have so many processors, if each of them has one
    counts = open_to.values_list("info__cpu_count", flat=True)[:instance_count]
    told = [int(count or 0) for count in counts]
    if not told or 0 in told or instance_count <= sum(told):
        return ""
    return (
        f"{instance_count} replicas on {sum(told)} processors: each is a process with threads of "
        "its own, so they take turns, and more of them answer no faster."
    )


def _tenants(replicas: QuerySet[Replica]) -> tuple[placement.Tenant, ...]:
    rows = replicas.values_list(
        "node_id", "deployment_id", "revision_id", "state", "gpus",
        "observed__downloaded_bytes", "observed__cached_bytes",
        "revision__model_version_id", "revision__model_version__size",
    )  # fmt: skip
    return tuple(_tenant(*row) for row in rows)


def _tenant(
    node_id: str, deployment_id: int, revision_id: int, state: str, gpus: list[str] | None,
    downloaded: int | None, cached: int | None, version_id: int, size: int,
) -> placement.Tenant:  # fmt: skip
    return placement.Tenant(
        node_id=node_id,
        subject=placement.Subject(deployment_id, revision_id, version_id),
        state=state,
        size_bytes=size,
        fetched_bytes=(downloaded or 0) + (cached or 0),
        gpus=tuple(gpus or ()),
    )


def _machine(node: Node, now: datetime) -> placement.Machine:
    info = node.info
    cached, quota = int(info.get("cache_bytes", 0)), int(info.get("cache_quota_bytes", 0))
    told = info.get("cache_idle_bytes")
    idle = cached if told is None else int(told)  # what replicas use cannot be freed
    return placement.Machine(
        node_id=node.id,
        name=node.name,
        state=node_state(node, now),
        age_s=node_age_s(node, now),
        late=node_is_late(node, now),
        cordoned=node.cordoned,
        backends=frozenset(info.get("backends", [])),
        disk_total_bytes=int(info.get("disk_total_bytes", 0)),
        disk_free_bytes=int(info.get("disk_free_bytes", 0)),
        disk_pressure=bool(info.get("disk_pressure")),
        cache_bytes=idle,
        quota_room_bytes=quota - (cached - idle) if quota else None,
        labels=labels_of(node),
        cpu_count=int(info.get("cpu_count", 0)),
        memory_total_bytes=int(info.get("memory_total_bytes", 0)),
        cards=tuple(_card(data) for data in info.get("gpus", [])),
        no_sandbox_for=_no_sandbox_for(info),
    )


def _no_sandbox_for(info: dict[str, Any]) -> tuple[str, ...] | None:
    """What is required and the node does not say that it keeps; None where nothing is required."""
    if settings.SHOAL_SANDBOX != "require":
        return None
    kept = info.get("sandbox", {})
    return tuple(name for name in SANDBOX_NEEDED if not kept.get(name))


def _card(data: dict[str, Any]) -> placement.Card:
    return placement.Card(
        uuid=data["uuid"],
        name=data["name"],
        memory_total_bytes=int(data["memory_total_bytes"]),
        memory_used_bytes=int(data.get("memory_used_bytes", 0)),
    )


def avoided(row: Replica) -> list[str]:
    """Where this ordinal has run out of memory, this place included."""
    return [*row.avoid, *(row.gpus or [row.node_id])]


def gpus_give(
    deployment: Deployment, node_ids: Iterable[str], now: datetime, avoid: Iterable[str] = ()
) -> list[list[str] | None]:
    """UUIDs for one more replica on each of the nodes, in their order; None: not restricted.

    Decided when rows are written, not when nodes are chosen: what was free then may be taken now.
    """
    if deployment.revision.instance_type is None:
        # why none: where GPUs are counted, by instance types, nobody has any that are not
        project = cast(Project, deployment.endpoint.project)
        return [None if project.max_gpus is None else [] for _ in node_ids]
    need = need_of(deployment, (), avoid)
    node_ids = list(node_ids)
    offered = placement.offers_of(fleet(now, set(node_ids)), subject_of(deployment))
    left = {offer.node_id: offer for offer in offered}
    given: list[list[str] | None] = []
    for node_id in node_ids:
        given.append([gpu.uuid for gpu in placement.gpus_for(need.gpu, left[node_id])])
        left[node_id] = placement.taken(need, left[node_id])
    return given


def placement_explained(*, endpoint: str, name: str, now: datetime) -> list[placement.Verdict]:
    """Every node's verdict for one more replica. Raises EndpointNotFound, DeploymentNotFound."""
    row = deployment_get(endpoint, name)
    return placement.explain(need_of(row, (row.instance_count,)), offers(subject_of(row), now))


def nodes_fitting(kinds: list[InstanceType], now: datetime) -> dict[int, list[str]]:
    """Primary key -> names of the nodes that would take a replica of an empty model now."""
    available = offers(placement.Subject(None, None, None), now)
    found = {}
    for kind in kinds:
        need = need_for(kind, backends=frozenset(), size_bytes=0)
        verdicts = placement.explain(need, available)
        found[kind.pk] = [verdict.node for verdict in verdicts if verdict.reason is None]
    return found


def footprint_remember(replica: Replica, least_bytes: int, now: datetime) -> None:
    """``replica`` could not be loaded: its configuration needs this much of a GPU, or more."""
    spec = replica.revision
    known = footprint_of(spec.model_version_id, spec.config_revision_id, spec.instance_type, now)
    least = max(least_bytes, known.least_bytes if known else 0)
    GpuFootprint.objects.update_or_create(
        model_version_id=spec.model_version_id,
        config_revision_key=spec.config_revision_id or 0,
        kind=spec.instance_type.name if spec.instance_type else "",
        defaults={"least_bytes": least, "node_name": replica.node.name, "seen_at": now},
    )


def footprint_of(
    version_id: int, config_revision_id: int | None, kind: InstanceType | None, now: datetime
) -> GpuFootprint | None:
    """What is remembered of exactly this configuration: another one may need less."""
    rows = _footprints(now).filter(model_version_id=version_id)
    key, name = config_revision_id or 0, kind.name if kind else ""
    return rows.filter(config_revision_key=key, kind=name).first()


def _footprints(now: datetime) -> QuerySet[GpuFootprint]:
    return GpuFootprint.objects.filter(seen_at__gte=now - REMEMBERED_FOR)
