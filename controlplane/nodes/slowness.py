"""How long reports take just now, in this process: what the pace of nodes goes by."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

WEIGHT: Final = 0.05  # of the newest: about twenty reports are remembered


class Stopwatch:
    """A mean that forgets, of what threads do."""

    def __init__(self) -> None:
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
        """Measures what is done in it. Counts what fails, too: it took its time."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.add(time.monotonic() - began)


reports: Final = Stopwatch()
