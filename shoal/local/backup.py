"""Backup and restore of one installation: an archive that is whole, or an error that says why not.

It holds the database as one moment saw it, every blob that this database names (blobs are named by
their bytes and never change, so those that are copied after the database fit it), secrets and
certificates. What is made anew at a start (queue, logs, caches, the gateway's files) and the
database of metrics are left out.
"""

import dataclasses
import filecmp
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shoal.local.archive import (
    BLOBS,
    CHUNK,
    DATABASE,
    DUMP,
    KEPT_FILES,
    KEPT_FOLDERS,
    PRIVATE,
    BackupError,
    Progress,
    Readable,
    Source,
    Summary,
    read,
    write,
)
from shoal.local.blob_stores import Blobs, Bucket, Folder
from shoal.local.postgres import Postgres

__all__ = ["BackupError", "Installation", "back_up", "check", "restore"]

RESTORED: Final = "audit/restored.json"  # read by `manage.py setup_installation` at the next start
ANCHORS: Final = "audit/anchors.jsonl"
SECRET_KEY: Final = "secrets/secret_key"  # noqa: S105 - where it lies


@dataclass(frozen=True, slots=True)
class Installation:
    """Where the parts of one lie."""

    home: Path
    database: Path | Postgres
    blobs: Folder | Bucket
    secrets: Mapping[str, str]  # which come from elsewhere than `home`, by their name there
    anchors: Path

    @property
    def in_one_folder(self) -> bool:
        return self.database == self.home / DATABASE and self.blobs == Folder(self.home / "blobs")


def back_up(
    here: Installation, archive: Path, version: str, tell: Progress, *, copy: bool = True
) -> Summary:
    """Write ``archive`` (mode 0600), also while Shoal runs.

    Without ``copy`` the blobs are read and checked where they are, and only named. A file of the
    archive's name is replaced only by a whole archive. Raises BackupError, OSError.
    """
    with tempfile.TemporaryDirectory(prefix="shoal-backup-", dir=archive.parent) as folder:
        dump = Path(folder) / "dump"
        tell("the database", 0, 0)
        if isinstance(here.database, Postgres):
            dumped = here.database.dump(dump)
            name, database, blobs = DUMP, dumped.about, dumped.blobs
        else:
            name, database = DATABASE, {"engine": "sqlite"}
            blobs = _snapshot(here.database, dump)
        kept = {name: dump, **_private_files(here)}
        about: dict[str, Any] = {"version": version, "database": database}
        total = sum(path.stat().st_size for path in kept.values())
        total += sum(len(secret.encode()) for secret in here.secrets.values())
        if copy:
            total += sum(blobs.values())
        else:
            tell("the models", 0, 0)
            here.blobs.check(blobs)
            about |= {"referenced": blobs, "referenced_in": str(here.blobs)}
        sources = _sources(here, kept, blobs if copy else {})
        return write(archive, sources, total, about, tell)


def check(archive: Path, tell: Progress) -> Summary:
    """Read ``archive`` whole. Raises BackupError where a byte of it is not what was backed up."""
    return read(archive, lambda *_: None, tell)


def restore(archive: Path, here: Installation, tell: Progress, *, replace: bool = False) -> Summary:
    """Put ``archive`` in place, once every byte of it was checked.

    Without ``replace`` nothing may be there: an error leaves what is there as it was. With it a
    database is dropped first. Raises BackupError, OSError.
    """
    if here.in_one_folder:
        return _restore_folder(archive, here, tell)
    # Beside what can be renamed into: the home itself may be a mounted volume.
    here.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".shoal-restore-", dir=here.home) as folder:
        staged = Path(folder)
        found = read(archive, lambda *one: _stage(staged, *one), tell)
        targets = _targets(here, staged)
        key = _refuse_other_key(archive, here, staged)
        if not replace:
            _refuse_filled(targets)
        _database_ready(archive, found, here.database, replace=replace)
        _put_blobs(archive, found, _with_key(here.blobs, key), tell, replace=replace)
        tell("the database", 0, 0)
        if isinstance(here.database, Postgres):
            here.database.restore(staged / DUMP, found.database)
        _note(found, staged)
        for source, target in {**targets, staged / RESTORED: here.home / RESTORED}.items():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.move(source, target)
    return found


def _restore_folder(archive: Path, here: Installation, tell: Progress) -> Summary:
    """A data folder with everything in it is made beside its place, and appears whole."""
    home = here.home
    if home.exists() and any(home.iterdir()):
        raise BackupError(
            f"{home} is not empty. Move it away first, or set SHOAL_HOME to another folder."
        )
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".shoal-restore-", dir=home.parent) as folder:
        staged = Path(folder) / "home"
        staged.mkdir(mode=0o700)
        found = read(archive, lambda *one: _stage(staged, *one, blobs=True), tell)
        _database_ready(archive, found, here.database, replace=False)
        if found.referenced:
            raise BackupError(
                f"{archive} leaves its models in {found.referenced_in}: set SHOAL_BLOB_DIR or "
                "SHOAL_BLOB_URL to where they are, or restore an archive that has them."
            )
        _note(found, staged)
        if home.exists():
            home.rmdir()
        staged.replace(home)
    return found


def _stage(staged: Path, name: str, _size: int, source: Readable, *, blobs: bool = False) -> None:
    if name.startswith(BLOBS) and not blobs:
        return
    target = staged / name
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT, PRIVATE), "wb") as out:
        shutil.copyfileobj(source, out, CHUNK)


def _note(summary: Summary, staged: Path) -> None:
    """So that the event log tells this restore from somebody's older database."""
    path = staged / RESTORED
    path.parent.mkdir(mode=0o700, exist_ok=True)
    reason = f"backup {summary.archive.name} of {summary.created}"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w") as file:
        json.dump({"reason": reason}, file)


