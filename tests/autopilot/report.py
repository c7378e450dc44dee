"""What a run says: each figure beside its bar, and what was decided wrongly."""

import math
import os
import sys
from dataclasses import dataclass, field


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def percentile(values: list[float], percent: float) -> float:
    """The smallest value that so many are not above."""
    ordered = sorted(values)
    return ordered[max(1, math.ceil(len(ordered) * percent / 100)) - 1]


@dataclass
class Report:
    """``missed``: bars of time that were not reached. ``wrong``: what must not be, however slow the
    machine is."""

    missed: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def within(self, what: str, seen: float, bar: float, why: str = "", unit: str = "s") -> None:
        """A figure that a busy machine may miss; ``why`` is printed where it did."""
        text = f"{what}: {seen:.3g} {unit}, bar {bar:g} {unit}"
        if seen <= bar:
            say(f"   OK      {text}")
            return
        self.missed.append(text)
        say(f"   MISSED  {text}. Load {os.getloadavg()[0]:.1f}" + (f"; {why}" if why else ""))

    def of_tries(self, what: str, seen: list[float], bar: float, why: str = "") -> None:
        """The bar is for the 99th percentile, which is the longest of fewer than a hundred."""
        p50, p99 = percentile(seen, 50), percentile(seen, 99)
        self.within(f"{what}, p99 of {len(seen)} (p50 {p50:.2f} s)", p99, bar, why)

    def must(self, what: str, held: bool, saw: str) -> None:
        """A decision, right or wrong."""
        say(f"   {'OK' if held else 'WRONG':6}  {what}: {saw}")
        if not held:
            self.wrong.append(f"{what}: {saw}")
