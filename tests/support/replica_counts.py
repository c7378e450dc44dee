"""What replicas counted, written as the samples that their agents would send."""

from dataclasses import asdict

from controlplane.metrics.models import ReplicaSample
from wire.samples import ModelCounters
from wire.samples import ReplicaSample as Sample


def carried(
    at: float,
    deployment: str,
    *,
    answered: int = 0,
    failed: int = 0,
    error_answers: int = 0,
    mean_us: float = 1000.0,
    cpu_seconds: float = 0.0,
    endpoint: str = "digits",
) -> None:
    """All that the deployment's one replica has counted up to ``at``."""
    counters = ModelCounters(
        model="digits",
        version="1",
        request_success=answered,
        request_failure={"BACKEND": failed},
        error_answers=error_answers,
        request_duration_us=mean_us * answered,
        instances=1,
    )
    sample = Sample(
        replica_id=f"{deployment}-0",
        endpoint=endpoint,
        deployment=deployment,
        at=at,
        models=(counters,),
        cpu_seconds=cpu_seconds,
    )
    ReplicaSample.objects.create(
        endpoint=endpoint,
        deployment=deployment,
        replica_id=sample.replica_id,
        node="local",
        at=at,
        data=asdict(sample),
    )
