"""The loads that are under way in threads, and their end when the server stops."""

import threading
from collections.abc import Callable
from typing import TypeVar

from worker_runtime.backends.attempt import Attempt
from worker_runtime.errors import ShuttingDown

T = TypeVar("T")


class Attempts:
    """Once given up, none begins any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[Attempt] = set()
        self._over = False

    @property
    def under_way(self) -> bool:
        """Whether some thread still loads: given up or not, it ends when it likes."""
        return bool(self._running)

    @property
    def over(self) -> bool:
        return self._over

    def run(self, load: Callable[[Attempt], T]) -> T:
        """``load``, in the caller's thread. Raises ShuttingDown where it was given up."""
        attempt = Attempt()
        with self._lock:
            if self._over:
                raise stopping()
            self._running.add(attempt)
        try:
            return load(attempt)
        except Exception as error:
            # why: what a process says that was killed for it is no news about the model.
            if attempt.given_up:
                raise stopping() from error
            raise
        finally:
            with self._lock:
                self._running.discard(attempt)

    def give_up(self) -> None:
        with self._lock:
            self._over = True
            running = list(self._running)
        for attempt in running:
            attempt.give_up()


def stopping() -> ShuttingDown:
    return ShuttingDown("the server is shutting down")
