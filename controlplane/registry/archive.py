"""A program that unpacks one untrusted archive: `python -m controlplane.registry.archive`.

It runs as a limited subprocess, imports nothing of Django, trusts no name, size or mode in the
archive, and prints one JSON object: ``{"files", "bytes", "warnings"}`` or ``{"error": {...}}``.
"""

import argparse
import errno
import json
import lzma
import os
import re
import stat
import struct
import sys
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

IGNORED = {".git", ".DS_Store", "__MACOSX", "Thumbs.db"}
MAX_DEPTH = 12
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 2048  # why: paths are in an index, whose entries PostgreSQL keeps below 2.7 kB
# why a floor: a few hundred bytes of text may well shrink more than any bomb does.
RATIO_FLOOR_BYTES = 8 * 2**20
PIECE_BYTES = 2**20
DAMAGED = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError)
# What the standard library's readers raise besides, over headers that are cut or do not add up.
READERS = (TypeError, IndexError, KeyError, OverflowError, struct.error, OSError)
ENCODED_SEPARATOR = re.compile(r"%(2e|2f|5c)", re.IGNORECASE)


class Refused(Exception):
    """The archive is not unpacked; ``code`` as in the REST interface."""

    def __init__(self, code: str, message: str, *, detail: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.answer = {
            "code": code,
            "message": message,
            "detail": detail,
            "hints": [hint] if hint else [],
        }


@dataclass(frozen=True)
class Limits:
    max_bytes: int
    max_entries: int
    max_ratio: int
    room: int  # bytes that the disk has for it


@dataclass(frozen=True)
class Entry:
    """One member as the archive claims it to be."""

    name: str
    is_folder: bool
    is_file: bool


@dataclass
class Unpacked:
    files: int = 0
    bytes: int = 0
    warnings: list[str] = field(default_factory=list)


def unpack(archive: Path, target: Path, limits: Limits) -> Unpacked:
    """Write the archive's files below ``target``. Raises Refused; then throw ``target`` away."""
    result = Unpacked()
    names = Names()
    ignored: set[str] = set()
    ceiling = max(RATIO_FLOOR_BYTES, archive.stat().st_size * limits.max_ratio)
    try:
        for count, (entry, content) in enumerate(_entries(archive), start=1):
            if count > limits.max_entries:
                raise Refused(
                    "ArchiveBomb",
                    f"The archive holds more than {limits.max_entries} entries.",
                )
            path = safe_path(entry.name)
            if not (entry.is_folder or entry.is_file):
                raise unsafe(entry.name, "is a link or a special file")
            if junk := IGNORED.intersection(path.parts):
                ignored.update(junk)
                continue
            if not path.parts:
                continue
            names.claim(path, is_folder=entry.is_folder)
            place = target.joinpath(*path.parts)
            if entry.is_folder:
                place.mkdir(parents=True, exist_ok=True)
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            assert content is not None  # noqa: S101 - regular files always have content
            _write(content, place, result, limits, ceiling)
            result.files += 1
    except (NotImplementedError, RuntimeError) as error:
        raise Refused(
            "ArchiveUnsupported",
            "The archive is encrypted or uses a compression that is not supported.",
            detail=str(error),
            hint="Pack it again as a plain .zip or .tar.gz.",
        ) from error
    except DAMAGED as error:
        raise Refused(
            "ArchiveDamaged",
            "The archive is damaged or incomplete.",
            detail=str(error),
            hint="Pack it again and upload the new file.",
        ) from error
    if ignored:
        result.warnings.append(f"Left out: {', '.join(sorted(ignored))}.")
    return result


@contextmanager
def _reading(what: str) -> Iterator[None]:
    """Raises one of DAMAGED for whatever the readers cannot read."""
    try:
        yield
    except READERS as error:
        # why some: an archive that points before its beginning has the system refuse the seek, and
        # bzip2 says of what is damaged nothing but that
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        raise tarfile.ReadError(f"{what} cannot be read: {error}") from error


def _entries(archive: Path) -> Iterator[tuple[Entry, IO[bytes] | None]]:
    """What the archive says that it holds. Raises one of DAMAGED for whatever cannot be read."""
    with _reading("a header"):
        yield from _members(archive)


def _pieces(content: IO[bytes], name: str) -> Iterator[bytes]:
    """A member, piece by piece. Raises one of DAMAGED for whatever cannot be read."""
    with _reading(name):
        while piece := content.read(PIECE_BYTES):
            yield piece


def _members(archive: Path) -> Iterator[tuple[Entry, IO[bytes] | None]]:
    with archive.open("rb") as file:
        is_zip = file.read(2) == b"PK"  # why not is_zipfile(): it also finds a zip inside a tar
    if is_zip:
        with zipfile.ZipFile(archive) as container:
            for info in container.infolist():
                # why orig_filename: the module itself cuts names at NUL and hides what was there.
                kind = stat.S_IFMT(info.external_attr >> 16)
                is_folder = info.orig_filename.endswith("/")
                is_file = not is_folder and kind in {0, stat.S_IFREG}
                entry = Entry(info.orig_filename, is_folder, is_file)
                if not is_file:
                    yield entry, None
                    continue
                with container.open(info) as content:
                    yield entry, content
        return
    with tarfile.open(archive, mode="r|*") as stream:
        for member in stream:
            entry = Entry(member.name, member.isdir(), member.isreg())
            yield entry, stream.extractfile(member) if member.isreg() else None


def unsafe(name: str, why: str) -> Refused:
    return Refused(
        "ArchiveUnsafe",
        "The archive has unsafe paths and was rejected.",
        detail=f"{name[:300]!r} {why}.",
        hint="Pack plain files and folders with relative names.",
    )


def safe_path(name: str) -> PurePosixPath:
    """The relative path that ``name`` means. Raises Refused for all but plain forward names."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise unsafe(name, "is not valid text") from error
    if any(unicodedata.category(char) == "Cc" for char in name):
        raise unsafe(name, "has a control character")
    if "\\" in name:
        raise unsafe(name, "has a backslash")
    if name.startswith("/") or re.match(r"^[A-Za-z]:", name):
        raise unsafe(name, "is an absolute path")
    if ENCODED_SEPARATOR.search(name):
        raise unsafe(name, "has an encoded dot or separator")
    path = PurePosixPath(unicodedata.normalize("NFC", name))
    if ".." in path.parts:
        raise unsafe(name, "leads out of its folder")
    if len(path.parts) > MAX_DEPTH:
        raise unsafe(name, f"is nested deeper than {MAX_DEPTH} folders")
    if any(len(part.encode()) > MAX_NAME_BYTES for part in path.parts):
        raise unsafe(name, f"has a name longer than {MAX_NAME_BYTES} bytes")
    if len(str(path).encode()) > MAX_PATH_BYTES:
        raise unsafe(name, f"is a path longer than {MAX_PATH_BYTES} bytes")
    return path


class Names:
    """The names used so far. Two that some file system holds for one are refused."""

    def __init__(self) -> None:
        self._spelling: dict[str, str] = {}
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def claim(self, path: PurePosixPath, *, is_folder: bool) -> None:
        parents = [str(parent) for parent in path.parents if parent.parts]
        for folder in [*parents, *([str(path)] if is_folder else [])]:
            self._spell(folder)
            if folder in self._files:
                raise unsafe(folder, "is both a file and a folder")
            self._folders.add(folder)
        if is_folder:
            return
        name = str(path)
        self._spell(name)
        if name in self._files or name in self._folders:
            raise unsafe(name, "appears twice")
        self._files.add(name)

    def _spell(self, name: str) -> None:
        before = self._spelling.setdefault(name.casefold(), name)
        if before != name:
            raise unsafe(name, f"collides with {before!r}")


def _write(content: IO[bytes], place: Path, result: Unpacked, limits: Limits, ceiling: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(place, flags, 0o644), "wb") as file:
        for piece in _pieces(content, place.name):
            result.bytes += len(piece)
            if result.bytes > limits.room:
                raise Refused(
                    "DiskFull",
                    f"It unpacks to more than the {limits.room} bytes that are left for it.",
                    hint="Free space on the server, then upload it again.",
                )
            if result.bytes > limits.max_bytes:
                raise Refused(
                    "ArchiveBomb",
                    f"Unpacked size is over the limit of {limits.max_bytes} bytes.",
                )
            if result.bytes > ceiling:
                raise Refused(
                    "ArchiveBomb",
                    f"The archive unpacks to more than {limits.max_ratio} times its size.",
                    hint="If that is meant, pack it without compression.",
                )
            file.write(piece)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--max-bytes", type=int, required=True)
    parser.add_argument("--max-entries", type=int, required=True)
    parser.add_argument("--max-ratio", type=int, required=True)
    parser.add_argument("--room", type=int, required=True)
    arguments = parser.parse_args()
    limits = Limits(arguments.max_bytes, arguments.max_entries, arguments.max_ratio, arguments.room)
    try:
        done = unpack(arguments.archive, arguments.target, limits)
        answer: dict[str, object] = {
            "files": done.files,
            "bytes": done.bytes,
            "warnings": done.warnings,
        }
    except Refused as refused:
        answer = {"error": refused.answer}
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise
        answer = {
            "error": {
                "code": "DiskFull",
                "message": "The disk became full while unpacking.",
                "detail": str(error),
                "hints": ["Free space there, then upload again."],
            }
        }
    sys.stdout.write(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
