"""What each target makes of a load: replicas, and the figures that say why."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from controlplane.autoscaling.loads import Load
from controlplane.autoscaling.policy import Policy

# Of instances that execute all the time no queue is short; so much of it is given away.
BUSY_MOST: Final = 0.7
KNEE_SHARE: Final = 0.7  # of the busy time at which the queue was too long before
QUEUE_MOST: Final = 2.0  # times as many at once, where a queue says too little of how many
STANDING_MORE: Final = 4  # or so many more
UNITS: Final[Mapping[str, str]] = {
    "in_flight": "requests in flight",
    "requests_per_second": "requests/s",
    "queue_ms": "ms in the queue",
    "cpu_percent": "% of a replica's processors",
    "gpu_percent": "% of a replica's GPUs",
}
# Target -> the sum over replicas that it divides, and how many of its units are 1.0 of that.
SUMS: Final[Mapping[str, tuple[str, float]]] = {
    "in_flight": ("in_flight", 1.0),
    "requests_per_second": ("requests_per_second", 1.0),
    "cpu_percent": ("cpu", 100.0),
    "gpu_percent": ("gpu", 100.0),
}
ROUNDING: Final = 1e-9
NO_CHANCE: Final = 10  # requests that wait
SPREAD: Final = 2.0  # standard deviations of counted requests that are taken for chance
PATIENCE_MOST_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Demand:
    """``wanted``: None where that was not measured. ``figure``: what one replica carries.
    ``patience_s``: so long more must be asked for before it is no chance."""

    target: str
    wanted: int | None
    figure: float | None
    text: str
    patience_s: float = 0.0


def demands(
    policy: Policy, load: Load, current: int, knee: float, standing: float, *, fell: bool
) -> list[Demand]:
    """One for each target that is set. ``standing``: requests in flight at all times; ``fell``:
    replicas have gone a short time ago.

    why twice the tolerance then: what wavers around a bound would send for them again.
    """
    down = policy.tolerance_percent / 100
    shares = (2 * down if fell else down, down)
    found = []
    for name, goal in policy.targets.set().items():
        if name == "queue_ms":
            found.append(_of_queue(load, goal, current, shares[0], knee))
        elif name == "in_flight":
            found.append(_of_flight(load, goal, current, shares, standing))
        else:
            found.append(_of_sum(name, load, goal, current, shares))
    return found


def _of_sum(
    name: str, load: Load, goal: float, current: int, shares: tuple[float, float]
) -> Demand:
    """As many as share the load by the goal each.

    why so much less before one goes: else the load that sent it away would ask for it again.
    """
    of, units = SUMS[name]
    measured = load.due(of)
    if measured is None:
        return Demand(name, None, None, f"{UNITS[name]} were not measured")
    total = measured * units
    each = total / max(current, 1)
    up, down = _pieces(total, goal), _pieces(total, goal * (1 - shares[1]))
    over = total > current * goal * (1 + shares[0])
    wanted = max(up, current + 1) if over else min(down, current)
    text = f"{_number(total if units == 1.0 else each)} {UNITS[name]}"
    if load.waiting >= 1:
        text += f" with the {_number(load.waiting)} that wait"
    text += f", target {_number(goal)} for each"
    patience_s = _patience_s(load, total / (max(current, 1) * goal)) if over else 0.0
    return Demand(name, wanted, each, text, patience_s)


def _of_flight(
    load: Load, goal: float, current: int, shares: tuple[float, float], standing: float
) -> Demand:
    """By what comes, as the other sums; and by all that are there at once, where those stay.

    why not all of them always: what waits because too few were there is gone once more are.
    """
    found = _of_sum("in_flight", load, goal, current, shares)
    if found.wanted is None:
        return found
    if standing > current * goal * (1 + shares[0]):
        most = max(math.floor(current * QUEUE_MOST), current + STANDING_MORE)
        wanted = max(min(_pieces(standing, goal), most), current + 1)
        if wanted > found.wanted:
            text = f"{_number(standing)} {UNITS['in_flight']} all the time"
            text += f", target {_number(goal)} for each"
            return Demand("in_flight", wanted, standing / max(current, 1), text)
    # One goes only where those that wait have a place, too, and the others some time to spare.
    share = 1 - shares[1]
    kept = _pieces(load.in_flight or 0.0, goal * share)
    at_work = _pieces((load.busy or 0.0) * current, share)
    return replace(found, wanted=max(found.wanted, min(max(kept, at_work), current)))


def _of_queue(load: Load, goal: float, current: int, share: float, knee: float) -> Demand:
    """A wait says that more are needed; how many, and how many could go, is read from how busy they
    are. In proportion to the wait, at most twice as many, only where that is not known."""
    waited = load.queue_ms
    if waited is None:
        return Demand("queue_ms", None, None, "the wait in the queue was not measured")
    text = f"{_number(waited)} {UNITS['queue_ms']}, target {_number(goal)}"
    at_most = min(BUSY_MOST, KNEE_SHARE * knee)
    due = None if load.busy is None else load.busy * current * load.pressure
    if waited > goal * (1 + share):
        if due is None or not load.requests_per_second:
            more = math.ceil(current * min(waited / goal, QUEUE_MOST) - ROUNDING)
        else:
            more = _pieces(due, at_most)
        patience_s = _patience_s(load, waited / goal)
        return Demand("queue_ms", max(more, current + 1), waited, text, patience_s)
    if due is None:
        return Demand("queue_ms", current, waited, text)
    return Demand(
        "queue_ms", min(_pieces(due, at_most), current), waited, f"{text}, {load.busy:.0%} busy"
    )


def _patience_s(load: Load, times: float) -> float:
    """Until so many requests have been counted that ``times`` the target is no chance of theirs.

    why: ten times the load is seen at once, a tenth too much of two requests/s takes a while. Those
    that came and still wait count, too, where they are too many to wait by chance.
    """
    if not load.requests_per_second:
        return 0.0
    counted = (SPREAD / (times - 1)) ** 2
    came = load.requests_per_second + max(load.growth * (load.waiting >= NO_CHANCE), 0.0)
    return min(counted / came, PATIENCE_MOST_S)


def knee_learned(policy: Policy, load: Load, knee: float) -> float:
    """The busy share up to which the queue is short: lower where it was too long at a lower one,
    higher where it was short at a higher one."""
    goal = policy.targets.queue_ms
    if goal is None or load.queue_ms is None or load.busy is None:
        return knee
    if load.queue_ms > goal * (1 + policy.tolerance_percent / 100):
        return max(0.05, min(knee, load.busy))
    return max(knee, load.busy)


def _pieces(total: float, each: float) -> int:
    return math.ceil(total / each - ROUNDING)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
