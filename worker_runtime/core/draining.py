"""Waiting for a model that is being unloaded: for as long as it still answers, not for ever."""

import asyncio
from collections.abc import Awaitable, Callable


async def waited(
    work: Awaitable[None], progress: Callable[[], int], patience_s: float
) -> "asyncio.Future[None] | None":
    """Wait for ``work``. Gives None when it ended, or itself when nothing moved for too long.

    ``progress`` counts what has been done; ``patience_s`` 0: wait for ever.
    """
    task = asyncio.ensure_future(work)
    while True:
        before = progress()
        done, _ = await asyncio.wait([task], timeout=patience_s or None)
        if done:
            task.result()
            return None
        if progress() == before:
            return task
