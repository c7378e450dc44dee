"""How often nodes sample what they run."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from controlplane.autoscaling import LEAST_INTERVAL_S
from controlplane.deployments.models import Deployment
from controlplane.metrics.selectors import sample_interval_s
from controlplane.metrics.types import SAMPLE_INTERVAL_S
from controlplane.nodes.types import LEISURE_S, Cadence

AUTOSCALED_INTERVAL_S: Final = 1.0  # a step of the load is decided on within three seconds
EARLY: Final = timedelta(milliseconds=500)  # neither samples nor beat are exact


def sampling_s(endpoints: Collection[str], pace: Cadence) -> float:
    """Seconds between two samples of what runs for these endpoints: quicker while somebody
    watches one, or the autoscaler does, as far as the size of the fleet lets it."""
    wanted_s = sample_interval_s(endpoints)
    if wanted_s < SAMPLE_INTERVAL_S or pace.sample_s > LEISURE_S or not _autoscaled(endpoints):
        return pace.sampling_s(wanted_s)
    return AUTOSCALED_INTERVAL_S


def look_due(endpoints: Collection[str], now: datetime) -> bool:
    """Whether the autoscaler looked at one of these a while ago, so that new samples are worth it.

    why by samples, and not by the clock alone: what they say would wait for it, up to two seconds.
    """
    if not endpoints:
        return False
    rows = Deployment.objects.filter(endpoint__name__in=endpoints, autoscale__isnull=False)
    looks = rows.values_list("autoscaler__decided_at", flat=True)
    # why abs: a clock that was set back is no wait
    least = timedelta(seconds=LEAST_INTERVAL_S) - EARLY
    return any(at is None or abs(now - at) >= least for at in looks)


def _autoscaled(endpoints: Collection[str]) -> bool:
    rows = Deployment.objects.filter(endpoint__name__in=endpoints, autoscale__isnull=False)
    return bool(endpoints) and rows.exists()
