"""Which bounds hold at a moment."""

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim

from controlplane.autoscaling.policy import Policy, Schedule

MINUTE_S = 60


@dataclass(frozen=True, slots=True)
class Bounds:
    """``schedule``: which one raises or lowers them, as text; empty: none does."""

    least: int
    most: int
    schedule: str = ""

    @property
    def awake(self) -> int:
        """The least that there are while it is not idle."""
        return max(self.least, 1)


def bounds_at(policy: Policy, now: datetime) -> Bounds:
    """The policy's own, or what its schedules make of them; of several the largest."""
    minute = int(now.timestamp() // MINUTE_S)
    active = [one for one in policy.schedules if _is_active(one, minute)]
    if not active:
        return Bounds(policy.min, policy.max)
    least = max([policy.min, *(one.min for one in active)])
    ceilings = [one.max for one in active if one.max is not None]
    most = max(ceilings) if ceilings else policy.max
    text = ", ".join(f"{one.start} to {one.end} ({one.time_zone})" for one in active)
    return Bounds(least, max(least, most), text)


def _is_active(schedule: Schedule, minute: int) -> bool:
    started = _last(schedule.start, schedule.time_zone, minute)
    ended = _last(schedule.end, schedule.time_zone, minute)
    return started is not None and (ended is None or started > ended)


@lru_cache(maxsize=1024)
def _last(cron: str, zone: str, minute: int) -> datetime | None:
    """Its last time up to this minute (since 1970); None: it has not come yet."""
    # why the next minute: going back begins before the moment that is given
    end = datetime.fromtimestamp((minute + 1) * MINUTE_S, UTC).astimezone(ZoneInfo(zone))
    return next(iter(CronSim(cron, end, reverse=True)), None)
