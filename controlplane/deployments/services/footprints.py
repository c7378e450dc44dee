"""Loads that ran out of GPU memory, remembered for placement."""

from datetime import datetime, timedelta
from typing import Final

from controlplane.deployments.models import GpuFootprint, InstanceType, Replica

# Another process may have grown meanwhile, so that the bound is too high: a day later it is tried.
REMEMBERED_FOR: Final = timedelta(days=1)


def footprint_remember(replica: Replica, least_bytes: int, now: datetime) -> None:
    """``replica`` could not be loaded: its configuration needs this much of a GPU, or more."""
    spec = replica.revision or replica.deployment
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
    return GpuFootprint.objects.filter(
        model_version_id=version_id,
        config_revision_key=config_revision_id or 0,
        kind=kind.name if kind else "",
        seen_at__gte=now - REMEMBERED_FOR,
    ).first()
