"""The sha256 of files on disk, read so that whoever serves beside it does not notice."""

import asyncio
import errno
import hashlib
import logging
import os
from pathlib import Path
from typing import Final

from node_agent.bandwidth import Throttle

logger = logging.getLogger(__name__)

HASH_BYTES: Final = 1 << 20
FULL_SPEED: Final = Throttle(0)
UNREADABLE: Final = ""  # no file has such a hash


async def sha256_of(path: Path, throttle: Throttle = FULL_SPEED) -> str | None:
    """The hash of what lies on the disk, at the pace of `throttle`; None where there is no file.

    A disk that cannot read it any more makes it `UNREADABLE`. Raises OSError for anything else.
    One chunk at a time in a thread: it ends within a chunk when it is cancelled.
    """
    try:
        descriptor = await asyncio.to_thread(os.open, path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    digest, offset = hashlib.sha256(), 0
    try:
        # why: what memory keeps of the file may be right while the disk is not
        _forget(descriptor, 0, 0)
        while count := await asyncio.to_thread(_hash_next, descriptor, offset, digest):
            _forget(descriptor, offset, count)  # memory is the models', not ours
            offset += count
            await throttle.pace(count)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        logger.warning("%s cannot be read at byte %d: %s", path, offset, error)
        return UNREADABLE
    finally:
        os.close(descriptor)
    return digest.hexdigest()


def _hash_next(descriptor: int, offset: int, digest: "hashlib._Hash") -> int:
    chunk = os.pread(descriptor, HASH_BYTES, offset)
    digest.update(chunk)
    return len(chunk)


def _forget(descriptor: int, offset: int, count: int) -> None:
    """Let the page cache drop this; pages that a process has mapped stay. A count of 0: all."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, offset, count, os.POSIX_FADV_DONTNEED)
