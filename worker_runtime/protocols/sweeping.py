"""Looking at every connection now and then, without holding up the loop."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from itertools import islice
from time import monotonic
from typing import Generic, TypeVar

Member = TypeVar("Member")

SWEEP_S = 30.0
_AT_ONCE = 500  # some 0.5 ms


class Sweeper(Generic[Member]):
    """Gives each of ``members`` and the time of the monotonic clock to ``look``, on and on."""

    def __init__(self, members: Collection[Member], look: Callable[[Member, float], None]) -> None:
        self._members = members
        self._look = look
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SWEEP_S, self._begin)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self) -> None:
        self._go_on(iter(list(self._members)))

    def _go_on(self, rest: Iterator[Member]) -> None:
        now, some = monotonic(), list(islice(rest, _AT_ONCE))
        for member in some:
            self._look(member, now)
        if len(some) < _AT_ONCE:
            self.start()
        else:
            self._timer = asyncio.get_running_loop().call_later(0, self._go_on, rest)
