"""Writes of metrics."""

from controlplane.metrics.services.keeping import logs_forget, prune, roll_up, thin
from controlplane.metrics.services.samples import (
    gateway_samples_ingest,
    logs_ingest,
    samples_ingest,
    watch,
)

__all__ = [
    "gateway_samples_ingest",
    "logs_forget",
    "logs_ingest",
    "prune",
    "roll_up",
    "samples_ingest",
    "thin",
    "watch",
]
