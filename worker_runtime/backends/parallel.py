"""Parts of a load that begin together: instances of one model, which may take their time each."""

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


def side_by_side(
    works: Sequence[Callable[[], T]], give_up: Callable[[], None] = lambda: None
) -> list[T]:
    """What each of ``works`` gives, run in threads of their own; blocking.

    The first of them that fails calls ``give_up``, which may end the others; what it raised is
    raised when all have ended.
    """
    if len(works) == 1:
        return [works[0]()]
    with ThreadPoolExecutor(max(1, len(works)), "loading") as threads:
        begun = [threads.submit(work) for work in works]
        ended, _ = wait(begun, return_when=FIRST_EXCEPTION)
        failed = [one for one in begun if one in ended and one.exception() is not None]
        if failed:
            give_up()
    return [one.result() for one in failed or begun]
