"""How long reports take just now, in this process: what the pace of nodes goes by."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

WEIGHT: Final = 0.05  # of the newest: about twenty reports are remembered
# Every request has a thread. Dozens that write at once would wait for SQLite's lock by turns of
# sleep, and for the interpreter; people's requests among them would wait for very long.
AT_ONCE: Final = 4


class Stopwatch:
    """A mean that forgets, of what few threads at a time do."""

    def __init__(self) -> None:
        self._turns = threading.BoundedSemaphore(AT_ONCE)
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
        """Waits for its turn, and measures from then. Counts what fails, too: it took its time."""
        with self._turns:
            began = time.monotonic()
            try:
                yield
            finally:
                self.add(time.monotonic() - began)


reports: Final = Stopwatch()
