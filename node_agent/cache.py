"""The node's blobs by content: a blob is there whole and verified, or it is not there.

A verified blob has a modification time of one fixed moment and mode 0444: any write to it since,
also through a hard link from a replica's repository, shows. Its access time is when it was last
wanted. A blob that a repository links to has more than one link and is never evicted.
"""

import asyncio
import contextlib
import errno
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from node_agent.backoff import Backoff
from node_agent.bandwidth import Throttle
from node_agent.client import BlobStream, ControlError, Refused
from node_agent.failure import ReplicaFailed, disk_full
from node_agent.hashing import FULL_SPEED, HASH_BYTES, sha256_of
from wire.messages import CachedBlob, FileRef, SpoiledBlob

logger = logging.getLogger(__name__)

PARALLEL = 4
TRIES_WITHOUT_PROGRESS = 8
VERIFIED_NS = 1_000_000_000  # one second after the epoch
RESERVE_BYTES = 64 * 2**20  # left on the disk for logs and databases
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class BlobSource(Protocol):
    """Where blobs come from; see `client.ControlClient.blob`."""

    def blob(self, sha256: str, offset: int) -> AbstractAsyncContextManager[BlobStream]: ...


@dataclass(frozen=True, slots=True)
class Checked:
    """What was hashed: how many files, of how many bytes, and how many of them were wrong."""

    files: int
    size: int
    spoiled: int


class ChecksumMismatch(RuntimeError):
    """The bytes are not those that were announced."""


