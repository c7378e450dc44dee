"""Draining a model that is being unloaded: for as long as it still answers, not for ever."""

import asyncio
from collections.abc import Awaitable, Callable


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
