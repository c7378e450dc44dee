"""Parts of a load that begin together: instances of one model, which may take their time each."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


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