class BlobCache:
    """`progress(cached, fetched)` is told bytes as they come. A quota of 0 bytes is none, and so is
    a `download_rate` of 0 bytes per second, which is for all downloads together."""

    def __init__(
        self,
        root: Path,
        source: BlobSource,
        *,
        quota_bytes: int = 0,
        download_rate: int = 0,
        free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free,
        first_delay_s: float = 0.5,
    ) -> None:
        self._root = root
        self._parts = root / "parts"
        self._quarantine = root / "quarantine"
        self._source = source
        self._quota_bytes = quota_bytes
        self._free_bytes = free_bytes
        self._first_delay_s = first_delay_s
        self._downloads = Throttle(download_rate)
        self._slots = asyncio.Semaphore(PARALLEL)
        self._locks: dict[str, asyncio.Lock] = {}
        self._spoiled: list[SpoiledBlob] = []
        self._make_folders()

    def _make_folders(self) -> None:
        for folder in (self._root, self._parts, self._quarantine):
            folder.mkdir(parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256

    def used_bytes(self) -> int:
        return sum(blob.stat().st_size for blob in self._blobs())

    def contents(self) -> tuple[CachedBlob, ...]:
        """What lies here verified, by name; `in_use` is what no eviction takes."""
        found = []
        for blob in sorted(self._blobs(), key=lambda path: path.name):
            try:
                status = blob.stat()
            except FileNotFoundError:  # evicted meanwhile
                continue
            found.append(
                CachedBlob(blob.name, status.st_size, status.st_atime, in_use=status.st_nlink > 1)
            )
        return tuple(found)

    async def ensure(self, files: Iterable[FileRef], progress: Callable[[int, int], None]) -> None:
        """Have every file's blob here, verified. Raises ReplicaFailed.

        A failure leaves what was verified, so that a later try is shorter; only a full disk takes
        the unfinished parts with it.
        """
        self._make_folders()  # why again: people empty caches, and mount new disks over them
        blobs = {file.sha256: file for file in files}
        missing = []
        for file in blobs.values():
            if await asyncio.to_thread(self._intact, file):
                progress(file.size, 0)
            else:
                missing.append(file)
        self._make_room(missing, keep=set(blobs))
        try:
            async with asyncio.TaskGroup() as group:
                for file in missing:
                    group.create_task(self._fetch(file, progress))
        except ExceptionGroup as group_error:
            first = group_error.exceptions[0]
            if isinstance(first, ReplicaFailed) and first.problem.code == "DiskFull":
                self._drop_parts(missing)
            raise first from None

    async def recheck(self, files: Iterable[FileRef]) -> list[FileRef]:
        """Hash these files' blobs again, whatever their marks say; those found wrong are put aside.

        For bytes that rotted without anybody writing. At full speed: a replica waits for it.
        """
        found = {}
        for file in files:
            if file.sha256 not in found and await self._rotten(self.path(file.sha256), FULL_SPEED):
                found[file.sha256] = file
        return list(found.values())

    async def recheck_all(self, throttle: Throttle) -> Checked:
        """The same for everything that is cached, at the pace of `throttle`."""
        files, size, spoiled = 0, 0, 0
        for blob in await asyncio.to_thread(self._blobs):
            files, size = files + 1, size + _size(blob)
            spoiled += await self._rotten(blob, throttle)
        return Checked(files=files, size=size, spoiled=spoiled)

    def take_spoiled(self) -> tuple[SpoiledBlob, ...]:
        """Blobs that were found changed on disk since this was last asked."""
        found, self._spoiled = tuple(self._spoiled), []
        return found

    def give_back(self, spoiled: Iterable[SpoiledBlob]) -> None:
        """Nobody has heard of these yet: `take_spoiled` is to name them again."""
        self._spoiled[:0] = spoiled

    async def _rotten(self, blob: Path, throttle: Throttle) -> bool:
        found = await sha256_of(blob, throttle)
        if found is None or found == blob.name:  # None: evicted meanwhile
            return False
        return await asyncio.to_thread(self._put_aside, blob)

    def _put_aside(self, blob: Path) -> bool:
        """Whether it was still here."""
        size = _size(blob)
        with contextlib.suppress(FileNotFoundError):
            blob.replace(self._quarantine / f"{blob.name}.{time.time_ns()}")
            logger.warning("Blob %s was changed on disk; it is put aside", blob.name)
            self._spoiled.append(SpoiledBlob(sha256=blob.name, size=size, found_at=time.time()))
            return True
        return False

    async def _fetch(self, file: FileRef, progress: Callable[[int, int], None]) -> None:
        async with self._slots, self._locks.setdefault(file.sha256, asyncio.Lock()):
            if await asyncio.to_thread(self._intact, file):  # another replica wanted it too
                progress(file.size, 0)
                return
            for attempt in (1, 2):
                try:
                    await self._download(file, progress)
                    return
                except ChecksumMismatch as error:
                    logger.warning("%s: %s (try %d)", file.path, error, attempt)
                    if attempt == 2:
                        raise _checksum_failed(file, error) from error

    async def _download(self, file: FileRef, progress: Callable[[int, int], None]) -> None:
        """Fetch, resuming what is there, and verify. Raises ReplicaFailed, ChecksumMismatch."""
        part = self._parts / file.sha256
        delays = Backoff(first_s=self._first_delay_s, limit_s=10.0)
        failures = 0
        digest = ""
        while not digest:
            before = _size(part)
            try:
                digest = await self._transfer(file, part, progress)
            except Refused as error:
                raise _download_failed(file, error) from error
            except OSError as error:
                part.unlink(missing_ok=True)
                if error.errno in DISK_ERRORS:
                    free = self._free_bytes(self._root)
                    raise disk_full(file.size, free, where=str(self._root), limit="disk") from error
                raise
            except ControlError as error:
                failures = 0 if _size(part) > before else failures + 1
                if failures >= TRIES_WITHOUT_PROGRESS:
                    raise _download_failed(file, error) from error
                if not failures:
                    delays.reset()
                await asyncio.sleep(delays.next())
        if digest != file.sha256 or _size(part) != file.size:
            found = _size(part)
            part.replace(self._quarantine / f"{file.sha256}.{time.time_ns()}")
            progress(0, -found)
            raise ChecksumMismatch(
                f"expected {file.size} bytes of sha256 {file.sha256}, "
                f"got {found} bytes of sha256 {digest}"
            )
        await asyncio.to_thread(self._admit, part, file)

    async def _transfer(
        self, file: FileRef, part: Path, progress: Callable[[int, int], None]
    ) -> str:
        """One request from where `part` ends; the sha256 of the whole part afterwards."""
        digest, offset = await asyncio.to_thread(_hash_so_far, part, file.size)
        if offset == file.size:
            # An empty file needs no request, yet must exist.
            await asyncio.to_thread(part.touch)
            return digest.hexdigest()
        async with self._source.blob(file.sha256, offset) as stream:
            with part.open("r+b" if offset else "wb") as output:
                if stream.offset != offset:  # the server began from the start again
                    digest = hashlib.sha256()
                    progress(0, -offset)
                output.seek(stream.offset)
                output.truncate()
                written = stream.offset
                async for chunk in stream.chunks:
                    written += len(chunk)
                    if written > file.size:
                        raise ChecksumMismatch(f"more than the announced {file.size} bytes came")
                    await asyncio.to_thread(_write, output, digest, chunk)
                    progress(0, len(chunk))
                    await self._downloads.pace(len(chunk))
        if written < file.size:
            raise ControlError(f"the connection ended after {written} of {file.size} bytes")
        return digest.hexdigest()

    def _intact(self, file: FileRef) -> bool:
        """Whether the blob is here as verified; one that was touched since is hashed again."""
        path = self.path(file.sha256)
        try:
            status = path.stat()
        except FileNotFoundError:
            return False
        if status.st_size == file.size and status.st_mtime_ns == VERIFIED_NS:
            os.utime(path, ns=(time.time_ns(), VERIFIED_NS))
            return True
        if _hash_so_far(path, status.st_size)[0].hexdigest() == file.sha256:
            _mark_verified(path)
            return True
        self._put_aside(path)
        return False

    def _admit(self, part: Path, file: FileRef) -> None:
        path = self.path(file.sha256)
        path.parent.mkdir(exist_ok=True)
        descriptor = os.open(part, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _mark_verified(part)
        part.replace(path)

    def _make_room(self, missing: list[FileRef], *, keep: set[str]) -> None:
        """Evict the longest unwanted blobs until `missing` fits, or raise ReplicaFailed."""
        if not missing:
            return
        needed = sum(file.size - _size(self._parts / file.sha256) for file in missing)
        for corpse in self._quarantine.iterdir():
            corpse.unlink()
        idle = [blob for blob in self._blobs() if _idle(blob) and blob.name not in keep]
        idle.sort(key=lambda blob: blob.stat().st_atime_ns, reverse=True)
        while (short := self._shortage(needed)) is not None and idle:
            victim = idle.pop()
            logger.info("Evicting blob %s from the cache", victim.name)
            victim.unlink()
        if short is not None:
            self._drop_parts(missing)
            raise short

    def _drop_parts(self, files: list[FileRef]) -> None:
        for file in files:
            (self._parts / file.sha256).unlink(missing_ok=True)

    def _shortage(self, needed: int) -> ReplicaFailed | None:
        where = str(self._root)
        free = max(0, self._free_bytes(self._root) - RESERVE_BYTES)
        if needed > free:
            return disk_full(needed, free, where=where, limit="disk")
        if self._quota_bytes and needed > (left := max(0, self._quota_bytes - self.used_bytes())):
            return disk_full(
                needed, left, where=where, limit="cache quota (SHOAL_NODE_CACHE_BYTES)"
            )
        return None

    def _blobs(self) -> list[Path]:
        return [path for path in self._root.glob("??/*") if path.is_file()]


def _idle(blob: Path) -> bool:
    return blob.stat().st_nlink == 1


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _hash_so_far(path: Path, limit: int) -> "tuple[hashlib._Hash, int]":
    """The running sha256 of `path` and its length; an empty one when it is over `limit`."""
    digest = hashlib.sha256()
    if not 0 < _size(path) <= limit:
        return digest, 0
    length = 0
    with path.open("rb") as stream:
        while chunk := stream.read(HASH_BYTES):
            digest.update(chunk)
            length += len(chunk)
    return digest, length


def _write(output: BinaryIO, digest: "hashlib._Hash", chunk: bytes) -> None:
    output.write(chunk)
    digest.update(chunk)


def _mark_verified(path: Path) -> None:
    with contextlib.suppress(PermissionError):
        path.chmod(0o444)
    os.utime(path, ns=(time.time_ns(), VERIFIED_NS))


def _checksum_failed(file: FileRef, error: ChecksumMismatch) -> ReplicaFailed:
    return ReplicaFailed(
        "ChecksumMismatch",
        f"{file.path} arrived twice with the wrong content.",
        detail=str(error),
        hints=("Look for a broken proxy or disk between the control plane and this node.",),
    )


def _download_failed(file: FileRef, error: ControlError) -> ReplicaFailed:
    return ReplicaFailed(
        "DownloadFailed",
        f"{file.path} could not be fetched from the control plane.",
        detail=str(error),
        hints=("Check that the node reaches the control plane, then retry.",),
    )
