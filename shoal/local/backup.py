"""Backup and restore of one data folder: an archive that is whole, or an error that says why not.

The archive is a plain tar, since models do not compress: the database as one moment saw it, every
blob that this database knows, secrets and certificates, and ``MANIFEST.json`` with the SHA-256 of
each file at its end. What is made anew at a start (queue, logs, caches, the gateway's files) and
``metrics.db`` are left out.
"""

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

FORMAT = 1
DATABASE = "db/main.db"
MANIFEST = "MANIFEST.json"
KEPT_FOLDERS = ("secrets", "tls", "audit")
RESTORED = "audit/restored.json"  # read by `manage.py setup_installation` at the next start
KEPT_FILES = ("node/credential.json", "node/certificate.json")
PRIVATE = 0o600
_CHUNK = 1 << 20

Progress = Callable[[int, int], None]  # bytes done, bytes in all


class BackupError(RuntimeError):
    """No backup was written, or nothing was restored; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What an archive holds."""

    archive: Path
    version: str
    created: str  # ISO 8601, UTC
    files: int
    blobs: int
    size: int  # bytes of all files


def back_up(
    home: Path, archive: Path, version: str, progress: Progress, blobs: Path | None = None
) -> Summary:
    """Write ``archive`` (mode 0600) from the data folder ``home``, also while Shoal runs on it.

    ``blobs`` is where model files lie, if not in ``home``. A file of the archive's name is
    replaced only by a whole archive. Raises BackupError, OSError.
    """
    if not (home / DATABASE).is_file():
        raise BackupError(
            f"{home / DATABASE} does not exist. Set SHOAL_HOME to the data folder; a database in "
            "PostgreSQL is backed up by pg_dump (docs/operations.md)."
        )
    unfinished = archive.with_name(f".{archive.name}.part")
    with tempfile.TemporaryDirectory(prefix="shoal-backup-", dir=archive.parent) as folder:
        snapshot = Path(folder) / "main.db"
        names = _snapshot(home / DATABASE, snapshot)
        sources = {DATABASE: snapshot, **_private_files(home)}
        sources |= {f"blobs/{sha[:2]}/{sha}": _blob(blobs or home / "blobs", sha) for sha in names}
        try:
            summary = _write(unfinished, archive, sources, version, progress)
            unfinished.replace(archive)
        finally:
            unfinished.unlink(missing_ok=True)
    return summary


def restore(archive: Path, home: Path, progress: Progress) -> Summary:
    """Unpack ``archive`` as the new data folder ``home``, once every byte of it was checked.

    Raises BackupError when ``home`` is in use or the archive is not whole; ``home`` is then as
    it was. Raises OSError.
    """
    if home.exists() and any(home.iterdir()):
        raise BackupError(
            f"{home} is not empty. Move it away first, or set SHOAL_HOME to another folder."
        )
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".shoal-restore-", dir=home.parent) as folder:
        staged = Path(folder) / "home"
        staged.mkdir(mode=0o700)
        summary = _unpack(archive, staged, progress)
        _note(summary, staged)
        if home.exists():
            home.rmdir()
        staged.replace(home)
    return summary


def _note(summary: Summary, staged: Path) -> None:
    """So that the event log tells this restore from somebody's older database."""
    path = staged / RESTORED
    path.parent.mkdir(mode=0o700, exist_ok=True)
    reason = f"backup {summary.archive.name} of {summary.created}"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w") as file:
        json.dump({"reason": reason}, file)


def _snapshot(database: Path, target: Path) -> list[str]:
    """The database at one moment; returns the names of the blobs that it knows."""
    with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as live:
        with closing(sqlite3.connect(target)) as copy:
            live.backup(copy)
            rows = copy.execute("SELECT sha256 FROM registry_blob ORDER BY sha256").fetchall()
    return [str(sha256) for (sha256,) in rows]


