"""Pure: which plans make sense, and how long they may take."""

import math
from itertools import pairwise
from typing import Any, Final

from wire.load import CONCURRENCY, MODES, MOST_LEVELS, LoadPlan

MOST_CONCURRENCY: Final = 256
MOST_RATE: Final = 100_000.0
SHORTEST_POINT_S: Final = 0.1
LONGEST_POINT_S: Final = 120.0
LONGEST_S: Final = 1800.0  # of a whole sweep
SPARE_S: Final = 15.0  # to begin, and to ask for statistics
PERCENTILES: Final = (95, 99)


class BadPlan(ValueError):
    """Names the field, the value, and what was expected."""

    def __init__(self, field: str, value: Any, expected: str) -> None:
        super().__init__(f"{field}: {value!r:.80}, expected {expected}.")
        self.field = field


def check(plan: LoadPlan) -> None:
    """Raises BadPlan."""
    if plan.mode not in MODES:
        raise BadPlan("mode", plan.mode, " or ".join(MODES))
    _check_levels(plan)
    if not SHORTEST_POINT_S <= plan.seconds <= LONGEST_POINT_S:
        raise BadPlan(
            "seconds", plan.seconds, f"{SHORTEST_POINT_S:g} to {LONGEST_POINT_S:g} for each point"
        )
    if not 0 <= plan.warm_up_s <= LONGEST_POINT_S:
        raise BadPlan("warm_up_s", plan.warm_up_s, f"0 to {LONGEST_POINT_S:g}")
    if nominal_s(plan) > LONGEST_S:
        raise BadPlan("seconds", plan.seconds, f"at most {LONGEST_S:g} s for all points together")
    if not 1 <= plan.batch <= 65_536:
        raise BadPlan("batch", plan.batch, "1 to 65536")
    if plan.slo_percentile and plan.slo_percentile not in PERCENTILES:
        raise BadPlan("slo_percentile", plan.slo_percentile, "95 or 99")
    if plan.slo_percentile and not 0 < plan.slo_us < math.inf:
        raise BadPlan("slo_ms", plan.slo_us / 1000, "milliseconds above 0")


def _check_levels(plan: LoadPlan) -> None:
    levels = plan.levels
    if not 1 <= len(levels) <= MOST_LEVELS:
        raise BadPlan("levels", list(levels), f"1 to {MOST_LEVELS} of them")
    if not all(later > earlier for earlier, later in pairwise(levels)):
        raise BadPlan("levels", list(levels), "rising ones")
    if plan.mode == CONCURRENCY:
        if not all(1 <= level <= MOST_CONCURRENCY and level % 1 == 0 for level in levels):
            raise BadPlan("levels", list(levels), f"whole numbers from 1 to {MOST_CONCURRENCY}")
    elif not all(0.1 <= level <= MOST_RATE for level in levels):
        raise BadPlan("levels", list(levels), f"0.1 to {MOST_RATE:g} requests a second")


def nominal_s(plan: LoadPlan) -> float:
    """How long it takes where every request is answered soon."""
    return len(plan.levels) * (plan.seconds + plan.warm_up_s)


def longest_s(plan: LoadPlan) -> float:
    """More it may not take: at each level requests may wait for their time-out twice."""
    return nominal_s(plan) + SPARE_S + len(plan.levels) * 4 * plan.timeout_s
