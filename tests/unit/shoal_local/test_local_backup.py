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

from shoal.local.archive import DATABASE, Summary
from shoal.local.backup import ANCHORS, BackupError, Installation, back_up, check
from shoal.local.backup import restore as put_back
from shoal.local.blob_stores import Folder

MODELS = (b"weights of a net", b"weights of another")
SECRET = "never tell"


def ignored(step: str, done: int, total: int) -> None:
    assert step
    assert 0 <= done <= max(total, 0)


def at(home: Path, **other: object) -> Installation:
    parts = {
        "database": home / DATABASE, "blobs": Folder(home / "blobs"), "secrets": {},
        "anchors": home / ANCHORS, **other,
    }  # fmt: skip
    return Installation(home, **parts)  # type: ignore[arg-type]


def backed_up(home: Path, archive: Path, *, copy: bool = True) -> Summary:
    return back_up(at(home), archive, "1.2.3", ignored, copy=copy)


def restore(archive: Path, home: Path) -> Summary:
    return put_back(archive, at(home), ignored)


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
        database.execute("CREATE TABLE registry_blob (sha256 TEXT, size INTEGER)")
        for content in MODELS:
            blob(made, content).parent.mkdir(parents=True, exist_ok=True)
            blob(made, content).write_bytes(content)
            name = hashlib.sha256(content).hexdigest()
            database.execute("INSERT INTO registry_blob VALUES (?, ?)", [name, len(content)])
    return made


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".db"
    }


def test_what_is_restored_is_what_was_backed_up(home: Path, tmp_path: Path) -> None:
    written = backed_up(home, tmp_path / "shoal.tar")
    assert (written.blobs, written.files, written.version) == (2, 7, "1.2.3")
    assert stat.S_IMODE(written.archive.stat().st_mode) == 0o600
    new = tmp_path / "deep" / "new"
    assert restore(written.archive, new) == written
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


@pytest.mark.parametrize("content", [b"", b"no database at all, but long enough" * 100])
def test_another_file_than_the_database_is_refused(
    content: bytes, home: Path, tmp_path: Path
) -> None:
    (home / DATABASE).write_bytes(content)
    with pytest.raises(BackupError, match=r"main\.db cannot be saved as the database of Shoal: "):
        backed_up(home, tmp_path / "shoal.tar")
    assert not (tmp_path / "shoal.tar").exists()


def test_a_writer_goes_on_while_a_backup_is_made(home: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(home / "db" / "main.db")) as live:
        live.execute("INSERT INTO registry_blob VALUES ('not yet committed', 1)")
        written = backed_up(home, tmp_path / "shoal.tar")
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
    [(lost, "is not at"), (changed, "other bytes than its name"), (elsewhere, "in PostgreSQL")],
)
def test_no_backup_is_better_than_half_of_one(
    hurt: Callable[[Path], None], said: str, home: Path, tmp_path: Path
) -> None:
    hurt(home)
    earlier = tmp_path / "shoal.tar"
    earlier.write_bytes(b"yesterday's")
    with pytest.raises(BackupError, match=said):
        backed_up(home, earlier)
    assert earlier.read_bytes() == b"yesterday's"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "shoal.tar"]


def cut(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[: archive.stat().st_size // 3])


def no_manifest(archive: Path) -> None:
    rewritten(archive, lambda name, data: None if name == "MANIFEST.json" else data)


def other_bytes(archive: Path) -> None:
    rewritten(archive, lambda name, data: b"forged" if name.startswith("secrets") else data)


def from_the_future(archive: Path) -> None:
    rewritten(archive, lambda name, data: data.replace(b'"format": 2', b'"format": 3'))


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
        (from_the_future, "format 3, this Shoal reads 1 and 2"),
        (a_picture, "no backup of Shoal"),
    ],
)
def test_a_hurt_archive_restores_nothing(
    hurt: Callable[[Path], None], said: str, home: Path, tmp_path: Path
) -> None:
    archive = backed_up(home, tmp_path / "shoal.tar").archive
    hurt(archive)
    with pytest.raises(BackupError, match=said):
        restore(archive, tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "shoal.tar"]