def _targets(here: Installation, staged: Path) -> dict[Path, Path]:
    """Where the staged files belong, but those that this installation has from elsewhere."""
    found = {}
    for path in sorted(staged.rglob("*")):
        name = path.relative_to(staged).as_posix()
        if not path.is_file() or name in (DUMP, *(f"secrets/{one}" for one in here.secrets)):
            continue
        if name == DATABASE and isinstance(here.database, Path):
            found[path] = here.database
        elif name != ANCHORS:
            found[path] = here.home / name
        elif not (
            here.anchors.is_file() and here.anchors.read_bytes().startswith(path.read_bytes())
        ):
            # why not always: those that are there and go on where the archive's end prove more
            found[path] = here.anchors
    return found


def _refuse_filled(targets: Mapping[Path, Path]) -> None:
    for source, target in targets.items():
        if target.exists() and not filecmp.cmp(source, target, shallow=False):
            raise BackupError(
                f"{target} is there already. Move it away first, or let --replace put that of the "
                "backup in its place."
            )


def _refuse_other_key(archive: Path, here: Installation, staged: Path) -> str:
    file = staged / SECRET_KEY
    if not file.is_file():
        raise BackupError(f"{archive} has no {SECRET_KEY}: nothing that is sealed could be read.")
    key = file.read_text().strip()
    if here.secrets.get("secret_key", key) != key:
        raise BackupError(
            "SHOAL_SECRET_KEY is another than that of the backup, which alone opens what the "
            "database seals. Set it to what this prints, or leave it unset: "
            f"tar -xOf {archive} {SECRET_KEY}"
        )
    return key


def _database_ready(
    archive: Path, found: Summary, database: Path | Postgres, *, replace: bool
) -> None:
    ours = "postgresql" if isinstance(database, Postgres) else "sqlite"
    if found.database["engine"] != ours:
        raise BackupError(
            f"{archive} is of a database of {found.database['engine']}, SHOAL_DATABASE_URL names "
            f"one of {ours}: restore it into the same kind."
        )
    if isinstance(database, Postgres):
        database.ready(found.database, replace=replace)
        return
    # why not it alone: SQLite would write what an older one's log holds over what is restored
    for path in (Path(f"{database}{end}") for end in ("", "-wal", "-shm", "-journal")):
        if path.exists():
            raise BackupError(
                f"{path} is there already. Move {database} and what is beside it away first."
            )


def _put_blobs(
    archive: Path, found: Summary, blobs: Blobs, tell: Progress, *, replace: bool
) -> None:
    if found.referenced:
        tell("the models", 0, 0)
        blobs.check(found.referenced)
        return
    with tarfile.open(archive, "r:") as tar:
        names = {one.name.rpartition("/")[2] for one in tar if one.name.startswith(BLOBS)}
    if not replace and (strangers := blobs.strangers(names)):
        raise BackupError(
            f"{blobs} has {strangers} blobs that the backup does not know. Two installations must "
            "not share one place: name an empty one, or let --replace leave them there."
        )
    with blobs.taking() as take:

        def put(name: str, size: int, source: Readable) -> None:
            if name.startswith(BLOBS):
                take(name.rpartition("/")[2], size, source)

        read(archive, put, tell)


def _with_key(blobs: Folder | Bucket, key: str) -> Blobs:
    """The control plane's settings ask for the keys, which are not in place yet."""
    if isinstance(blobs, Folder):
        return blobs
    keys = {"SHOAL_SECRET_KEY": key, "SHOAL_GATEWAY_TOKEN": key}
    return dataclasses.replace(blobs, environment={**blobs.environment, **keys})


def _sources(
    here: Installation, kept: Mapping[str, Path], blobs: Mapping[str, int]
) -> Iterator[Source]:
    for name, path in kept.items():
        with path.open("rb") as source:
            yield name, os.fstat(source.fileno()).st_size, source
    for name, secret in here.secrets.items():
        data = secret.encode()
        yield f"secrets/{name}", len(data), io.BytesIO(data)
    if blobs:
        yield from here.blobs.export(blobs)


def _snapshot(database: Path, target: Path) -> dict[str, int]:
    """The database at one moment; returns the blobs that it knows, and their sizes."""
    if not database.is_file():
        raise BackupError(
            f"{database} does not exist. Set SHOAL_HOME to the data folder, or SHOAL_DATABASE_URL "
            "to the database in PostgreSQL."
        )
    asked = "SELECT sha256, size FROM registry_blob ORDER BY sha256"
    try:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as live:
            with closing(sqlite3.connect(target)) as copy:
                live.backup(copy)
                rows = copy.execute(asked).fetchall()
    except sqlite3.Error as error:
        said = f"{database} cannot be saved as the database of Shoal: {error}."
        raise BackupError(said) from error
    return {str(sha256): int(size) for sha256, size in rows}


def _private_files(here: Installation) -> dict[str, Path]:
    found = [path for folder in KEPT_FOLDERS for path in sorted((here.home / folder).rglob("*"))]
    found += [here.home / name for name in KEPT_FILES]
    files = {path.relative_to(here.home).as_posix(): path for path in found if path.is_file()}
    if here.anchors.is_file():
        files[ANCHORS] = here.anchors
    elsewhere = {f"secrets/{name}" for name in here.secrets}
    if SECRET_KEY not in files.keys() | elsewhere:
        raise BackupError(
            f"There is no secret key: neither SHOAL_SECRET_KEY nor {here.home / SECRET_KEY}. "
            "Without it nothing that the database seals can be read again."
        )
    return {name: path for name, path in files.items() if name not in elsewhere}
