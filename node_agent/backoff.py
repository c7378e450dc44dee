"""Growing delays between tries."""

import random


class Backoff:
    """Delays in seconds that double from `first_s` to `limit_s`, each shortened by up to a quarter.

    The chance in it keeps many nodes from returning in step.
    """

    def __init__(self, *, first_s: float, limit_s: float) -> None:
        self._first_s = first_s
        self._limit_s = limit_s
        self._tries = 0

    def next(self) -> float:
        delay = min(self._first_s * 2.0**self._tries, self._limit_s)
        self._tries += 1
        return delay * random.uniform(0.75, 1.0)  # noqa: S311 - not a secret

    def reset(self) -> None:
        self._tries = 0
