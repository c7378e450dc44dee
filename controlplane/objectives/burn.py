"""How fast an error budget is used up, over a long and a short window at once.

A burn rate of 1 uses up the budget in exactly the objective's window. The pairs are those of the
Site Reliability Workbook (chapter 5): the long window says that it matters, the short one that it
still goes on.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

MINUTE_S: Final = 60.0
HOUR_S: Final = 3600.0
DAY_S: Final = 86_400.0


class Speed(StrEnum):
    FAST = "fast"  # somebody should look at once
    SLOW = "slow"  # somebody should look tomorrow


@dataclass(frozen=True, slots=True)
class Pair:
    speed: Speed
    long_s: float
    short_s: float
    factor: float


PAIRS: Final = (
    Pair(Speed.FAST, HOUR_S, 5 * MINUTE_S, 14.4),
    Pair(Speed.FAST, 6 * HOUR_S, 30 * MINUTE_S, 6.0),
    Pair(Speed.SLOW, 3 * DAY_S, 6 * HOUR_S, 1.0),
)


@dataclass(frozen=True, slots=True)
class Burn:
    """``burning`` is None where nothing can be told."""

    pair: Pair
    long_rate: float | None
    short_rate: float | None
    long_requests: int
    short_requests: int
    burning: bool | None


def rate(total: int, bad: int, budget: float) -> float | None:
    """None without a request."""
    return bad / total / budget if total > 0 else None


def burn(
    pair: Pair, long: tuple[int, int], short: tuple[int, int], budget: float, least: int
) -> Burn:
    """``long`` and ``short`` are requests, and bad ones of them. With fewer than ``least`` in the
    long window nothing burns: one failure of three is no news."""
    long_rate, short_rate = rate(*long, budget), rate(*short, budget)
    burning = (
        long_rate is not None
        and short_rate is not None
        and long[0] >= least
        and long_rate > pair.factor
        and short_rate > pair.factor
    )
    return Burn(pair, long_rate, short_rate, long[0], short[0], burning)
