"""The rest between two calls of one kind, which a change ends early."""

import asyncio
import random
from typing import Final

LEAST_S: Final = 1.0  # of a rest that chance shortens


class Rest:
    """After a rest that a change ended, the next takes a random part of its time.

    One change, such as a rollout, wakes many nodes in one moment. Resting equally long from then
    on, they would call in one moment for ever, and wait for each other at the control plane.
    """

    def __init__(self, change: asyncio.Event) -> None:
        self._change = change
        self._woken = False

    def length_s(self, interval_s: float) -> float:
        """How long the next one is, where calls are ``interval_s`` apart."""
        if not self._woken:
            return interval_s
        return random.uniform(min(LEAST_S, interval_s), interval_s)  # noqa: S311 - not a secret

    async def take(self, interval_s: float) -> bool:
        """Until the change or the time; the change's event is cleared either way. Whether it was
        the change."""
        try:
            async with asyncio.timeout(self.length_s(interval_s)):
                await self._change.wait()
            self._woken = True
        except TimeoutError:
            self._woken = False
        finally:
            self._change.clear()
        return self._woken
