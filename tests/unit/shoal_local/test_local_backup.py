"""An archive is whole or there is none; what is restored is what was backed up, or nothing is."""

import hashlib
import io
import sqlite3
import stat
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from shoal.local.backup import BackupError, back_up, restore

MODELS = (b"weights of a net", b"weights of another")
SECRET = "never tell"


def ignored(done: int, total: int) -> None:
    assert 0 <= done <= total


def blob(home: Path, content: bytes) -> Path:
    sha256 = hashlib.sha256(content).hexdigest()
    return home / "blobs" / sha256[:2] / sha256


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A data folder with two models, secrets, a certificate, and what a backup leaves out."""
    made = tmp_path / "home"
    files = {
        "secrets/secret_key": SECRET.encode(),
        "tls/ca.pem": b"certificate",
        "node/credential.json": b"{}",
        "node/certificate.json": b"{}",
        "node/cache/x": b"cached",
        "logs/web.log": b"lines",
        "db/metrics.db": b"samples",
        "client.json": b"{}",
    }
    for name, content in files.items():
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_bytes(content)
    with closing(sqlite3.connect(made / "db" / "main.db")) as database, database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE registry_blob (sha256 TEXT)")
        for content in MODELS:
            blob(made, content).parent.mkdir(parents=True, exist_ok=True)
            blob(made, content).write_bytes(content)
            name = hashlib.sha256(content).hexdigest()
            database.execute("INSERT INTO registry_blob VALUES (?)", [name])
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".db"
    }


def test_what_is_restored_is_what_was_backed_up(home: Path, tmp_path: Path) -> None:
    written = back_up(home, tmp_path / "shoal.tar", "1.2.3", ignored)
    assert (written.blobs, written.files, written.version) == (2, 7, "1.2.3")
    assert stat.S_IMODE(written.archive.stat().st_mode) == 0o600
    new = tmp_path / "deep" / "new"
    assert restore(written.archive, new, ignored) == written
    kept = {name: data for name, data in contents(home).items() if _is_kept(name)}
    restored = contents(new)
    note = restored.pop("audit/restored.json")
    assert b"backup shoal.tar of " in note
    assert restored == kept
    assert stat.S_IMODE((new / "audit").stat().st_mode) == 0o700
    assert stat.S_IMODE((new / "secrets" / "secret_key").stat().st_mode) == 0o600
    with closing(sqlite3.connect(new / "db" / "main.db")) as database:
        assert database.execute("SELECT count(*) FROM registry_blob").fetchone() == (2,)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "home", "shoal.tar"]


def _is_kept(name: str) -> bool:
    return name.startswith(("secrets/", "tls/", "blobs/")) or name in (
        "node/credential.json",
        "node/certificate.json",
    )


def test_a_writer_goes_on_while_a_backup_is_made(home: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(home / "db" / "main.db")) as live:
        live.execute("INSERT INTO registry_blob VALUES ('not yet committed')")
        written = back_up(home, tmp_path / "shoal.tar", "1", ignored)
        live.commit()
    assert written.blobs == 2


def lost(home: Path) -> None:
    blob(home, MODELS[0]).unlink()


def changed(home: Path) -> None:
    blob(home, MODELS[0]).write_bytes(b"other bytes than it says")


def elsewhere(home: Path) -> None:
    (home / "db" / "main.db").unlink()


@pytest.mark.parametrize(
    ("hurt", "said"),
    [(lost, "is not at"), (changed, "other bytes than its name"), (elsewhere, "pg_dump")],
)
def test_no_backup_is_better_than_half_of_one(
    hurt: Callable[[Path], None], said: str, home: Path, tmp_path: Path
) -> None:
    hurt(home)
    earlier = tmp_path / "shoal.tar"
    earlier.write_bytes(b"yesterday's")
    with pytest.raises(BackupError, match=said):
        back_up(home, earlier, "1", ignored)
    assert earlier.read_bytes() == b"yesterday's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "shoal.tar"]


def cut(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 3])


def no_manifest(archive: Path) -> None:
    rewritten(archive, lambda name, data: None if name == "MANIFEST.json" else data)


def other_bytes(archive: Path) -> None:
    rewritten(archive, lambda name, data: b"forged" if name.startswith("secrets") else data)


def from_the_future(archive: Path) -> None:
    rewritten(archive, lambda name, data: data.replace(b'"format": 1', b'"format": 2'))


def a_picture(archive: Path) -> None:
    archive.write_bytes(b"\x89PNG" * 1000)


def rewritten(archive: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    with tarfile.open(archive) as tar:
        members = [(one.name, (tar.extractfile(one) or io.BytesIO()).read()) for one in tar]
    with tarfile.open(archive, "w") as tar:
        for name, old in members:
            if (data := change(name, old)) is not None:
                header = tarfile.TarInfo(name)
                header.size = len(data)
                tar.addfile(header, io.BytesIO(data))


@pytest.mark.parametrize(
    ("hurt", "said"),
    [
        (cut, "cut off|missing"),
        (no_manifest, "cut off"),
        (other_bytes, "secrets/secret_key is missing, or not what"),
        (from_the_future, "format 2, this Shoal reads 1"),
        (a_picture, "no backup of Shoal"),
    ],
)
def test_a_hurt_archive_restores_nothing(
    hurt: Callable[[Path], None], said: str, home: Path, tmp_path: Path
) -> None:
    archive = back_up(home, tmp_path / "shoal.tar", "1", ignored).archive
    hurt(archive)
    with pytest.raises(BackupError, match=said):
        restore(archive, tmp_path / "new", ignored)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "shoal.tar"]


@pytest.mark.parametrize("name", ["../escape", "blobs/../../escape", "/etc/passwd", "node/x"])
def test_an_archive_writes_nowhere_else(name: str, tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(BackupError, match="is no backup of Shoal: it holds"):
        restore(archive, tmp_path / "new", ignored)
    assert [path.name for path in tmp_path.iterdir()] == ["evil.tar"]


def test_links_are_refused(tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        link = tarfile.TarInfo("secrets/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(BackupError, match="holds 'secrets/link'"):
        restore(archive, tmp_path / "new", ignored)


def test_a_folder_in_use_is_left_alone(home: Path, tmp_path: Path) -> None:
    archive = back_up(home, tmp_path / "shoal.tar", "1", ignored).archive
    before = contents(home)
    with pytest.raises(BackupError, match="is not empty"):
        restore(archive, home, ignored)
    assert contents(home) == before
