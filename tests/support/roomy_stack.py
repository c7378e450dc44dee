"""Calls a function where the frames below it share one large piece of Python's data stack.

CPython keeps frames in pieces of 16 KiB and gives each back to the system as soon as it is empty
(https://github.com/python/cpython/issues/142183; mended in late releases of 3.13 and 3.14). A test
stands deep below pytest: where such a border falls into a loop, for instance of Django's compiler
of queries, each call of that loop maps and unmaps memory. That was up to two fifths of the time of
the control plane's tests. Programs of the product are not so deep, and were seen not to do it.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
# Of eight bytes. The piece becomes 1 MiB, the next power of two; what is left is for the test.
SLOTS = 70_000


def call(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What the function returns, or raises."""
    return function(*args, **kwargs)


# why: a frame that wants more than such a piece holds gets one of its own, made to its size, and
# the frames below it use the rest
call.__code__ = call.__code__.replace(co_stacksize=SLOTS)
