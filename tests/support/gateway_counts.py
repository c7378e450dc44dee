"""What gateways counted, written as the samples that their agents would send."""

from dataclasses import asdict

from controlplane.metrics.models import GatewaySample
from wire.samples import GatewaySample as Sample

QUICK = 60  # bucket of the histogram: about a millisecond


def counted(
    at: float, *, endpoint: str = "digits", bucket: int = QUICK, **arms: tuple[int, int]
) -> None:
    """``arms``: deployment -> requests, and how many of them failed, in the two seconds before
    ``at``; all of them took as long as ``bucket`` says."""
    for deployment, (requests, failed) in arms.items():
        classes = {"2xx": requests - failed, "5xx": failed}
        sample = Sample(
            endpoint=endpoint,
            deployment=deployment,
            at=at,
            interval_s=2.0,
            requests=requests,
            status_classes={kind: count for kind, count in classes.items() if count},
            histogram={str(bucket): requests},
        )
        GatewaySample.objects.create(
            endpoint=endpoint, deployment=deployment, at=at, data=asdict(sample)
        )
