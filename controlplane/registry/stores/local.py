"""Blobs as files below one folder, shared by all web processes and workers."""

import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from controlplane.registry.stores.disk import full_disk_said, link_or_copy


class LocalStore:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        return self._folder / sha256[:2] / sha256

    def size(self, sha256: str) -> int | None:
        try:
            return self.path(sha256).stat().st_size
        except FileNotFoundError:
            return None

    def missing(self, hashes: Iterable[str]) -> set[str]:
        return {sha256 for sha256 in hashes if not self.path(sha256).is_file()}

    def put(self, source: Path, sha256: str) -> None:
        target = self.path(sha256)
        if target.exists() and target.stat().st_size == source.stat().st_size:
            source.unlink()
            return
        with full_disk_said(target.parent.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
            staged = target.parent / f".{sha256}.{uuid4().hex}"
            try:
                # why move and not rename: uploads and blobs may lie on different disks.
                shutil.move(source, staged)
                staged.chmod(0o444)
                _fsync(staged)
                staged.replace(target)
            finally:
                staged.unlink(missing_ok=True)
            _fsync(target.parent)

    def open(self, sha256: str, first: int = 0) -> BinaryIO:
        file = self.path(sha256).open("rb")
        file.seek(first)
        return file

    def place(self, sha256: str, target: Path) -> None:
        link_or_copy(self.path(sha256), target)

    def remove(self, sha256: str) -> None:
        self.path(sha256).unlink(missing_ok=True)

    def names(self) -> Iterator[str]:
        staged = "."  # what begins so is still being put
        found = self._folder.glob("??/*")
        return (path.name for path in found if not path.name.startswith(staged))

    def address(self, sha256: str) -> str | None:
        del sha256
        return None


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
