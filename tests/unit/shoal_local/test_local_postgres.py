"""Which of PostgreSQL's programs are taken, and that none of them is told a password openly."""

from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL

import pytest

from shoal.local import postgres
from shoal.local.archive import BackupError
from shoal.local.installed import installation
from shoal.local.postgres import Postgres, _program
from shoal.local.settings import load

PASSWORD = "a:b/c@d?e"
URL = "postgresql://shoal:a%3Ab%2Fc%40d%3Fe@db:5433/shoal?sslmode=require"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Makes a pg_dump that has a version and notes what it was told."""
    monkeypatch.setattr(postgres, "PLACES", (f"{tmp_path}/versions/*/bin",))
    monkeypatch.setenv("PATH", f"{tmp_path}/path:/usr/bin:/bin")
    (tmp_path / "path").mkdir()
    monkeypatch.setattr(
        postgres.shutil,
        "which",
        lambda name: str(path) if (path := tmp_path / "path" / name).exists() else None,
    )

    def make(folder: str, version: str) -> None:
        place = tmp_path / folder
        place.mkdir(parents=True, exist_ok=True)
        script = f"""#!/bin/sh
[ "$1" = --version ] && echo "pg_dump (PostgreSQL) {version} (of somebody)" && exit
echo "$@" > {tmp_path}/told; env > {tmp_path}/environment
echo "pg_dump: error: no such thing" >&2; exit 1
"""
        (place / "pg_dump").write_text(script)
        (place / "pg_dump").chmod(0o755)

    return make


@pytest.mark.parametrize(
    ("there", "least", "taken"),
    [
        ({"path": "16.2"}, 16, "16.2"),
        ({"path": "15.18", "versions/16/bin": "16.2"}, 16, "16.2"),
        ({"path": "18.0", "versions/16/bin": "16.2", "versions/17/bin": "17.1"}, 16, "16.2"),
        ({"path": "16.2"}, 15, "16.2"),
        ({"path": "18.0"}, 18, "18.0"),
    ],
)
def test_the_oldest_that_is_new_enough(
    programs: Callable[[str, str], None], there: dict[str, str], least: int, taken: str
) -> None:
    for folder, version in there.items():
        programs(folder, version)
    assert _program("pg_dump", least, least, "PostgreSQL")[1] == taken


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ({}, "PostgreSQL 16.2 needs pg_dump of version 16; there is none here"),
        ({"path": "17.1", "versions/18/bin": "18.0"}, r"path/pg_dump is 17.1, .*pg_dump is 18.0"),
        ({"path": "15.18"}, r"path/pg_dump is 15.18. Install postgresql-client-16 \(Debian"),
    ],
)
def test_what_is_missing_is_named(
    programs: Callable[[str, str], None], there: dict[str, str], said: str
) -> None:
    for folder, version in there.items():
        programs(folder, version)
    with pytest.raises(BackupError, match=said):
        _program("pg_dump", 16, 16, "PostgreSQL 16.2")


def test_a_password_is_in_no_command_and_no_text(
    programs: Callable[[str, str], None], tmp_path: Path
) -> None:
    programs("path", "16.2")
    database = Postgres(URL, {"PATH": "/usr/bin:/bin"})
    program = tmp_path / "path" / "pg_dump"
    with (
        pytest.raises(BackupError) as failed,
        database._started(program, "--format=custom", stdin=DEVNULL, stdout=DEVNULL),
    ):
        pass
    assert str(failed.value) == (
        "pg_dump failed at the database shoal at db:\npg_dump: error: no such thing"
    )
    assert (tmp_path / "told").read_text() == "--no-password --format=custom\n"
    environment = (tmp_path / "environment").read_text().splitlines()
    assert {
        f"PGPASSWORD={PASSWORD}", "PGHOST=db", "PGPORT=5433", "PGSSLMODE=require", "PGUSER=shoal",
    } <= set(environment)  # fmt: skip


def test_a_url_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(BackupError, match="SHOAL_DATABASE_URL cannot be read") as failed:
        Postgres("postgresql://shoal:secret%zz@db/shoal", {})
    assert "secret" not in str(failed.value)
    assert failed.value.__suppress_context__


@pytest.mark.parametrize(
    ("variables", "database", "blobs"),
    [
        ({}, "{home}/db/main.db", "the folder {home}/blobs"),
        ({"SHOAL_DATABASE_URL": "sqlite:////a%20b/c.db"}, "/a b/c.db", "the folder {home}/blobs"),
        ({"SHOAL_DATABASE_URL": URL}, "the database shoal at db", "the folder {home}/blobs"),
        ({"SHOAL_BLOB_DIR": "/models"}, "{home}/db/main.db", "the folder /models"),
        (
            {"SHOAL_BLOB_URL": "s3://models/a?endpoint=http://me:secret@minio:9000"},
            "{home}/db/main.db",
            "s3://models/a",
        ),
    ],
)
def test_what_the_environment_says(
    variables: dict[str, str],
    database: str,
    blobs: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("SHOAL_DATABASE_URL", "SHOAL_SECRET_KEY", "SHOAL_GATEWAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "token").write_text("of gateways\n")
    monkeypatch.setenv("SHOAL_GATEWAY_TOKEN_FILE", str(tmp_path / "token"))
    monkeypatch.setenv("SHOAL_HOME", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    found = installation(load())
    assert str(found.database) == database.format(home=tmp_path)
    assert str(found.blobs) == blobs.format(home=tmp_path)
    assert found.secrets == {"gateway_token": "of gateways"}
    assert found.in_one_folder == (not variables)


def test_another_kind_of_database_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_DATABASE_URL", "mysql://me:secret@db/shoal")
    with pytest.raises(BackupError, match="SHOAL_DATABASE_URL begins with mysql: expected"):
        installation(load())
