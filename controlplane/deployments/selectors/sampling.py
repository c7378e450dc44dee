"""How often nodes sample what they run, and who looks at the samples at once."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from controlplane.autoscaling import LEAST_INTERVAL_S, SOON_S
from controlplane.deployments.models import Deployment
from controlplane.metrics.selectors import sample_interval_s
from controlplane.metrics.types import SAMPLE_INTERVAL_S
from controlplane.nodes.types import LEISURE_S, Cadence

AUTOSCALED_INTERVAL_S: Final = 1.0  # a step of the load is decided on within three seconds
COPIED_INTERVAL_S: Final = 1.0  # a rollout judges copies by what replicas count of them
EARLY: Final = timedelta(milliseconds=500)  # neither samples nor beat are exact


@dataclass(frozen=True, slots=True)
class Looks:
    """Who looks at samples of some endpoints. ``autoscaled``: of each deployment that is, when it
    was looked at, and whether it wants to be again soon. ``copied``: one of the endpoints sends
    copies of requests, which nobody but replicas counts."""

    autoscaled: tuple[tuple[datetime | None, bool], ...] = ()
    copied: bool = False

    def due(self, now: datetime) -> bool:
        """Whether the autoscaler looked a while ago, so that new samples are worth it.

        why by samples, and not by the clock alone: what they say would wait for it, up to two
        seconds.
        """
        return any(at is None or _is_due(at, soon, now) for at, soon in self.autoscaled)


def looks_at(endpoints: Collection[str]) -> Looks:
    if not endpoints:
        return Looks()
    rows = Deployment.objects.filter(endpoint__name__in=endpoints)
    looked = rows.exclude(autoscale=None, endpoint__mirror_traffic={}).values_list(
        "autoscale", "autoscaler__decided_at", "autoscaler__memory__soon",
        "endpoint__mirror_traffic",
    )  # fmt: skip
    found = list(looked)
    return Looks(
        tuple((at, bool(soon)) for policy, at, soon, _ in found if policy is not None),
        any(mirror for *_, mirror in found),
    )


def sampling_s(
    endpoints: Collection[str], pace: Cadence, looks: Looks | None = None, *, waiting: bool = False
) -> float:
    """Seconds between two samples of what runs for these endpoints: quicker while somebody
    watches one, or the autoscaler or a rollout does, as far as the size of the fleet lets it.
    ``looks``: of these endpoints, where the caller has read it. ``waiting``: requests wait at one
    of them, so that more may be needed before the next sample."""
    wanted_s = sample_interval_s(endpoints)
    if wanted_s < SAMPLE_INTERVAL_S or pace.sample_s > LEISURE_S:
        return pace.sampling_s(wanted_s)
    looks = looks or looks_at(endpoints)
    if not looks.autoscaled:
        return COPIED_INTERVAL_S if looks.copied else pace.sampling_s(wanted_s)
    soon = waiting or any(soon for _, soon in looks.autoscaled)
    return SOON_S if soon else AUTOSCALED_INTERVAL_S


def _is_due(at: datetime, soon: bool, now: datetime) -> bool:
    # why abs: a clock that was set back is no wait
    return abs(now - at) >= timedelta(seconds=SOON_S if soon else LEAST_INTERVAL_S) - EARLY
