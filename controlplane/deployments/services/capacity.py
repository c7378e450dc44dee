"""Rows made into what ``placement`` looks at: what a deployment needs, what every node offers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from controlplane.deployments import placement
from controlplane.deployments.models import Deployment, InstanceType, Replica
from controlplane.deployments.reconcile import Chosen, ReplicaFacts, missing_ordinals
from controlplane.deployments.selectors import deployment_get
from controlplane.deployments.types import AntiAffinity, Desired, GpuPolicy, ReplicaState
from controlplane.nodes.models import Node
from controlplane.nodes.selectors import labels_of, node_age_s, node_list, node_state

# Of the repository's size: weights, and what computing with them takes besides.
GPU_MEMORY_FACTOR: Final = 1.5
# In these states the files are on the node.
DOWNLOADED: Final = frozenset(
    {ReplicaState.STARTING, ReplicaState.LOADING, ReplicaState.WARMING, ReplicaState.READY}
)
# In these the node's own report does not count the memory yet that the replica will take.
COMING: Final = frozenset(
    {
        ReplicaState.PENDING,
        ReplicaState.DOWNLOADING,
        ReplicaState.STARTING,
        ReplicaState.LOADING,
        ReplicaState.WARMING,
    }
)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A replica that runs somewhere, as far as it matters to those that are to come."""

    node_id: str
    deployment_id: int
    revision_id: int | None
    version_id: int
    state: str
    gpus: tuple[str, ...]
    gpu_bytes: int  # that it is thought to take of each of its GPUs


def gpu_estimate(size_bytes: int, gpu_count: int) -> int:
    """Bytes that a model is thought to take of each of its GPUs."""
    return int(size_bytes * GPU_MEMORY_FACTOR / max(gpu_count, 1))


def need_of(deployment: Deployment, ordinals: tuple[int, ...]) -> placement.Need:
    version = deployment.model_version
    need = need_for(
        deployment.instance_type,
        backends=frozenset(version.repo_models.values_list("backend", flat=True)),
        size_bytes=version.size,
    )
    return replace(
        need,
        ordinals=ordinals,
        labels={**need.labels, **deployment.node_labels},
        one_per_node=deployment.anti_affinity == AntiAffinity.REQUIRED,
    )


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
        estimate_bytes=gpu_estimate(size_bytes, kind.gpu_count),
    )


def offers(deployment: Deployment, now: datetime) -> list[placement.Offer]:
    """What every node has to give to this deployment, which need not be saved yet."""
    found = tenants()
    return [_offer(node, deployment, found, now) for node in node_list()]


def tenants() -> list[Tenant]:
    """Everything that runs or is about to, in one query."""
    rows = Replica.objects.filter(desired=Desired.RUNNING).values_list(
        "node_id", "deployment_id", "revision_id", "state", "gpus",
        "revision__model_version_id", "revision__model_version__size",
        "deployment__model_version_id", "deployment__model_version__size",
    )  # fmt: skip
    return [_tenant(*row) for row in rows]


def _tenant(
    node_id: str, deployment_id: int, revision_id: int | None, state: str, gpus: list[str] | None,
    revised: int | None, revised_size: int | None, version_id: int, size: int,
) -> Tenant:  # fmt: skip
    return Tenant(
        node_id=node_id,
        deployment_id=deployment_id,
        revision_id=revision_id,
        version_id=version_id if revised is None else revised,
        state=state,
        gpus=tuple(gpus or ()),
        gpu_bytes=gpu_estimate(size if revised_size is None else revised_size, len(gpus or ())),
    )


def _offer(
    node: Node, deployment: Deployment, found: list[Tenant], now: datetime
) -> placement.Offer:
    info = node.info
    here = [tenant for tenant in found if tenant.node_id == node.pk]
    siblings = [tenant for tenant in here if tenant.deployment_id == deployment.pk]
    total, free = int(info.get("disk_total_bytes", 0)), int(info.get("disk_free_bytes", 0))
    pressed = bool(info.get("disk_pressure")) or placement.disk_pressure(total, free)
    return placement.Offer(
        node_id=node.id,
        name=node.name,
        state=node_state(node, now),
        age_s=node_age_s(node, now),
        cordoned=node.cordoned,
        backends=frozenset(info.get("backends", [])),
        disk_total_bytes=total,
        disk_free_bytes=free,
        cache_bytes=int(info.get("cache_bytes", 0)),
        replicas=len(here),
        siblings=len(siblings),
        twins=sum(tenant.revision_id == deployment.revision_id for tenant in siblings),
        labels=labels_of(node),
        cpu_count=int(info.get("cpu_count", 0)),
        memory_total_bytes=int(info.get("memory_total_bytes", 0)),
        gpus=tuple(_gpu(data, here) for data in info.get("gpus", [])),
        disk_pressure=pressed,
        holds_model=any(
            tenant.version_id == deployment.model_version_id and tenant.state in DOWNLOADED
            for tenant in here
        ),
    )


def _gpu(data: dict[str, Any], here: list[Tenant]) -> placement.Gpu:
    given = [tenant for tenant in here if data["uuid"] in tenant.gpus]
    promised = sum(tenant.gpu_bytes for tenant in given if tenant.state in COMING)
    total = int(data["memory_total_bytes"])
    return placement.Gpu(
        uuid=data["uuid"],
        name=data["name"],
        memory_total_bytes=total,
        memory_free_bytes=total - int(data.get("memory_used_bytes", 0)) - promised,
        replicas=len(given),
    )


def choose(deployment: Deployment, replicas: tuple[ReplicaFacts, ...], now: datetime) -> Chosen:
    """Placement's answer for the ordinals that nobody runs."""
    missing = missing_ordinals(replicas, deployment.instance_count)
    if not missing:
        return Chosen()
    placed = placement.place(need_of(deployment, missing), offers(deployment, now))
    return Chosen(assigned=placed.assigned, unplaced=placed.unplaced, why_not=placed.why_not())


def gpus_give(
    deployment: Deployment, node_ids: Iterable[str], now: datetime
) -> list[list[str] | None]:
    """UUIDs for one more replica on each of the nodes, in their order; None: not restricted.

    Decided when rows are written, not when nodes are chosen: what was free then may be taken now.
    """
    if deployment.instance_type is None:
        return [None for _ in node_ids]
    need = need_of(deployment, ())
    left = {offer.node_id: offer for offer in offers(deployment, now)}
    given: list[list[str] | None] = []
    for node_id in node_ids:
        given.append([gpu.uuid for gpu in placement.gpus_for(need.gpu, left[node_id])])
        left[node_id] = placement.taken(need, left[node_id])
    return given


def placement_explained(*, endpoint: str, name: str, now: datetime) -> list[placement.Verdict]:
    """Every node's verdict for one more replica. Raises EndpointNotFound, DeploymentNotFound."""
    row = deployment_get(endpoint, name)
    return placement.explain(need_of(row, (row.instance_count,)), offers(row, now))


def nodes_fitting(kinds: list[InstanceType], now: datetime) -> dict[int, list[str]]:
    """Primary key -> names of the nodes that would take a replica of an empty model now."""
    available = offers(Deployment(), now)
    found = {}
    for kind in kinds:
        need = need_for(kind, backends=frozenset(), size_bytes=0)
        verdicts = placement.explain(need, available)
        found[kind.pk] = [verdict.node for verdict in verdicts if verdict.reason is None]
    return found
