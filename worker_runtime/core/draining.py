"""Waiting for what runs to end: for as long as it still answers, or as somebody likes to wait."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any


async def wait_while_progressing(
    work: Awaitable[None], progress: Callable[[], int], timeout_s: float
) -> "asyncio.Future[None] | None":
    """Wait for ``work``. Gives None when it ended, or its task when nothing progressed for
    ``timeout_s``.

    ``progress`` counts what has been done; ``timeout_s`` 0: wait for ever.
    """
    task = asyncio.ensure_future(work)
    while True:
        before = progress()
        done, _ = await asyncio.wait([task], timeout=timeout_s or None)
        if done:
            task.result()
            return None
        if progress() == before:
            return task


async def wait_unless_hurried(
    work: Collection[asyncio.Future[Any]], timeout_s: float, hurried: asyncio.Event
) -> set[asyncio.Future[Any]]:
    """What of ``work`` still runs after ``timeout_s`` seconds, or once ``hurried`` is set."""
    if work:
        ended = asyncio.ensure_future(asyncio.wait(work))
        asked = asyncio.ensure_future(hurried.wait())
        first = asyncio.FIRST_COMPLETED
        await asyncio.wait([ended, asked], timeout=timeout_s, return_when=first)
        ended.cancel()
        asked.cancel()
    return {task for task in work if not task.done()}
