"""For neighbours whose help is welcome but not needed: after a failure, let them be for a while."""

import time
from collections.abc import Callable


class Breaker:
    """A neighbour that is frozen costs every try some seconds; so nobody tries for ``rest_s``.

    Shared by threads: the worst race is one try more.
    """

    def __init__(self, rest_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rest_s = rest_s
        self._clock = clock
        self._until = float("-inf")

    @property
    def resting(self) -> bool:
        return self._clock() < self._until

    def failed(self) -> None:
        self._until = self._clock() + self._rest_s

    def reset(self) -> None:
        self._until = float("-inf")
