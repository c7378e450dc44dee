"""Where the time of requests goes: histograms for every phase, and Triton's optional summaries."""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from time import monotonic

from msgspec import Struct

# quantile and the error that is allowed in it
QUANTILES = ((0.5, 0.05), (0.9, 0.01), (0.95, 0.001), (0.99, 0.001), (0.999, 0.001))
_AGES = 5
_WINDOW_S = 60.0
_BITS = 7  # of precision: values up to 128 are exact, others to within 0.8 %
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


class MetricsConfig(Struct, frozen=True):
    """What ``--metrics-config`` says is kept; defaults are Triton's.

    ``counters`` False freezes the success and count counters too.
    """

    counters: bool = True
    histograms: bool = False
    summaries: bool = False
    quantiles: tuple[tuple[float, float], ...] = QUANTILES


class SlidingQuantiles:
    """Quantiles of the last minute, in bounded memory.

    Counts by rounded value in five generations, of which the oldest is dropped every 12 s.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.count = 0
        self.total = 0
        self._clock = clock
        self._generations: list[dict[int, int]] = [{} for _ in range(_AGES)]
        self._turned = clock()

    def observe(self, value: int, times: int = 1) -> None:
        """One value, not negative, seen so many times."""
        self.count += times
        self.total += value * times
        self._turn()
        newest = self._generations[-1]
        shift = max(0, value.bit_length() - _BITS)
        rounded = value >> shift << shift
        newest[rounded] = newest.get(rounded, 0) + times

    def take(self) -> tuple[dict[int, int], int]:
        """How often each value was seen in the window, and the sum of all; then begin anew."""
        self._turn()
        seen, total = self._seen(), self.total
        self.count = self.total = 0
        self._generations = [{} for _ in range(_AGES)]
        return seen, total

    def add(self, seen: Mapping[int, int], total: int) -> None:
        """What another one has given by ``take``."""
        self._turn()
        self.count += sum(seen.values())
        self.total += total
        newest = self._generations[-1]
        for value, times in seen.items():
            newest[value] = newest.get(value, 0) + times

    def value(self, quantile: float) -> float:
        """The quantile of what was seen in the window; NaN when nothing was."""
        return self.values([quantile])[0]

    def values(self, quantiles: Sequence[float]) -> list[float]:
        """The same for each of them."""
        self._turn()
        counts = self._seen()
        ordered = sorted(counts)
        reached = list(accumulate([counts[value] for value in ordered]))
        if not reached:
            return [math.nan] * len(quantiles)
        return [
            ordered[bisect_left(reached, math.ceil(quantile * reached[-1]))]
            for quantile in quantiles
        ]

    def _seen(self) -> dict[int, int]:
        counts: dict[int, int] = {}
        for generation in self._generations:
            for value, count in generation.items():
                counts[value] = counts.get(value, 0) + count
        return counts

    def _turn(self) -> None:
        due = int((self._clock() - self._turned) / (_WINDOW_S / _AGES))
        if due:
            self._turned += due * (_WINDOW_S / _AGES)
            for _ in range(min(due, _AGES)):
                self._generations.pop(0)
                self._generations.append({})


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
