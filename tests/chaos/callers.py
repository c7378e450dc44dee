"""Threads that call an endpoint from the beginning of a block to its end, and count what came."""

import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Self


@dataclass
class Callers(ABC):
    """``at_once`` callers of one inference URL.

    They share what they count, and write it with ``_counting`` held.
    """

    at_once: ClassVar[int]

    url: str
    key: str
    seen: Counter[str] = field(default_factory=Counter, kw_only=True)  # answers, by what they were

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._counting = threading.Lock()
        self._threads = [
            threading.Thread(target=self._call, args=(number,), daemon=True)
            for number in range(self.at_once)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    @property
    def sent(self) -> int:
        """How many calls have ended."""
        with self._counting:
            return self.seen.total()

    @abstractmethod
    def explain(self) -> str:
        """What was seen, and the first of what was lost."""

    @abstractmethod
    def _call(self, number: int) -> None:
        """Call until ``_stop`` is set; ``number`` tells the callers apart."""

    def _wait_for(self, counted: Callable[[], int], more: int, what: str, within_s: float) -> None:
        """Until ``counted`` has grown by ``more``; AssertionError after ``within_s`` seconds."""
        wanted = counted() + more
        deadline = time.monotonic() + within_s
        while counted() < wanted:
            assert time.monotonic() < deadline, f"not {more} more {what}: {self.explain()}"
            self._stop.wait(0.02)
