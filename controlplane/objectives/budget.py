"""What is left of an error budget, and which pairs of windows burn."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from controlplane.objectives.burn import PAIRS, Burn, burn
from controlplane.objectives.objective import Counted, Objective

LEAST_REQUESTS: Final = 10  # of a long window, unless the rule says otherwise
AHEAD_S: Final = 90.0  # a slice may end so much later than it is now: its minute is not over


@dataclass(frozen=True, slots=True)
class Status:
    """``budget_left`` is 1 for all of it, 0 for none, less where more was bad than may be; None
    without a request. ``told`` is why nothing can be said of now, or empty."""

    total: int
    bad: int
    good_percent: float | None
    budget_left: float | None
    burns: tuple[Burn, ...]
    told: str


@dataclass(frozen=True, slots=True)
class Point:
    """Requests of the bucket that ends at ``at``, and what is left of the budget then."""

    at: float
    total: int
    bad: int
    budget_left: float | None


class _Sums:
    """Requests and bad ones in any window, from slices in order of time."""

    def __init__(self, slices: Sequence[Counted]) -> None:
        self._ends = [one.end for one in slices]
        self._total = [0, *accumulate(one.total for one in slices)]
        self._bad = [0, *accumulate(one.bad for one in slices)]

    def between(self, start: float, end: float) -> tuple[int, int]:
        """Of the slices that ended in (start, end]."""
        first, last = bisect_right(self._ends, start), bisect_right(self._ends, end)
        return self._total[last] - self._total[first], self._bad[last] - self._bad[first]


def totals(slices: Sequence[Counted], now: float, width_s: float) -> tuple[int, int]:
    """Requests, and bad ones, in the last ``width_s`` seconds."""
    return _Sums(slices).between(now - width_s, now + AHEAD_S)


def left(total: int, bad: int, budget: float) -> float | None:
    return 1.0 - bad / (total * budget) if total > 0 else None


def status(
    objective: Objective,
    slices: Sequence[Counted],
    now: float,
    *,
    heard: bool,
    least: int = LEAST_REQUESTS,
) -> Status:
    """``slices`` in order of time, ``heard``: some gateway has reported just now.

    Without a gateway, and where the clock has gone back behind what was counted, nobody can tell
    whether anything burns.
    """
    sums = _Sums(slices)
    told = ""
    if not heard:
        told = "No gateway is heard of: nobody can tell what it answers."
    elif slices and slices[-1].end > now + AHEAD_S:
        told = "The clock has gone back behind what was counted."
    end = now + AHEAD_S
    burns = tuple(
        burn(
            pair,
            sums.between(now - pair.long_s, end),
            sums.between(now - pair.short_s, end),
            objective.budget,
            least,
        )
        for pair in PAIRS
    )
    if told:
        burns = tuple(replace(one, burning=None) for one in burns)
    total, bad = sums.between(now - objective.window_s, end)
    return Status(
        total=total,
        bad=bad,
        good_percent=100.0 * (total - bad) / total if total else None,
        budget_left=left(total, bad, objective.budget),
        burns=burns,
        told=told,
    )


def history(
    objective: Objective, slices: Sequence[Counted], now: float, step_s: float
) -> list[Point]:
    """The objective's window in buckets of ``step_s``. The budget is that of all requests of the
    window, so that the last point says what is left now."""
    sums = _Sums(slices)
    start, end = now - objective.window_s, now + AHEAD_S
    whole, _ = sums.between(start, end)
    points = []
    at = (start // step_s + 1) * step_s
    while at < now + step_s:
        total, bad = sums.between(max(start, at - step_s), min(at, end))
        _, so_far = sums.between(start, min(at, end))
        points.append(Point(at, total, bad, left(whole, so_far, objective.budget)))
        at += step_s
    return points
