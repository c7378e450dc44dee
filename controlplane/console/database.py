"""Threads in which the studio's sockets ask the database: a few, and nobody else's.

Django runs what is asked without more words in one thread for the whole process: all sockets would
wait there for one another, and for the slowest question of any page.
"""

from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar, cast

from channels.db import database_sync_to_async

P = ParamSpec("P")
T = TypeVar("T")

THREADS: Final = 4
_THREADS: Final = ThreadPoolExecutor(THREADS, thread_name_prefix="sockets")


def in_database(call: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """``call``, made in one of the threads; its connection is closed, or given back, behind it."""
    made = database_sync_to_async(call, thread_sensitive=False, executor=_THREADS)
    return cast(Callable[P, Awaitable[T]], made)
