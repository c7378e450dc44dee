"""How much of the machine others used meanwhile: the measure of how far to trust a round."""

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """Seconds since boot: CPU time of the whole machine, and of this benchmark's own processes."""

    at: float
    machine_s: float
    ours_s: float

    @classmethod
    def now(cls, server_cpu_s: float) -> "Usage":
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        mine = resource.getrusage(resource.RUSAGE_SELF)
        ours = server_cpu_s + sum(usage.ru_utime + usage.ru_stime for usage in (ended, mine))
        first = Path("/proc/stat").read_text().splitlines()[0].split()
        # user nice system idle iowait irq softirq steal: idle and iowait are not use, steal is
        busy = sum(int(first[column]) for column in (1, 2, 3, 6, 7, 8))
        return cls(time.monotonic(), busy / _TICKS, ours)

    def cores_of_others_until(self, later: "Usage") -> float:
        """Mean number of cores that were busy, or stolen, for anything but this benchmark."""
        others = (later.machine_s - self.machine_s) - (later.ours_s - self.ours_s)
        return max(others / (later.at - self.at), 0.0)
