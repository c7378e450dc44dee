"""Samples as replicas and gateways send them, as rows of the metrics' database."""

from typing import Any

from controlplane.metrics.models import GatewaySample, ReplicaSample

START = 1_700_000_040  # a whole minute, 20 s before nothing in particular
HOUR = 1_700_002_800  # a whole hour


def replica(at: float, count: float, **labels: Any) -> ReplicaSample:
    names = {"deployment": "blue", "replica": "r0", "node": "n1", "model": "digits"} | labels
    counters = {
        "model": names["model"],
        "version": "1",
        "request_success": count,
        "inference_count": 4 * count,
        "exec_count": count,
        "request_duration_us": 1000 * count,
        "queue_duration_us": 100 * count,
        "batch_counts": {"4": count},
        "batch_compute_us": {"4": 300 * count},
        "instances": 2.0,
        "busy_us": 10_000 * count,
    }
    data = {
        "replica_id": names["replica"],
        "deployment": names["deployment"],
        "at": at,
        "memory_bytes": 100,
        "models": [counters],
    }
    return ReplicaSample(
        endpoint="digits",
        deployment=names["deployment"],
        replica_id=names["replica"],
        node=names["node"],
        at=at,
        data=data,
    )


def gateway(at: float, bucket: int, count: int, deployment: str = "blue") -> GatewaySample:
    data = {
        "deployment": deployment,
        "at": at,
        "interval_s": 2.0,
        "requests": count,
        "status_classes": {"2xx": count - 1, "5xx": 1},
        "histogram": {str(bucket): count},
        "request_bytes": 10 * count,
        "response_bytes": 20 * count,
    }
    return GatewaySample(endpoint="digits", deployment=deployment, at=at, data=data)


def steady(minutes: int, start: int = START, per_s: float = 10.0, **labels: Any) -> None:
    """Samples every two seconds of a replica that answers ``per_s`` requests a second."""
    ReplicaSample.objects.bulk_create(
        replica(start + at, per_s * at, **labels) for at in range(0, minutes * 60 + 1, 2)
    )
