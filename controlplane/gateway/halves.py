"""Which of many do not belong: by halves, with a bounded number of questions. Pure."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


class NoneAccepted(RuntimeError):
    """Also none of them at all is refused: the fault is not with them."""


class Tries:
    """How many questions may still be asked, over several searches."""

    def __init__(self, left: int) -> None:
        self.left = left


def refused_of(
    things: Sequence[T], accepts: Callable[[Sequence[T]], bool], tries: Tries
) -> list[T]:
    """Those that ``accepts`` does not take; it is left having taken all others.

    ``accepts`` is told all that shall hold together, and takes them or changes nothing. Where the
    tries end, what was not shown to be good is refused too. Raises NoneAccepted.
    """
    if not accepts(()):
        raise NoneAccepted
    good: list[T] = []
    bad: list[T] = []
    waiting: list[Sequence[T]] = [things]
    while waiting:
        group = waiting.pop()
        if not group:
            continue
        if tries.left <= 0:
            bad += group
            continue
        tries.left -= 1
        if accepts((*good, *group)):
            good += group
        elif len(group) == 1:
            bad += group
        else:
            half = len(group) // 2
            waiting += [group[half:], group[:half]]
    if not accepts(good):  # the last question may have been refused
        raise NoneAccepted
    return bad
