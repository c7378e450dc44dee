"""A cap on bytes per second that many share: downloads of one node, or the reading of its cache."""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Final

BURST_S: Final = 1.0  # so much of a second's bytes may come at once after a pause
SLOWEST: Final = 64 * 1024  # per second; below it one chunk would keep a connection idle for long
_UNITS: Final = {
    "": 1,
    "B": 1,
    "kB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}
_BY_SPELLING: Final = {unit.lower(): factor for unit, factor in _UNITS.items()}
_RATE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)(?:/s)?")
EXPECTED: Final = (
    "expected bytes per second, such as 50MiB or 400kB, at least 64KiB, or 0 for no limit"
)


def parse_rate(text: str) -> int:
    """Bytes per second of "50MiB", "1.5 GB/s" or "65536"; 0 is no limit. Raises ValueError."""
    match = _RATE.fullmatch(text.strip())
    factor = _BY_SPELLING.get(match[2].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(EXPECTED)
    rate = int(float(match[1]) * factor)
    if 0 < rate < SLOWEST:
        raise ValueError(EXPECTED)
    return rate


class TokenBucket:
    """Pure: what it is told of time is all it knows. `rate` is bytes per second, above 0.

    Bytes are taken when they have come, so it may owe some; whoever takes then waits until it owes
    none. Waits grow in the order of the takers, each of whom so gets its share.
    """

    def __init__(self, rate: int, *, now: float) -> None:
        self._rate = rate
        self._most = rate * BURST_S
        self._tokens = self._most
        self._at = now

    def take(self, count: int, now: float) -> float:
        """Take `count` bytes at `now`; how many seconds to wait before the next ones."""
        passed = max(0.0, now - self._at)
        self._at = max(self._at, now)
        self._tokens = min(self._most, self._tokens + passed * self._rate) - count
        return max(0.0, -self._tokens / self._rate)


class Throttle:
    """A bucket and a clock; a rate of 0 never waits. Use from one event loop, or one thread."""

    def __init__(self, rate: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._bucket = TokenBucket(rate, now=clock()) if rate else None

    def delay_s(self, count: int) -> float:
        """`count` bytes have been moved: so long must their mover pause."""
        return self._bucket.take(count, self._clock()) if self._bucket else 0.0

    async def pace(self, count: int) -> None:
        """The same, paused already."""
        if delay := self.delay_s(count):
            await asyncio.sleep(delay)
