"""A load that may be given up from another thread, while a backend is at it."""

import threading
from collections.abc import Callable

End = Callable[[], None]


class Attempt:
    """What a load waits for can be ended: processes say how, ``give_up`` does it.

    What cannot be ended, such as a library that reads a file, goes on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: list[End] = []
        self._given_up = False

    @property
    def given_up(self) -> bool:
        return self._given_up

    def on_give_up(self, end: End) -> None:
        """``end`` must not block; it is called at once when it is too late for a promise."""
        with self._lock:
            if not self._given_up:
                self._ends.append(end)
                return
        end()

    def forget(self, end: End) -> None:
        """There is nothing left for ``end`` to end."""
        with self._lock:
            if end in self._ends:
                self._ends.remove(end)

    def give_up(self) -> None:
        """From any thread; the load then fails by itself."""
        with self._lock:
            self._given_up = True
            ends, self._ends = self._ends, []
        for end in ends:
            end()
