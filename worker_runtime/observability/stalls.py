"""The stacks of all threads on standard error, once the event loop has stood still for long.

A loop that hangs can tell nothing itself. faulthandler's timer is a thread of C, which also speaks
where somebody holds the GIL and never gives it back.
"""

import asyncio
import contextlib
import faulthandler
import sys
from collections.abc import Iterator

STALLED_S = 30
STALLED = "Timeout (0:00:30)!"  # how faulthandler begins
_LOOK_S = 5.0  # each look starts a thread, which takes a tenth of a millisecond


@contextlib.contextmanager
def stalls_told() -> Iterator[None]:
    """Entered in the loop. Nothing is told where standard error is no file."""
    try:
        target = sys.stderr.fileno()
    except (AttributeError, ValueError):  # a program without a console, or a test
        yield
        return

    async def look() -> None:
        while True:
            faulthandler.dump_traceback_later(STALLED_S, file=target)
            await asyncio.sleep(_LOOK_S)

    looking = asyncio.get_running_loop().create_task(look())
    try:
        yield
    finally:
        looking.cancel()
        faulthandler.cancel_dump_traceback_later()
