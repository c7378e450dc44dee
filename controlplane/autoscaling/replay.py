"""What a policy would have done with what was measured before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from controlplane.autoscaling.decision import decide
from controlplane.autoscaling.loads import Load
from controlplane.autoscaling.policy import Policy, Targets
from controlplane.autoscaling.schedules import bounds_at
from controlplane.autoscaling.state import State

# Sums over all replicas: what was carried by so many would have been by any other number.
FORESEEN: Final = ("in_flight", "requests_per_second", "cpu_percent")


@dataclass(frozen=True, slots=True)
class Change:
    """``at``: Unix seconds; ``count``: replicas from then on."""

    at: float
    count: int
    reason: str


@dataclass(frozen=True, slots=True)
class Replay:
    """``measured_s`` of ``seconds`` had samples. ``ignored``: targets that nothing of before can
    tell of, as they depend on how many replicas there were."""

    least: int
    most: int
    replica_hours: float
    seconds: float
    measured_s: float
    changes: list[Change]
    ignored: list[str]


def replayed(
    policy: Policy, loads: Sequence[tuple[float, Load | None]], step_s: float
) -> Replay | None:
    """``loads``: one every ``step_s`` seconds, with the end of its time; None: not sampled. Every
    replica starts at once. None where the policy has nothing that can be foreseen, or no time."""
    known = {name: goal for name, goal in policy.targets.set().items() if name in FORESEEN}
    ignored = [name for name in policy.targets.set() if name not in known]
    if not loads or (ignored and not known):
        return None
    policy = replace(policy, targets=Targets(**known), enabled=True)
    state, changes = State(), list[Change]()
    count = bounds_at(policy, _moment(loads[0][0])).least
    total, counts = 0.0, list[int]()
    for at, load in loads:
        seen = None if load is None else replace(load, at=at, fresh_s=3 * step_s)
        # why seen by what came: at zero nothing else would be measured, and it would sleep on
        needed = "a request came" if not count and seen is not None and not seen.quiet else ""
        found = decide(policy, seen, state, count, _moment(at), needed=needed)
        state = found.state
        if found.wanted != count or not changes:
            changes.append(Change(at, found.wanted, found.reason))
        count = found.wanted
        counts.append(count)
        total += count * step_s
    return Replay(
        least=min(counts),
        most=max(counts),
        replica_hours=total / 3600,
        seconds=len(loads) * step_s,
        measured_s=step_s * sum(load is not None for _, load in loads),
        changes=changes,
        ignored=ignored,
    )


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
