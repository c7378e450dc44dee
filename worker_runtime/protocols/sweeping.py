"""Looking at every connection now and then, without holding up the loop."""

import asyncio
from collections.abc import Callable, Collection, Iterator
from time import monotonic
from typing import Generic, TypeVar

Member = TypeVar("Member")

_AT_ONCE_S = 0.0005


class Sweeper(Generic[Member]):
    """Gives each of ``members`` and the time of the monotonic clock to ``look``, on and on."""

    def __init__(
        self,
        members: Collection[Member],
        look: Callable[[Member, float], None],
        each_s: float,
    ) -> None:
        self._members = members
        self._each_s = each_s
        self._look = look
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._each_s, self._begin)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _begin(self) -> None:
        self._go_on(iter(list(self._members)))

    def _go_on(self, rest: Iterator[Member]) -> None:
        now = monotonic()
        for member in rest:
            self._look(member, now)
            if monotonic() - now > _AT_ONCE_S:
                self._timer = asyncio.get_running_loop().call_later(0, self._go_on, rest)
                return
        self.start()
