"""How often nodes sample what they run, and who looks at the samples at once."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from controlplane.autoscaling import LEAST_INTERVAL_S, SOON_S
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.metrics.selectors import sample_interval_s
from controlplane.metrics.types import SAMPLE_INTERVAL_S
from controlplane.nodes.types import LEISURE_S, Cadence

AUTOSCALED_INTERVAL_S: Final = 1.0  # a step of the load is decided on within three seconds
COPIED_INTERVAL_S: Final = 1.0  # a rollout judges copies by what replicas count of them
EARLY: Final = timedelta(milliseconds=500)  # neither samples nor beat are exact


def sampling_s(endpoints: Collection[str], pace: Cadence, *, waiting: bool = False) -> float:
    """Seconds between two samples of what runs for these endpoints: quicker while somebody
    watches one, or the autoscaler or a rollout does, as far as the size of the fleet lets it.
    ``waiting``: requests wait at one of them, so that more may be needed before the next sample."""
    wanted_s = sample_interval_s(endpoints)
    if wanted_s < SAMPLE_INTERVAL_S or pace.sample_s > LEISURE_S:
        return pace.sampling_s(wanted_s)
    looks = [soon for _, soon in _looks(endpoints)]
    if not looks:
        return COPIED_INTERVAL_S if copied(endpoints) else pace.sampling_s(wanted_s)
    return SOON_S if waiting or any(looks) else AUTOSCALED_INTERVAL_S


def look_due(endpoints: Collection[str], now: datetime) -> bool:
    """Whether the autoscaler looked at one of these a while ago, so that new samples are worth it.

    why by samples, and not by the clock alone: what they say would wait for it, up to two seconds.
    """
    return any(at is None or _is_due(at, soon, now) for at, soon in _looks(endpoints))


def copied(endpoints: Collection[str]) -> bool:
    """Whether one of these sends copies of requests, which nobody but replicas counts."""
    if not endpoints:
        return False
    return Endpoint.objects.filter(name__in=endpoints).exclude(mirror_traffic={}).exists()


def _is_due(at: datetime, soon: bool, now: datetime) -> bool:
    # why abs: a clock that was set back is no wait
    return abs(now - at) >= timedelta(seconds=SOON_S if soon else LEAST_INTERVAL_S) - EARLY


def _looks(endpoints: Collection[str]) -> list[tuple[datetime | None, bool]]:
    """When the autoscaler looked at each deployment of these, and whether it wants to soon."""
    if not endpoints:
        return []
    rows = Deployment.objects.filter(endpoint__name__in=endpoints, autoscale__isnull=False)
    found = rows.values_list("autoscaler__decided_at", "autoscaler__memory__soon")
    return [(at, bool(soon)) for at, soon in found]
