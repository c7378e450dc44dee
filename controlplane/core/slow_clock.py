"""A server whose clock ticks once a second. Without Django: the gateway's agent has one, too."""

import asyncio
import contextlib
from types import FrameType
from typing import Final

import uvicorn

TICK_S: Final = 1.0


class Server(uvicorn.Server):
    """Looks once a second whether it shall end, and at once when it is told so. Uvicorn's own looks
    ten times, which is a fifth of what a process does that nobody calls. Make it inside a loop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ends = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):  # the tick at which the date of answers is renewed
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ends.wait(), TICK_S)

    def end(self) -> None:
        """From the loop's own thread."""
        self.should_exit = True
        self._ends.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self._loop.call_soon_threadsafe(self._ends.set)
