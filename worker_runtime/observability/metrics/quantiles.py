"""Quantiles of the last minute, in bounded memory."""

import math
from collections.abc import Callable
from time import monotonic

_AGES = 5
_WINDOW_S = 60.0
_BITS = 7  # of precision: values up to 128 are exact, others to within 0.8 %


class SlidingQuantiles:
    """Counts by rounded value in five generations, of which the oldest is dropped every 12 s."""

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

    def value(self, quantile: float) -> float:
        """The quantile of what was seen in the window; NaN when nothing was."""
        self._turn()
        counts: dict[int, int] = {}
        for generation in self._generations:
            for value, count in generation.items():
                counts[value] = counts.get(value, 0) + count
        left = math.ceil(quantile * sum(counts.values()))
        for value in sorted(counts):
            left -= counts[value]
            if left <= 0:
                return value
        return math.nan

    def _turn(self) -> None:
        due = int((self._clock() - self._turned) / (_WINDOW_S / _AGES))
        if due:
            self._turned += due * (_WINDOW_S / _AGES)
            for _ in range(min(due, _AGES)):
                self._generations.pop(0)
                self._generations.append({})
