"""The machine that is measured on, and where results are kept. Imports nothing that is measured."""

import os
import platform
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.repository import CORES

RESULTS = Path(__file__).parent / "results"


def process_cpu_s(pid: int) -> float:
    """User and system time of all its threads, those that have ended too, to the nanosecond."""
    # why not /proc: that counts in ticks of 10 ms. The number is clock_getcpuclockid(3)'s.
    return time.clock_gettime(~pid << 3 | 2)


def about() -> dict[str, Any]:
    model = next(
        (line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")), platform.machine(),
    )  # fmt: skip
    return {
        "cpu": model,
        "cores": CORES,
        "load_average": os.getloadavg()[0],
        "python": platform.python_version(),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
