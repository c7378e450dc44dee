"""Where the time of requests goes: histograms for every phase, and Triton's optional summaries."""

from bisect import bisect_left
from collections.abc import Iterable

from worker_runtime.observability.metrics.quantiles import SlidingQuantiles

_MS = 1_000_000
# upper bounds in nanoseconds: 10 us to 30 s
BOUNDS = tuple(
    step * 10**power
    for power, steps in (
        (4, (1, 2, 5)),
        (5, (1, 2, 5)),
        (6, (1, 2, 5)),
        (7, (1, 2, 5)),
        (8, (1, 2, 5)),
        (9, (1, 2, 5, 10, 30)),
    )
    for step in steps
)
PHASES = ("request", "queue", "compute_input", "compute_infer", "compute_output")
FIRST_RESPONSE_FAMILY = "nv_inference_first_response_histogram_ms"
FIRST_RESPONSE_MS = (100.0, 500.0, 2000.0, 5000.0)


class Latencies:
    """Counts of single buckets by phase; the last one is for what is above all bounds."""

    __slots__ = (*PHASES,)

    def __init__(self) -> None:
        self.request = [0] * (len(BOUNDS) + 1)
        self.queue = [0] * (len(BOUNDS) + 1)
        self.compute_input = [0] * (len(BOUNDS) + 1)
        self.compute_infer = [0] * (len(BOUNDS) + 1)
        self.compute_output = [0] * (len(BOUNDS) + 1)


class Summaries:
    """Triton's summaries, in microseconds. Only kept when they were asked for."""

    def __init__(self) -> None:
        self.phases = {phase: SlidingQuantiles() for phase in PHASES}
        self.cache_hit = SlidingQuantiles()
        self.cache_miss = SlidingQuantiles()


class Histogram:
    """Triton's histogram of whole milliseconds until the first response."""

    def __init__(self, bounds: Iterable[float] = FIRST_RESPONSE_MS) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0

    def observe_ns(self, duration_ns: int) -> None:
        value = duration_ns // _MS
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value
