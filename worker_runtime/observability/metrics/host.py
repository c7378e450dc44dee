"""CPU, memory and pinned memory of the host."""

from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

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
        proc: Path = Path("/proc"),
    ) -> None:
        self._interval_s = interval_s
        self._cpu = cpu
        self._pinned = pinned
        self._clock = clock
        self._read_at = -interval_s
        self._values = (0.0, 0, 0)
        self._proc = proc
        self._ticks = _ticks(proc) if cpu else (0, 0)

    def collect(self) -> Iterator[Family]:
        total, used = self._pinned()
        yield _gauge(PINNED_TOTAL, total)
        yield _gauge(PINNED_USED, used)
        if not self._cpu:
            return
        now = self._clock()
        if now - self._read_at >= self._interval_s:
            self._read_at = now
            self._values = (self._utilization(), *_memory(self._proc))
        for row, value in zip((UTILIZATION, MEMORY_TOTAL, MEMORY_USED), self._values, strict=True):
            yield _gauge(row, value)

    def _utilization(self) -> float:
        """Of all cores since the last call, 0 to 1."""
        (busy_before, before), (busy, ticks) = self._ticks, _ticks(self._proc)
        self._ticks = busy, ticks
        return (busy - busy_before) / (ticks - before) if ticks > before else 0.0


def _ticks(proc: Path) -> tuple[int, int]:
    """Busy ticks of all cores since the machine started, and ticks in all."""
    with (proc / "stat").open() as file:
        user, nice, system, idle, waiting, interrupts, soft, stolen = map(
            int, file.readline().split()[1:9]
        )
    busy = user + nice + system + interrupts + soft + stolen
    return busy, busy + idle + waiting


def _memory(proc: Path) -> tuple[int, int]:
    """The machine's memory, and what of it cannot be had, in bytes."""
    with (proc / "meminfo").open() as file:
        rows = dict(line.split(":", 1) for line in file)
    total, available = (int(rows[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
    return total, total - available


def _gauge(row: tuple[str, str], value: float) -> Family:
    family = Family(*row, "gauge")
    family.add({}, value)
    return family
