"""A timer that is only ever moved forward."""

import asyncio
from collections.abc import Callable


class Alarm:
    """Calls ``ring`` in the event loop at the earliest time that was asked for."""

    def __init__(self, loop: asyncio.AbstractEventLoop, ring: Callable[[], None]) -> None:
        self._loop = loop
        self._ring = ring
        self._timer: asyncio.TimerHandle | None = None
        self._at_ns = 0

    def at(self, wake_ns: int, now_ns: int) -> None:
        """Ring at ``wake_ns`` (0: no need), or earlier if that was asked for before."""
        if not wake_ns or (self._timer is not None and self._at_ns <= wake_ns):
            return
        self.stop()
        self._at_ns = wake_ns
        self._timer = self._loop.call_later(max(0, wake_ns - now_ns) / 1e9, self._rings)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _rings(self) -> None:
        self._timer = None
        self._ring()
