"""Which batch sizes a module is given, while each that comes for the first time is slow. Pure.

cuDNN plans, and TorchScript compiles, for every shape that is new to a thread: 50 to 100 ms for a
ResNet-50 that computes for 7. Single requests make batches of all sizes, and a server would do
little else after each start. So a new size is tried now and then, and in between batches are padded
to sizes that have been seen; in the end all have, and none is padded any more.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence

from worker_runtime.backends.graph_sizes import GraphSize, padded

_SLOW_S = 0.02
_TIMES_SLOWER = 3  # than the quickest: a module that always takes long is not slow at what is new
_SHARE = 0.05  # of the time may be spent on new sizes
_MOST_SHAPES = 256
Shapes = tuple[tuple[int, ...], ...]


class LearnedSizes:
    """Of one module in one thread. ``sizes`` is empty where batches must not be padded."""

    def __init__(self, sizes: Sequence[GraphSize]) -> None:
        self._sizes = sizes
        # rows in order, by what a row of inputs looks like
        self._seen: dict[Shapes, list[int]] = {}
        self._quickest_s = 0.0  # of what came again; 0: nothing has
        self._cost_s = 0.0  # of the new size that was slow last
        self._next_at = 0.0

    def rows(self, shapes: Shapes, rows: int, now_s: float) -> int:
        """How many rows a batch of so many is to have."""
        if now_s >= self._next_at or not self._sizes:
            return rows
        seen = self._seen.get(shapes, [])
        at = bisect_left(seen, rows)
        usual = padded(rows, self._sizes) or rows
        return seen[at] if at < len(seen) and seen[at] <= usual else usual

    def ran(self, shapes: Shapes, rows: int, took_s: float, now_s: float) -> None:
        """The module was called with so many ``rows``, and returned after ``took_s``."""
        if not self._sizes:
            return
        if len(self._seen) >= _MOST_SHAPES:
            self._seen.clear()
        seen = self._seen.setdefault(shapes, [])
        at = bisect_left(seen, rows)
        if at == len(seen) or seen[at] != rows:
            insort(seen, rows)
            if took_s > max(_SLOW_S, _TIMES_SLOWER * self._quickest_s):
                self._cost_s, self._next_at = took_s, now_s + took_s / _SHARE
            return
        self._quickest_s = min(self._quickest_s or took_s, took_s)
        if self._cost_s <= _TIMES_SLOWER * self._quickest_s:
            self._next_at = 0.0  # it takes as long again: it was not for being new
