"""What was measured, against what is wanted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """``least``: the figure must be at least so much, else at most."""

    what: str
    wanted: float
    unit: str
    least: bool = False

    def verdict(self, measured: float) -> tuple[bool, str]:
        """NaN, for what was not measured, keeps no bar."""
        kept = measured >= self.wanted if self.least else measured <= self.wanted
        sign = "≥" if self.least else "≤"
        told = f"{self.what}: {measured:,.1f} {self.unit} (wanted {sign} {self.wanted:g})"
        return kept, told


REPORTS = Bar("reports, p99", 100, "ms")
PLACED = Bar("replicas placed in a rollout of all", 200, "a second", least=True)
CONFIGURED = Bar("a changed key at all gateways", 5, "s")
LISTS = Bar("REST lists, p95", 150, "ms")
FLAT = Bar("what a node costs in a larger fleet", 1.2, "times as much")
OVERVIEW = Bar("the studio's overview, a frame", 30, "kB")


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest value that so many are not above; NaN for none."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
