"""Where a deployment would run that does not exist yet."""

from dataclasses import dataclass
from datetime import datetime

from controlplane.deployments import placement
from controlplane.deployments.models import Deployment
from controlplane.deployments.services.capacity import need_of, offers
from controlplane.deployments.services.starting import Spec, instance_type_of, resolve


@dataclass(frozen=True, slots=True)
class Assignment:
    ordinal: int
    node: str  # name


@dataclass(frozen=True, slots=True)
class Estimate:
    download_bytes: int
    gpu_count: int
    gpu_memory_bytes: int


@dataclass(frozen=True, slots=True)
class Preview:
    instance_count: int
    placeable: int
    assigned: list[Assignment]
    why_not: str
    instance_type: str | None
    estimate: Estimate
    items: list[placement.Verdict]


def placement_preview(
    *,
    model: str,
    version: str,
    instance_count: int,
    instance_type: str,
    node_labels: dict[str, str],
    anti_affinity: str,
    now: datetime,
) -> Preview:
    """Nothing is written or reserved. Raises ModelNotFound, ModelNotDeployable,
    InstanceTypeUnknown."""
    spec = Spec(model=model, version=version, instance_type=instance_type)
    found, revision = resolve(spec)
    row = Deployment(
        model_version=found,
        config_revision=revision,
        instance_type=instance_type_of(spec),
        node_labels=node_labels,
        anti_affinity=anti_affinity,
    )
    need = need_of(row, tuple(range(instance_count)))
    available = offers(row, now)
    placed = placement.place(need, available)
    names = {offer.node_id: offer.name for offer in available}
    return Preview(
        instance_count=instance_count,
        placeable=len(placed.assigned),
        assigned=[Assignment(ordinal, names[node_id]) for ordinal, node_id in placed.assigned],
        why_not=placed.why_not() if placed.unplaced else "",
        instance_type=row.instance_type.name if row.instance_type else None,
        estimate=Estimate(need.size_bytes, need.gpu.count, need.gpu.estimate_bytes),
        items=placement.explain(need, available),
    )
