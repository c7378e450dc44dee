"""Pure: which node runs which replica on which GPUs, and why each other node does not."""

from controlplane.deployments.placement.checks import disk_pressure, examine, gpus_for
from controlplane.deployments.placement.choosing import explain, place, taken
from controlplane.deployments.placement.values import (
    BUILT_IN,
    Check,
    Gpu,
    GpuNeed,
    Need,
    Offer,
    Placement,
    Refusal,
    Verdict,
)

__all__ = [
    "BUILT_IN",
    "Check",
    "Gpu",
    "GpuNeed",
    "Need",
    "Offer",
    "Placement",
    "Refusal",
    "Verdict",
    "disk_pressure",
    "examine",
    "explain",
    "gpus_for",
    "place",
    "taken",
]
