"""One socket's frames on their way out: ticks give way to newer ones, all else keeps its order."""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable

from controlplane.accounts.scope import NOTHING, Scope

MAX_WAITING = 1000


class Outbox:
    """Feeds put frames in without waiting; one task sends them as fast as the browser takes them.

    A browser that stops reading costs a bounded amount of memory: of ticks only the newest of each
    topic waits, and when other frames pile up the socket is closed (it comes back for a snapshot).
    """

    def __init__(
        self, send: Callable[[str], Awaitable[None]], overflow: Callable[[], Awaitable[None]]
    ) -> None:
        self._send = send
        self._overflow = overflow
        self._waiting: deque[str] = deque()
        self._ticks: dict[str, str] = {}
        self._ticked_at: dict[str, float] = {}
        self._wake = asyncio.Event()
        self._full = asyncio.Event()
        self.min_interval_s = 0.0
        # In which projects its reader is told what happens, where a feed tells each of its own.
        self.projects: Scope = NOTHING

    def put(self, frame: str) -> None:
        self._waiting.append(frame)
        self._wake.set()
        if len(self._waiting) > MAX_WAITING:
            self._waiting.clear()  # nobody gets them any more
            self._full.set()

    def put_tick(self, topic: str, frame: str) -> None:
        """Dropped when the socket asked for fewer ticks than this."""
        now = time.monotonic()
        if now - self._ticked_at.get(topic, 0.0) < self.min_interval_s:
            return
        self._ticked_at[topic] = now
        self._ticks[topic] = frame
        self._wake.set()

    def forget(self, topic: str) -> None:
        """A tick that still waits must not arrive behind a new snapshot with other keys."""
        self._ticks.pop(topic, None)

    async def run(self) -> None:
        """Until too many frames wait, also while one is being sent. Raises what sending raises."""
        tasks = asyncio.create_task(self._send_waiting()), asyncio.create_task(self._full.wait())
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        await self._overflow()

    async def _send_waiting(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                await self._send(self._waiting.popleft())
            while self._ticks:
                _, frame = self._ticks.popitem()
                await self._send(frame)
