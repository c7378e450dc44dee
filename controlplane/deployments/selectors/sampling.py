"""How often nodes sample what they run."""

from collections.abc import Collection

from controlplane.deployments.models import Deployment
from controlplane.metrics.selectors import sample_interval_s
from controlplane.metrics.types import SAMPLE_INTERVAL_S
from controlplane.nodes.selectors import cadence_now
from controlplane.nodes.types import LEISURE_S

AUTOSCALED_INTERVAL_S = 1.0  # so that a step of the load is decided on within three seconds


def sampling_s(endpoints: Collection[str]) -> float:
    """Seconds between two samples of what runs for these endpoints: quicker while somebody
    watches one, or the autoscaler does, as far as the size of the fleet lets it."""
    pace, wanted_s = cadence_now(), sample_interval_s(endpoints)
    if wanted_s < SAMPLE_INTERVAL_S or pace.sample_s > LEISURE_S or not _autoscaled(endpoints):
        return pace.sampling_s(wanted_s)
    return AUTOSCALED_INTERVAL_S


def _autoscaled(endpoints: Collection[str]) -> bool:
    rows = Deployment.objects.filter(endpoint__name__in=endpoints, autoscale__isnull=False)
    return bool(endpoints) and rows.exists()
