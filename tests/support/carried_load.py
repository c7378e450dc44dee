"""What replicas carry, written as the samples that a node would send."""

from dataclasses import asdict
from datetime import datetime

from controlplane.deployments.models import Replica
from controlplane.metrics.models import ReplicaSample
from wire.samples import ModelCounters
from wire.samples import ReplicaSample as Sample

SECONDS = 2.0


def carry(
    now: datetime,
    in_flight: float,
    *,
    pending: float = 0.0,
    per_second: float = 100.0,
    cpu: float = 0.0,
    leave_out: int = 0,
) -> None:
    """All ready replicas together carry so much in the two seconds before ``now``; the last
    ``leave_out`` of them are not sampled. ``pending`` wait at the end, and did all the time. What
    they carried before is forgotten."""
    ReplicaSample.objects.all().delete()
    rows = list(Replica.objects.filter(state="ready", desired="running").order_by("ordinal"))
    rows = rows[: len(rows) - leave_out]
    for row in rows:
        for moment in (0.0, SECONDS):
            done = per_second * moment / len(rows)
            counters = ModelCounters(
                model="digits",
                version="1",
                request_success=done,
                inference_count=done,
                exec_count=done,
                request_duration_us=(in_flight + pending) * moment * 1e6 / len(rows),
                queue_duration_us=pending * moment * 1e6 / len(rows),
                busy_us=moment * 1e6 if pending else 0.0,
                pending_request_count=pending / len(rows),
                instances=1,
            )
            at = now.timestamp() - SECONDS + moment
            sample = Sample(
                replica_id=row.pk,
                endpoint="digits",
                deployment=row.deployment.name,
                at=at,
                models=(counters,),
                cpu_seconds=cpu * moment,
            )
            ReplicaSample.objects.create(
                endpoint="digits",
                deployment=row.deployment.name,
                replica_id=row.pk,
                node=row.node.name,
                at=at,
                data=asdict(sample),
            )