def _private_files(home: Path) -> dict[str, Path]:
    found = [path for folder in KEPT_FOLDERS for path in sorted((home / folder).rglob("*"))]
    found += [home / name for name in KEPT_FILES]
    return {path.relative_to(home).as_posix(): path for path in found if path.is_file()}


def _blob(folder: Path, sha256: str) -> Path:
    path = folder / sha256[:2] / sha256
    if not path.is_file():
        raise BackupError(
            f"The blob {sha256} of the database is not at {path}. It may have been collected just "
            "now: try again. If models lie in a bucket (SHOAL_BLOB_URL), copy that with its tools."
        )
    return path


def _write(
    unfinished: Path, archive: Path, sources: dict[str, Path], version: str, progress: Progress
) -> Summary:
    total = sum(path.stat().st_size for path in sources.values())
    created = datetime.now(UTC).isoformat(timespec="seconds")
    entries: list[dict[str, Any]] = []
    done = 0
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE)
    with os.fdopen(descriptor, "wb") as stream, tarfile.open(fileobj=stream, mode="w") as tar:
        for name, path in sources.items():
            with path.open("rb") as source:
                size = os.fstat(source.fileno()).st_size
                hashed = _Hashing(source)
                tar.addfile(_header(name, size), hashed)
            entries.append({"path": name, "size": size, "sha256": hashed.hexdigest})
            _check_blob(name, hashed.hexdigest)
            done += size
            progress(done, total)
        manifest = {"format": FORMAT, "version": version, "created": created, "files": entries}
        text = json.dumps(manifest, indent=1).encode()
        tar.addfile(_header(MANIFEST, len(text)), io.BytesIO(text))
        tar.close()
        stream.flush()
        os.fsync(stream.fileno())
    return _summary(archive, manifest)


def _check_blob(name: str, sha256: str) -> None:
    if name.startswith("blobs/") and not name.endswith(sha256):
        raise BackupError(
            f"{name} has other bytes than its name says: the disk lost some. Register that model "
            "again from its source, then back up."
        )


def _header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mode, header.mtime = size, PRIVATE, int(datetime.now(UTC).timestamp())
    return header


def _unpack(archive: Path, staged: Path, progress: Progress) -> Summary:
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
            hashed = _Hashing(source)
            target = staged / member.name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT, PRIVATE), "wb") as out:
                shutil.copyfileobj(hashed, out, _CHUNK)
            found[member.name] = (target.stat().st_size, hashed.hexdigest)
            progress(member.offset_data + member.size, total)
    _check(archive, manifest, found)
    return _summary(archive, manifest)


def _check(archive: Path, manifest: dict[str, Any], found: dict[str, tuple[int, str]]) -> None:
    if not manifest:
        raise BackupError(f"{archive} ends before its {MANIFEST}: it was cut off.")
    if manifest.get("format") != FORMAT:
        raise BackupError(
            f"{archive} has format {manifest.get('format')!r}, this Shoal reads {FORMAT}: restore "
            f"it with the version that wrote it ({manifest.get('version')})."
        )
    promised = {one["path"]: (one["size"], one["sha256"]) for one in manifest["files"]}
    for name in sorted(promised.keys() | found.keys()):
        if promised.get(name) != found.get(name):
            raise BackupError(f"{archive}: {name} is missing, or not what was backed up.")


def _expected(name: str) -> bool:
    """Whether a member may be written: a name that a backup has, inside the folder."""
    parts = PurePosixPath(name).parts
    known = name in (MANIFEST, DATABASE, *KEPT_FILES) or (
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
        blobs=sum(one["path"].startswith("blobs/") for one in files),
        size=sum(one["size"] for one in files),
    )


class _Hashing(io.RawIOBase):
    """A stream that knows the SHA-256 of what was read from it."""

    def __init__(self, source: IO[bytes]) -> None:
        super().__init__()
        self._source = source
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._hash.update(data)
        return data

    @property
    def hexdigest(self) -> str:
        return self._hash.hexdigest()
