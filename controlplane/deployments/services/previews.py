"""Where a deployment would run that does not exist yet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from controlplane.core.pagination import paginate_values
from controlplane.deployments import placement
from controlplane.deployments.selectors.instance_types import instance_type_wanted
from controlplane.deployments.services.capacity import (
    footprint_of,
    gpu_remembered,
    need_for,
    offers,
)
from controlplane.deployments.services.subjects import subject_of
from controlplane.deployments.types import AntiAffinity


@dataclass(frozen=True, slots=True)
class Assignment:
    ordinal: int
    node: str  # name
    gpus: list[str]  # UUIDs that it would get


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
    fitting: int  # nodes that would take a replica now
    matching: int  # nodes whose names were looked for
    items: Sequence[placement.Verdict]  # of this page
    next_cursor: str | None


def placement_preview(
    *,
    model: str,
    version: str,
    upload_id: str,
    instance_count: int,
    instance_type: str,
    node_labels: dict[str, str],
    anti_affinity: str,
    q: str,
    limit: int,
    cursor: str,
    now: datetime,
) -> Preview:
    """Nothing is written or reserved. ``items``: a page of the nodes whose names contain
    ``q``, those that would get a replica first, then by rank, then those that would take none.

    Raises ModelNotFound, ModelNotDeployable, UploadNotFound, InstanceTypeUnknown, Invalid.
    """
    subject = subject_of(model, version, upload_id, None)
    kind = instance_type_wanted(instance_type) if instance_type else None
    need = need_for(kind, backends=subject.backends, size_bytes=subject.size_bytes)
    version_id = subject.version.pk if subject.version else None
    known = None if version_id is None else footprint_of(version_id, None, kind, now)
    need = replace(
        need,
        gpu=gpu_remembered(need.gpu, known),
        ordinals=tuple(range(instance_count)),
        labels={**need.labels, **node_labels},
        one_per_node=anti_affinity == AntiAffinity.REQUIRED,
    )
    # nodes that have its files already are better places
    available = offers(placement.Subject(None, None, version_id), now)
    placed = placement.place(need, available)
    assigned = _assignments(need, available, placed)
    verdicts = placement.explain(need, available)
    used = {one.node for one in assigned}
    named = [one for one in verdicts if q.lower() in one.node.lower()]
    page = paginate_values(
        named, limit=limit, cursor=cursor, key=lambda one: _place_of(one, given=one.node in used)
    )
    return Preview(
        instance_count=instance_count,
        placeable=len(placed.assigned),
        assigned=assigned,
        why_not=placed.why_not() if placed.unplaced else "",
        instance_type=kind.name if kind else None,
        estimate=Estimate(need.size_bytes, need.gpu.count, need.gpu.estimate_bytes),
        fitting=sum(one.reason is None for one in verdicts),
        matching=len(named),
        items=page.items,
        next_cursor=page.next_cursor,
    )


def _place_of(verdict: placement.Verdict, *, given: bool) -> tuple[str, ...]:
    """What pages are ordered by; ``given``: it would get a replica."""
    rank = f"{verdict.rank:08}" if verdict.rank is not None else "none"
    return ("0" if given else "1", rank, verdict.node)


def _assignments(
    need: placement.Need, available: list[placement.Offer], placed: placement.Placement
) -> list[Assignment]:
    """One after another, as they would be given: each takes room from the next."""
    left = {offer.node_id: offer for offer in available}
    found = []
    for ordinal, node_id in placed.assigned:
        offer = left[node_id]
        gpus = [gpu.uuid for gpu in placement.gpus_for(need.gpu, offer)] if need.gpu.count else []
        found.append(Assignment(ordinal, offer.name, gpus))
        left[node_id] = placement.taken(need, offer)
    return found
