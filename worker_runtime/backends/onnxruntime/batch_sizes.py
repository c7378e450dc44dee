"""Sizes of batches for a session that is slow after each change of their size. Pure.

ONNX Runtime's CUDA provider (since 1.20) plans a convolution anew whenever its input has another
shape than the time before, also one that it had seen: 250 ms for a ResNet-50 that computes for 7.
Such a session gets batches padded to few sizes, and a size is kept while it may be needed again.
"""

from collections.abc import Sequence
from threading import Lock

from worker_runtime.backends.graph_sizes import GraphSize, padded

_SLOW_S = 0.02  # to start a batch of known shapes; others take a tenth of it
_HOLD_S = 5.0


class BatchSizes:
    """Of one session. ``sizes`` is empty for a model whose batches are not known: none is padded.

    Safe to use from several threads.
    """

    def __init__(self, sizes: Sequence[GraphSize], hold_s: float = _HOLD_S) -> None:
        self._sizes = sizes
        self._hold_s = hold_s
        self._lock = Lock()
        self._last: object = None
        self._seen: set[object] = set()
        self._current = self._largest_since = 0
        self._needed_at = 0.0
        self.slow = False

    def rows(self, rows: int, now_s: float) -> int:
        """How many rows a batch of so many is to have."""
        if not self.slow:
            return rows
        needed = padded(rows, self._sizes) or rows
        with self._lock:
            if needed >= self._current:
                self._current, self._needed_at, self._largest_since = needed, now_s, 0
            else:
                self._largest_since = max(self._largest_since, needed)
                if now_s - self._needed_at > self._hold_s:
                    self._current, self._needed_at = self._largest_since, now_s
                    self._largest_since = 0
            return self._current

    def changes(self, shapes: object) -> bool:
        """The batch before had other shapes than this one, which is about to run."""
        return self._last is not None and shapes != self._last

    def ran(self, shapes: object, took_s: float) -> bool:
        """A batch of ``shapes`` was started; True once: the session turns out to be slow."""
        again = shapes in self._seen and shapes != self._last
        self._last = shapes
        self._seen.add(shapes)
        if self.slow or not self._sizes or not again or took_s < _SLOW_S:
            return False
        self.slow = True
        self._seen.clear()
        return True
