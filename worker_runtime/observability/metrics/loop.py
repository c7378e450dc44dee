"""How late the event loop is: what anything that arrives has to wait before it is looked at."""

import asyncio
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from time import monotonic

from worker_runtime.observability.metrics.text import Family

LAG = ("shoal_loop_lag_seconds", "How late the event loop ran what was due, looked at regularly")
BOUNDS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_INTERVAL_S = 0.02


class LoopLag:
    """Sets a timer again and again, and measures how late each one rings.

    Timers of the loop count whole milliseconds: less than one is no lag.
    """

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Called in the loop."""
        self._set(asyncio.get_running_loop())

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def add(self, counts: Sequence[int], total_s: float) -> None:
        """Count what another loop has measured, too."""
        self.counts = [own + other for own, other in zip(self.counts, counts, strict=True)]
        self.total_s += total_s

    def collect(self) -> Iterator[Family]:
        family = Family(*LAG, "histogram")
        family.add_histogram({}, BOUNDS_S, self.counts, self.total_s)
        yield family

    def _set(self, loop: asyncio.AbstractEventLoop) -> None:
        self._due = monotonic() + _INTERVAL_S
        self._timer = loop.call_later(_INTERVAL_S, self._ring, loop)

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        lag_s = max(0.0, monotonic() - self._due)
        self.counts[bisect_left(BOUNDS_S, lag_s)] += 1
        self.total_s += lag_s
        self._set(loop)
