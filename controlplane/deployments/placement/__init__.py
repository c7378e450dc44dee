"""Pure: which node runs which replica on which GPUs, and why each other node does not."""

from controlplane.deployments.placement.checks import disk_pressure, examine, gpus_for
from controlplane.deployments.placement.choosing import explain, place, taken
from controlplane.deployments.placement.fleet import (
    Card,
    Departure,
    Fleet,
    Machine,
    Subject,
    Tenant,
    gpu_estimate,
    offers_of,
    relocate,
    settled,
)
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
    "Card",
    "Check",
    "Departure",
    "Fleet",
    "Gpu",
    "GpuNeed",
    "Machine",
    "Need",
    "Offer",
    "Placement",
    "Refusal",
    "Subject",
    "Tenant",
    "Verdict",
    "disk_pressure",
    "examine",
    "explain",
    "gpu_estimate",
    "gpus_for",
    "offers_of",
    "place",
    "relocate",
    "settled",
    "taken",
]
