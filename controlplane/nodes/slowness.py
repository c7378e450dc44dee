"""How long reports take just now, in this process: what the pace of nodes goes by."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

WEIGHT: Final = 0.05  # of the newest: about twenty reports are remembered


class Stopwatch:
    """A mean that forgets, of what one thread at a time does."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._mean_s: float | None = None

    @property
    def mean_s(self) -> float:
        """0 as long as nothing was measured."""
        return self._mean_s or 0.0

    def add(self, seconds: float) -> None:
        with self._lock:
            before = seconds if self._mean_s is None else self._mean_s
            self._mean_s = before + WEIGHT * (seconds - before)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Waits for its turn, and measures from then. Counts what fails, too: it took its time.

        One at a time: SQLite has one writer, and threads that wait for it ask again after pauses
        that grow to 100 ms, while the lock is free.
        """
        with self._turn:
            began = time.monotonic()
            try:
                yield
            finally:
                self.add(time.monotonic() - began)


reports: Final = Stopwatch()
