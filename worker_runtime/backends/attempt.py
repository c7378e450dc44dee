"""A load, while a backend is at it: it may be given up, and its parts may begin together."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

End = Callable[[], None]
T = TypeVar("T")


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


def side_by_side(
    works: Sequence[Callable[[], T]],
    give_up: Callable[[], None] = lambda: None,
    *,
    at_once: int | None = None,
) -> list[T]:
    """What each of ``works`` gives, run in threads, all or so many ``at_once``; blocking.

    The first of them that fails calls ``give_up``, which may end the others; what it raised is
    raised when all have ended.
    """
    if len(works) == 1 or at_once == 1:
        return [work() for work in works]
    with ThreadPoolExecutor(max(1, at_once or len(works)), "loading") as threads:
        begun = [threads.submit(work) for work in works]
        ended, _ = wait(begun, return_when=FIRST_EXCEPTION)
        failed = [one for one in begun if one in ended and one.exception() is not None]
        if failed:
            give_up()
            for one in begun:
                one.cancel()  # those that have not begun
    return [one.result() for one in failed or begun]
