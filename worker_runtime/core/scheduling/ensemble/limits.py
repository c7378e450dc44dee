"""``max_inflight_requests``: how many requests of one step may be under way, over all ensembles."""

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class StepLimiter(Generic[T]):
    """Slots for one step; 0 means no limit. Who gets none waits in line. Pure."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self._line: deque[T] = deque()

    def acquire(self, waiter: T) -> bool:
        """True when there is a slot now; else ``release`` will hand ``waiter`` out later."""
        if self._limit and self._taken >= self._limit:
            self._line.append(waiter)
            return False
        self._taken += 1
        return True

    def release(self) -> T | None:
        """Give a slot back; whoever is returned has it now."""
        if self._line:
            return self._line.popleft()
        self._taken -= 1
        return None

    def withdraw(self, waiter: T) -> bool:
        """Leave the line; False when it is not in it."""
        for position, waiting in enumerate(self._line):
            if waiting is waiter:
                del self._line[position]
                return True
        return False
