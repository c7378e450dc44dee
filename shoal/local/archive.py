"""The file that a backup is: written once, read whole before anything of it counts.

A plain tar, since models do not compress. ``MANIFEST.json`` with the SHA-256 of each file is its
last member, so that what was cut off has none.
"""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final, Protocol

FORMAT: Final = 2
READABLE: Final = (1, 2)  # 1 knew neither PostgreSQL nor models that lie elsewhere
DATABASE: Final = "db/main.db"
DUMP: Final = "db/main.dump"  # pg_dump --format=custom
MANIFEST: Final = "MANIFEST.json"
BLOBS: Final = "blobs/"
KEPT_FOLDERS: Final = ("secrets", "tls", "audit")
KEPT_FILES: Final = ("node/credential.json", "node/certificate.json")
PRIVATE: Final = 0o600
CHUNK: Final = 1 << 20

# What is being done, bytes done, bytes in all (0: nobody knows).
Progress = Callable[[str, int, int], None]


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


# A member: its name, its bytes, where they come from.
Source = tuple[str, int, Readable]


class BackupError(RuntimeError):
    """No backup was written, or nothing was restored; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What an archive holds."""

    archive: Path
    version: str
    created: str  # ISO 8601, UTC
    files: int
    blobs: int  # files of models in the archive
    size: int  # bytes of all files
    database: dict[str, str] = field(default_factory=dict)  # engine, and versions of PostgreSQL
    referenced: dict[str, int] = field(default_factory=dict)  # blobs that lie elsewhere, and sizes
    referenced_in: str = ""  # where that was


def write(
    archive: Path, sources: Iterable[Source], total: int, about: Mapping[str, Any], tell: Progress
) -> Summary:
    """Write ``archive`` (mode 0600); one of that name is replaced only by a whole one.

    ``about`` is what the manifest says beside the files. Raises BackupError, OSError.
    """
    unfinished = archive.with_name(f".{archive.name}.part")
    created = datetime.now(UTC).isoformat(timespec="seconds")
    entries: list[dict[str, Any]] = []
    done = 0

    def moved(count: int) -> None:
        nonlocal done
        done += count
        tell("backing up", done, total)

    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
        with os.fdopen(descriptor, "wb") as stream:
            with tarfile.TarFile(fileobj=stream, mode="w", copybufsize=CHUNK) as tar:
                for name, size, source in sources:
                    hashed = Hashing(source, moved)
                    tar.addfile(header(name, size), hashed)
                    entries.append({"path": name, "size": size, "sha256": hashed.hexdigest})
                    refuse_changed(name, hashed.hexdigest)
                manifest = {"format": FORMAT, "created": created, **about, "files": entries}
                text = json.dumps(manifest, indent=1).encode()
                tar.addfile(header(MANIFEST, len(text)), io.BytesIO(text))
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(archive)
    finally:
        unfinished.unlink(missing_ok=True)
    return _summary(archive, manifest)


def read(archive: Path, take: Callable[[str, int, Readable], None], tell: Progress) -> Summary:
    """Give each file to ``take``, which need not read it, and check every byte.

    Raises BackupError when the archive is not whole: what was taken then counts for nothing.
    """
    total = archive.stat().st_size
    found: dict[str, tuple[int, str]] = {}
    manifest: dict[str, Any] = {}
    with _readable(archive) as tar:
        for member in tar:
            # A link is asked for its kind first: following it would look for its target.
            source = tar.extractfile(member) if member.isreg() else None
            if source is None or not _expected(member.name):
                raise BackupError(f"{archive} is no backup of Shoal: it holds {member.name!r}.")
            if member.name == MANIFEST:
                manifest = json.load(source)
                continue
            done = member.offset_data

            def moved(count: int) -> None:
                nonlocal done
                done += count
                tell("reading", done, total)

            hashed = Hashing(source, moved)
            take(member.name, member.size, hashed)
            while hashed.read(CHUNK):
                pass
            found[member.name] = (member.size, hashed.hexdigest)
    _check(archive, manifest, found)
    tell("reading", total, total)
    return _summary(archive, manifest)


def refuse_changed(name: str, sha256: str) -> None:
    """Raises BackupError for a blob whose bytes are not those of its name."""
    if name.startswith(BLOBS) and not name.endswith(sha256):
        raise BackupError(
            f"{name} has other bytes than its name says: the disk lost some. Register that model "
            "again from its source, then back up."
        )


def blob_name(sha256: str) -> str:
    return f"{BLOBS}{sha256[:2]}/{sha256}"


def header(name: str, size: int) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.size, made.mode, made.mtime = size, PRIVATE, int(datetime.now(UTC).timestamp())
    return made


def _check(archive: Path, manifest: dict[str, Any], found: dict[str, tuple[int, str]]) -> None:
    if not manifest:
        raise BackupError(f"{archive} ends before its {MANIFEST}: it was cut off.")
    if manifest.get("format") not in READABLE:
        raise BackupError(
            f"{archive} has format {manifest.get('format')!r}, this Shoal reads "
            f"{' and '.join(map(str, READABLE))}: restore it with the version that wrote it "
            f"({manifest.get('version')})."
        )
    promised = {one["path"]: (one["size"], one["sha256"]) for one in manifest["files"]}
    for name in sorted(promised.keys() | found.keys()):
        if promised.get(name) != found.get(name):
            raise BackupError(f"{archive}: {name} is missing, or not what was backed up.")
        refuse_changed(name, found[name][1])


def _expected(name: str) -> bool:
    """Whether a member may be written: a name that a backup has, inside the folder."""
    parts = PurePosixPath(name).parts
    known = name in (MANIFEST, DATABASE, DUMP, *KEPT_FILES) or (
        len(parts) > 1 and parts[0] in ("blobs", *KEPT_FOLDERS)
    )
    return known and ".." not in parts


@contextmanager
def _readable(archive: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(archive, "r:") as tar:
            yield tar
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise BackupError(f"{archive} is no backup of Shoal, or was cut off: {error}.") from error


def _summary(archive: Path, manifest: dict[str, Any]) -> Summary:
    files = manifest["files"]
    return Summary(
        archive=archive,
        version=str(manifest["version"]),
        created=str(manifest["created"]),
        files=len(files),
        blobs=sum(one["path"].startswith(BLOBS) for one in files),
        size=sum(one["size"] for one in files),
        database=dict(manifest.get("database", {"engine": "sqlite"})),
        referenced=dict(manifest.get("referenced", {})),
        referenced_in=str(manifest.get("referenced_in", "")),
    )


class Hashing(io.RawIOBase):
    """A stream that knows the SHA-256 of what was read from it, and tells how much that was."""

    def __init__(self, source: Readable, moved: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self._source = source
        self._hash = hashlib.sha256()
        self._moved = moved

    def read(self, size: int = -1, /) -> bytes:
        data = self._source.read(size)
        self._hash.update(data)
        if self._moved is not None:
            self._moved(len(data))
        return data

    @property
    def hexdigest(self) -> str:
        return self._hash.hexdigest()
