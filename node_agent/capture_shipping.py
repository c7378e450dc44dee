"""Sends what replicas have captured to the control plane, one file after the other."""

import asyncio
import logging
from typing import Final

from node_agent.client import ControlClient, CredentialRefused, Refused
from node_agent.fleet import Fleet
from node_agent.outbox import Outbox, Waiting

logger = logging.getLogger(__name__)

REST_S: Final = 5.0
PACE_S: Final = 0.1  # between files: bounds what a node asks of the control plane


class CaptureShipping:
    """``run_once`` is a step of the agent's loops."""

    def __init__(self, outbox: Outbox, fleet: Fleet, client: ControlClient) -> None:
        self._outbox = outbox
        self._fleet = fleet
        self._client = client

    async def run_once(self) -> None:
        """Take what is finished, then send all that waits. Raises ControlError."""
        for replica, folder in self._fleet.capturing():
            await asyncio.to_thread(self._outbox.take, replica, folder)
        for file in await asyncio.to_thread(lambda: list(self._outbox.waiting())):
            await self._send(file)
            await asyncio.sleep(PACE_S)
        await asyncio.sleep(REST_S)

    async def _send(self, file: Waiting) -> None:
        content = await asyncio.to_thread(file.path.read_bytes)
        try:
            await self._client.captured(
                file.replica_id,
                file.path.name,
                endpoint=file.endpoint,
                deployment=file.deployment,
                content=content,
            )
        except CredentialRefused:
            raise
        except Refused as error:
            # why not kept: the same file would be refused for ever, and stand before all others
            logger.warning("Captured data of %s is dropped: %s", file.replica_id, error)
        await asyncio.to_thread(self._outbox.sent, file)
