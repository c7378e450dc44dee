"""What the control plane learns of the cache, and how its files stay what they were."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable

import httpx

from node_agent.bandwidth import Throttle
from node_agent.cache import BlobCache
from node_agent.client import ControlClient, ControlError, Refused
from node_agent.machine import Machine
from node_agent.recheck import Schedule
from wire.messages import CachedBlob, CacheReport

logger = logging.getLogger(__name__)

INTERVAL_S = 10.0
AGAIN_S = 900.0  # reported again unchanged: ours may have been restored from a backup
MEND_AGAIN_S = 60.0  # after files could not be mended
RECHECK_LOOK_S = 600.0  # the clock may be set meanwhile


class CacheUpkeep:
    """Two steps, to be repeated for ever. ``mend`` makes right what replicas have of the cache, and
    says whether all of it is."""

    def __init__(
        self,
        cache: BlobCache,
        schedule: Schedule,
        throttle: Throttle,
        *,
        client: ControlClient,
        machine: Machine,
        mend: Callable[[Throttle], Awaitable[bool]],
    ) -> None:
        self._cache = cache
        self._schedule = schedule
        self._throttle = throttle
        self._client = client
        self._machine = machine
        self._mend = mend
        self._unmended = asyncio.Event()
        self._unmended.set()  # what an agent before us left undone
        self._reported: tuple[CachedBlob, ...] | None = None
        self._reported_at = 0.0
        machine.checked(schedule.last)
        machine.cached(cache.contents())

    def doubt(self) -> None:
        """What replicas have is looked through again soon."""
        self._unmended.set()

    async def report_cache(self) -> None:
        """What lies in the cache, when that has changed. Raises ControlError."""
        blobs = await asyncio.to_thread(self._cache.contents)
        self._machine.cached(blobs)
        spoiled = self._cache.take_spoiled()
        again = time.monotonic() - self._reported_at > AGAIN_S
        if spoiled or again or blobs != self._reported:
            try:
                await self._client.cache(CacheReport(blobs, spoiled))
            except Refused as error:
                if error.status != httpx.codes.NOT_FOUND:
                    self._cache.give_back(spoiled)
                    raise
                logger.debug("A control plane of the version before does not ask for this")
            except ControlError:
                self._cache.give_back(spoiled)
                raise
            self._reported, self._reported_at = blobs, time.monotonic()
        await asyncio.sleep(INTERVAL_S)

    async def recheck_cache(self) -> None:
        """Hash what is cached when that is due; then what replicas have of it is right again."""
        if self._schedule.due_in_s() <= 0:
            await self._schedule.run(self._cache, throttle=self._throttle)
            self._machine.checked(self._schedule.last)
            self._unmended.set()
        if self._unmended.is_set():
            self._unmended.clear()
            if not await self._mend(self._throttle):
                asyncio.get_running_loop().call_later(MEND_AGAIN_S, self._unmended.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(self._schedule.due_in_s(), RECHECK_LOOK_S)):
                await self._unmended.wait()
