"""A replica's repository on disk: laid out from the cache, looked through, made right again."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from node_agent import staging
from node_agent.bandwidth import Throttle
from node_agent.cache import BlobCache
from node_agent.hashing import FULL_SPEED, sha256_of
from wire.messages import DesiredReplica, FileRef


def _unseen(cached: int, fetched: int) -> None:
    """Bytes that come for a replica which serves: no progress of it."""
    del cached, fetched


class Repository:
    """Raises ReplicaFailed where files cannot be fetched, OSError where disks do not obey."""

    def __init__(self, replica: DesiredReplica, repository: Path, cache: BlobCache) -> None:
        self._replica = replica
        self._repository = repository
        self._cache = cache
        self.staged = False  # by this agent

    async def stage(self, progress: Callable[[int, int], None] = _unseen) -> None:
        """All of it anew, from blobs that are fetched where they are missing."""
        for last in (False, True):
            await self._cache.ensure(self._replica.files, progress)
            try:
                await asyncio.to_thread(
                    staging.stage,
                    self._replica,
                    blob=self._cache.path,
                    repository=self._repository,
                )
                self.staged = True
                return
            except FileNotFoundError:  # put aside, or evicted, between the two
                if last:
                    raise

    async def mend(self, throttle: Throttle) -> list[FileRef]:
        """Give wrong files the right bytes, each at once; which they were."""
        wrong = await self.wrong(throttle)
        if not wrong:
            return []
        await self._cache.ensure([file for file, _ in wrong], _unseen)
        for file, target in wrong:
            await asyncio.to_thread(staging.renew, target, self._cache.path(file.sha256))
        return [file for file, _ in wrong]

    async def wrong(self, throttle: Throttle = FULL_SPEED) -> list[tuple[FileRef, Path]]:
        """Files that are neither their blobs nor copies with the same bytes, and where they lie."""
        suspects = await asyncio.to_thread(
            staging.detached,
            self._replica,
            blob=self._cache.path,
            repository=self._repository,
        )
        return [
            (file, target)
            for file, target in suspects
            if await sha256_of(target, throttle) != file.sha256
        ]
