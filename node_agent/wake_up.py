"""Wake-ups: lines of a response that the control plane keeps open (``wire.wake_up``).

Everything works without it, by polling.
"""

import asyncio
import logging
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import NoReturn

from node_agent.backoff import Backoff
from node_agent.client import ControlClient, ControlError
from wire.wake_up import WAKE_UP, Lines

logger = logging.getLogger(__name__)


async def listen(
    client: ControlClient, wake: Callable[[], None], delays: Backoff, flows: asyncio.Event
) -> NoReturn:
    """Call `wake` at each wake-up; open the stream again, after `delays`, whenever it ends.

    `flows` is set from its first line to its end. Both are a wake-up: what came before the one, or
    behind the other, was not heard.
    """
    lost = False
    while True:
        try:
            async with client.wake_ups() as chunks:
                async for line in lines(chunks):
                    delays.reset()
                    if lost:
                        logger.info("Wake-ups arrive again")
                        lost = False
                    if line == WAKE_UP or not flows.is_set():
                        wake()
                    flows.set()
            reason = "the control plane ended it"
        except ControlError as error:
            reason = str(error)
        if flows.is_set():
            flows.clear()
            wake()
        if not lost:
            logger.warning("No wake-ups, desired state is polled meanwhile: %s", reason)
            lost = True
        await asyncio.sleep(delays.next())


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Whole lines of the stream. Raises ControlError for anything else."""
    cutting = Lines()
    async for chunk in chunks:
        try:
            found = cutting.feed(chunk)
        except ValueError as error:
            raise ControlError(str(error)) from error
        for line in found:
            yield line
