"""Runs the client's blocking code inside an event loop: where it would wait, the loop goes on.

``run`` starts the code in a greenlet. Where that code calls ``until``, the greenlet is left, the
coroutine that started it awaits, and the greenlet goes on with what came of it. Cancelling the
coroutine raises ``CancelledError`` at that place.
"""

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar, cast

import greenlet

P = ParamSpec("P")
T = TypeVar("T")


class _Call(greenlet.greenlet):  # type: ignore[misc]  # greenlet has no types
    """One run of blocking code."""


async def run(work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    call = _Call(work)
    call.gr_context = contextvars.copy_context()
    left = call.switch(*args, **options)
    while not call.dead:
        try:
            value = await left
        # why everything: whatever came of waiting belongs to the code that waits
        except BaseException as error:
            left = call.throw(error)
        else:
            left = call.switch(value)
    return cast(T, left)


def until(awaited: Awaitable[T]) -> T:
    """What comes of ``awaited``, for code that ``run`` started. RuntimeError outside of it."""
    current = greenlet.getcurrent()
    if not isinstance(current, _Call) or current.parent is None:
        if asyncio.iscoroutine(awaited):
            awaited.close()
        raise RuntimeError("This client belongs to shoal.aio: call it through `shoal.aio.run`.")
    return cast(T, cast(Any, current.parent).switch(awaited))