@pytest.mark.parametrize("name", ["../escape", "blobs/../../escape", "/etc/passwd", "node/x"])
def test_an_archive_writes_nowhere_else(name: str, tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        tar.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(BackupError, match="is no backup of Shoal: it holds"):
        restore(archive, tmp_path / "new")
    assert [path.name for path in tmp_path.iterdir()] == ["evil.tar"]


def test_links_are_refused(tmp_path: Path) -> None:
    archive = tmp_path / "evil.tar"
    with tarfile.open(archive, "w") as tar:
        link = tarfile.TarInfo("secrets/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    with pytest.raises(BackupError, match="holds 'secrets/link'"):
        restore(archive, tmp_path / "new")


def test_a_folder_in_use_is_left_alone(home: Path, tmp_path: Path) -> None:
    archive = backed_up(home, tmp_path / "shoal.tar").archive
    before = contents(home)
    with pytest.raises(BackupError, match="is not empty"):
        restore(archive, home)
    assert contents(home) == before


def test_models_may_stay_where_they_lie(home: Path, tmp_path: Path) -> None:
    written = backed_up(home, tmp_path / "shoal.tar", copy=False)
    assert (written.blobs, len(written.referenced)) == (0, 2)
    assert written.referenced_in == f"the folder {home / 'blobs'}"
    assert check(written.archive, ignored) == written
    with pytest.raises(BackupError, match=f"leaves its models in the folder {home}"):
        restore(written.archive, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    beside = at(tmp_path / "new", blobs=Folder(home / "blobs"))
    assert put_back(written.archive, beside, ignored) == written
    assert (tmp_path / "new" / DATABASE).is_file()


def test_what_stays_is_read_all_the_same(home: Path, tmp_path: Path) -> None:
    changed(home)
    with pytest.raises(BackupError, match="other bytes than its name"):
        backed_up(home, tmp_path / "shoal.tar", copy=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home"]


def test_check_finds_what_restore_would_refuse(home: Path, tmp_path: Path) -> None:
    archive = backed_up(home, tmp_path / "shoal.tar").archive
    other_bytes(archive)
    with pytest.raises(BackupError, match="secrets/secret_key is missing, or not what"):
        check(archive, ignored)


def test_secrets_of_the_environment_are_kept_and_come_back(home: Path, tmp_path: Path) -> None:
    (home / "secrets" / "secret_key").unlink()
    with pytest.raises(BackupError, match="There is no secret key"):
        backed_up(home, tmp_path / "shoal.tar")
    told = at(home, secrets={"secret_key": SECRET})
    archive = back_up(told, tmp_path / "shoal.tar", "1", ignored).archive
    restore(archive, tmp_path / "new")
    assert (tmp_path / "new" / "secrets" / "secret_key").read_text() == SECRET


def elsewhere_at(folder: Path, **other: object) -> Installation:
    """An installation whose parts do not lie in one folder, as in a cluster."""
    parts = {"database": folder / "main.db", "blobs": Folder(folder / "models"), **other}
    return at(folder / "home", **parts)


def test_parts_that_lie_apart_come_back_apart(home: Path, tmp_path: Path) -> None:
    archive = backed_up(home, tmp_path / "shoal.tar").archive
    there = elsewhere_at(tmp_path / "new", secrets={"secret_key": SECRET})
    put_back(archive, there, ignored)
    new = tmp_path / "new"
    assert sorted(path.name for path in new.iterdir()) == ["home", "main.db", "models"]
    assert sorted(contents(new / "models").values()) == sorted(MODELS)
    # what the environment says is not written beside it
    assert sorted(contents(new / "home")) == [
        "audit/restored.json", "node/certificate.json", "node/credential.json", "tls/ca.pem",
    ]  # fmt: skip


def other_key(there: Path) -> Installation:
    return elsewhere_at(there, secrets={"secret_key": "another"})


def with_database(there: Path) -> Installation:
    (there / "main.db").write_bytes(b"somebody's")
    return elsewhere_at(there)


def with_half_of_a_database(there: Path) -> Installation:
    """SQLite would write what it holds over the one that is restored."""
    (there / "main.db-wal").write_bytes(b"somebody's")
    return elsewhere_at(there)


def with_models(there: Path) -> Installation:
    (there / "models" / "ab").mkdir(parents=True)
    (there / "models" / "ab" / "abcd").write_bytes(b"somebody's")
    return elsewhere_at(there)


def with_certificate(there: Path) -> Installation:
    (there / "home" / "tls").mkdir(parents=True)
    (there / "home" / "tls" / "ca.pem").write_bytes(b"somebody's")
    return elsewhere_at(there)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (other_key, "SHOAL_SECRET_KEY is another than that of the backup"),
        (with_database, "main.db is there already"),
        (with_half_of_a_database, "main.db-wal is there already"),
        (with_models, "has 1 blobs that the backup does not know"),
        (with_certificate, "ca.pem is there already"),
    ],
)
def test_what_is_there_is_left_alone(
    found: Callable[[Path], Installation], said: str, home: Path, tmp_path: Path
) -> None:
    archive = backed_up(home, tmp_path / "shoal.tar").archive
    there = tmp_path / "there"
    there.mkdir()
    installation = found(there)
    before = contents(there)
    with pytest.raises(BackupError, match=said):
        put_back(archive, installation, ignored)
    assert contents(there) == before


def test_later_anchors_stay_and_earlier_ones_do_not(home: Path, tmp_path: Path) -> None:
    apart = tmp_path / "apart.jsonl"
    apart.write_text("one\n")
    archive = back_up(at(home, anchors=apart), tmp_path / "shoal.tar", "1", ignored).archive
    apart.write_text("one\ntwo\n")
    put_back(archive, elsewhere_at(tmp_path / "new", anchors=apart), ignored)
    assert apart.read_text() == "one\ntwo\n"
    apart.write_text("of another\n")
    again = elsewhere_at(tmp_path / "again", anchors=apart)
    with pytest.raises(BackupError, match=r"apart.jsonl is there already"):
        put_back(archive, again, ignored)
    put_back(archive, again, ignored, replace=True)
    assert apart.read_text() == "one\n"
