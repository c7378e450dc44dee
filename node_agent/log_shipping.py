"""Sends what replicas write to the control plane, page by page."""

import asyncio
from typing import Final

from node_agent.client import ControlClient
from node_agent.fleet import Fleet
from node_agent.logs import LogTail
from wire.samples import LogBatch

REST_S: Final = 1.0
PAGE_S: Final = 0.25  # between pages while there are more; bounds what one replica costs


class LogShipping:
    """``run_once`` is a step of the agent's loops."""

    def __init__(self, fleet: Fleet, client: ControlClient) -> None:
        self._fleet = fleet
        self._client = client

    async def run_once(self) -> None:
        """One page of each replica: one that writes without end must not silence the others.

        Raises ControlError.
        """
        more = False
        for tail in await asyncio.to_thread(_grown, self._fleet.tails):
            more |= await self._ship_page(tail)
        await asyncio.sleep(PAGE_S if more else REST_S)

    async def _ship_page(self, tail: LogTail) -> bool:
        """Whether there was something to ship, so that there may be more."""
        pages = await asyncio.to_thread(tail.pages)
        if pages:
            entries = tuple(entry for page in pages.values() for entry in page.entries)
            await self._client.logs(LogBatch(entries=entries))
            await asyncio.to_thread(tail.shipped, pages)
        return bool(pages)


def _grown(tails: list[LogTail]) -> list[LogTail]:
    """Those that may have something to ship: one look at all, for most have nothing."""
    return [tail for tail in tails if tail.grown()]
