"""Pure: what share of an endpoint's requests was good enough, what is left of its error budget, and
how fast that is used up, from what gateways counted.

Nothing here reads a row or a clock; ``alerts.selectors.objectives`` does.
"""

from controlplane.objectives.budget import LEAST_REQUESTS, Point, Status, history, status, totals
from controlplane.objectives.burn import PAIRS, Burn, Pair, Speed
from controlplane.objectives.objective import (
    LONGEST_WINDOW_S,
    Counted,
    Kind,
    Objective,
    Slice,
    counted,
    objective_asked,
)

__all__ = [
    "LEAST_REQUESTS",
    "LONGEST_WINDOW_S",
    "PAIRS",
    "Burn",
    "Counted",
    "Kind",
    "Objective",
    "Pair",
    "Point",
    "Slice",
    "Speed",
    "Status",
    "counted",
    "history",
    "objective_asked",
    "status",
    "totals",
]
