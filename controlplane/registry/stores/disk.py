"""Facts of local disks that uploads and blobs share."""

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from controlplane.core.errors import DiskFull

LEAST_RESERVE, MOST_RESERVE = 2**30, 5 * 2**30
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def full_disk_said(where: Path) -> Iterator[None]:
    """Turn "no space" of the operating system into DiskFull, which says where."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise
        raise DiskFull(
            f"The disk of {where} is full.",
            hints=("Free space there, then continue: nothing that was stored is lost.",),
            extra={"free_bytes": free_bytes(where)},
        ) from error


def free_bytes(where: Path) -> int:
    """What is left on the disk that holds, or will hold, ``where``."""
    while not where.exists():
        where = where.parent
    return shutil.disk_usage(where).free


def reserve_bytes(where: Path) -> int:
    """What uploads leave of that disk, so that the database can go on: SHOAL_UPLOAD_RESERVE_BYTES,
    or 5 % of the disk, at least 1 GiB and at most 5 GiB."""
    chosen = settings.SHOAL_UPLOAD_RESERVE_BYTES
    if chosen is not None:
        return int(chosen)
    while not where.exists():
        where = where.parent
    return min(max(shutil.disk_usage(where).total // 20, LEAST_RESERVE), MOST_RESERVE)


def room_bytes(where: Path) -> int:
    """What is left on that disk beyond the reserve."""
    return max(0, free_bytes(where) - reserve_bytes(where))


def link_or_copy(source: Path, target: Path) -> None:
    """The same bytes under a second name; a copy where the file system cannot do that."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)
