"""Bytes on disk: parts of uploads written at offsets, and the lock around the store of blobs.

Every writer of one upload, or of one blob, holds a file lock, so that several web processes and
workers sharing the directories cannot interleave. A full disk raises DiskFull and changes nothing.
"""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

from django.conf import settings

from controlplane.core.errors import DiskFull
from controlplane.registry.stores.disk import full_disk_said

PIECE_BYTES = 2**20


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def part_path(upload_id: str) -> Path:
    return Path(settings.SHOAL_UPLOAD_DIR) / f"{upload_id}.part"


def work_path(upload_id: str, claim: str) -> Path:
    return Path(settings.SHOAL_UPLOAD_DIR) / f"{upload_id}.{claim}.work"


@contextmanager
def locked_part(upload_id: str) -> Iterator[BinaryIO]:
    """The part file, open for writing anywhere in it, for one writer at a time."""
    path = part_path(upload_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    with full_disk_said(path.parent):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file


def part_size(upload_id: str) -> int:
    try:
        return part_path(upload_id).stat().st_size
    except FileNotFoundError:
        return 0


def write_at(file: BinaryIO, offset: int, source: Readable, *, limit: int) -> tuple[int, bytes]:
    """Copy ``source`` to ``offset``; returns bytes written (at most ``limit`` + 1), their SHA-256.

    The bytes are on the disk when this returns. Raises DiskFull after cutting the file back.
    """
    digest = hashlib.sha256()
    written = 0
    try:
        with full_disk_said(Path(settings.SHOAL_UPLOAD_DIR)):
            file.seek(offset)
            while written <= limit and (
                piece := source.read(min(PIECE_BYTES, limit + 1 - written))
            ):
                digest.update(piece)
                _write_all(file, piece)
                written += len(piece)
            os.fdatasync(file.fileno())
    except DiskFull:
        cut(file, offset)
        raise
    return written, digest.digest()


def cut(file: BinaryIO, size: int) -> None:
    """Forget all behind ``size``. Harmless if it fails: the next chunk overwrites it."""
    with suppress(OSError):
        file.truncate(size)


def _write_all(file: BinaryIO, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[file.write(view) :]


def sha256_of(path: Path, *, tick: Callable[[int], None] = lambda _: None) -> str:
    """``tick`` hears of every piece that was read, so that long work can show signs of life."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
            tick(len(piece))
    return digest.hexdigest()


@contextmanager
def blob_lock(*, exclusive: bool) -> Iterator[None]:
    """Storing shares it, collecting excludes: no blob goes between "is there" and "is used"."""
    root = Path(settings.SHOAL_BLOB_DIR)
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        yield


def upload_files_remove(upload_id: str) -> None:
    """Everything an upload left on the disk: its part and any half-unpacked folder."""
    parts_remove(upload_id)
    work_folders_remove(upload_id)


def parts_remove(upload_id: str) -> None:
    """The part of an upload of one file, or those of a list of files."""
    part_path(upload_id).unlink(missing_ok=True)
    for part in Path(settings.SHOAL_UPLOAD_DIR).glob(f"{upload_id}.*.part"):
        part.unlink(missing_ok=True)


def work_folders_remove(upload_id: str) -> None:
    for folder in Path(settings.SHOAL_UPLOAD_DIR).glob(f"{upload_id}.*.work"):
        shutil.rmtree(folder, ignore_errors=True)


def upload_ids_on_disk() -> set[str]:
    root = Path(settings.SHOAL_UPLOAD_DIR)
    return {path.name.partition(".")[0] for path in root.iterdir()} if root.is_dir() else set()
