"""The bell: an answer of the control plane that stays open and says "look now" (``wire.wake_up``).

Everything works without it, by polling.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import NoReturn

from node_agent.backoff import Backoff
from node_agent.client import ControlClient, ControlError
from wire.wake_up import ALIVE, LONGEST_LINE, RING

logger = logging.getLogger(__name__)


async def hear(client: ControlClient, ring: Callable[[], None], delays: Backoff) -> NoReturn:
    """Call `ring` whenever it rings; open it again, after `delays`, whenever it falls silent."""
    deaf = False
    while True:
        try:
            async with client.bell() as chunks:
                async for line in lines(chunks):
                    delays.reset()
                    if deaf:
                        logger.info("The bell is heard again")
                        deaf = False
                    if line == RING:
                        ring()
            reason = "the control plane ended it"
        except ControlError as error:
            reason = str(error)
        if not deaf:
            logger.warning("No bell, desired state is polled meanwhile: %s", reason)
            deaf = True
        await asyncio.sleep(delays.next())


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Whole lines of the bell. Raises ControlError for anything else."""
    begun = b""
    async for chunk in chunks:
        *whole, begun = (begun + chunk).split(b"\n")
        for text in whole:
            line = text + b"\n"
            if line not in {RING, ALIVE}:
                raise ControlError(f"bell: expected {RING!r} or {ALIVE!r}, got {line[:100]!r}")
            yield line
        if len(begun) > LONGEST_LINE:
            raise ControlError(f"bell: a line of more than {LONGEST_LINE} bytes: {begun[:100]!r}")
