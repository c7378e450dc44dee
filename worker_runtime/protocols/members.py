"""The open connections of a listener."""

import asyncio
import contextlib
from typing import TypeVar

Member = TypeVar("Member")


class Members(set[Member]):
    def __init__(self) -> None:
        super().__init__()
        self._left: asyncio.Event | None = None

    def discard(self, member: object) -> None:
        super().discard(member)
        if not self and self._left is not None:
            self._left.set()

    async def emptied(self, seconds: float) -> None:
        """Wait until the last one has ended, so long at most."""
        if self and seconds > 0:
            self._left = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._left.wait(), seconds)
