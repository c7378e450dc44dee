"""CPU, memory and pinned memory of the host."""

from collections.abc import Callable, Iterator
from time import monotonic

import psutil

from worker_runtime.observability.metrics.text import Family

PINNED_TOTAL = (
    "nv_pinned_memory_pool_total_bytes",
    "Pinned memory pool total memory size, in bytes",
)
PINNED_USED = ("nv_pinned_memory_pool_used_bytes", "Pinned memory pool used memory size, in bytes")
UTILIZATION = ("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]")
MEMORY_TOTAL = ("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes")
MEMORY_USED = ("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes")


class HostFamilies:
    """Values are at most ``interval_s`` old. ``pinned`` gives total and used bytes."""

    def __init__(
        self,
        interval_s: float,
        *,
        cpu: bool = True,
        pinned: Callable[[], tuple[int, int]] = lambda: (0, 0),
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._interval_s = interval_s
        self._cpu = cpu
        self._pinned = pinned
        self._clock = clock
        self._read_at = -interval_s
        self._values = (0.0, 0, 0)
        if cpu:
            psutil.cpu_percent()  # why: the first call only sets the mark that the next one reads

    def collect(self) -> Iterator[Family]:
        total, used = self._pinned()
        yield _gauge(PINNED_TOTAL, total)
        yield _gauge(PINNED_USED, used)
        if not self._cpu:
            return
        now = self._clock()
        if now - self._read_at >= self._interval_s:
            self._read_at = now
            memory = psutil.virtual_memory()
            used = memory.total - memory.available
            self._values = (psutil.cpu_percent() / 100, memory.total, used)
        for row, value in zip((UTILIZATION, MEMORY_TOTAL, MEMORY_USED), self._values, strict=True):
            yield _gauge(row, value)


def _gauge(row: tuple[str, str], value: float) -> Family:
    family = Family(*row, "gauge")
    family.add({}, value)
    return family
