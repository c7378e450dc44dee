"""The newest migrations on PostgreSQL with rows: what they lock, and how they wait themselves."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from tests.chaos.studio import until
from tests.production.calls import CallsCase
from tests.production.containers import Release
from tests.production.installed import THIS
from tests.production.locks import Locks, Reader
from tests.production.previous import before_migrations, release_of
from tests.scale import seeding
from tests.support.postgres import Postgres, own_postgres
from tests.support.reaper import clean_environment

MIGRATIONS = 10  # the newest ones
NODES, ENDPOINTS, REPLICAS = 500, 60, 3
LOCKED_S = 1.0  # what is locked for longer, people feel
# Who reads waits behind a migration that waits for somebody else: a second, then it lets them pass.
WAITED_S = 2.0
TRIES = 2  # until the backup ends
TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"


def python(release: Release, postgres: Postgres, home: Path, *words: str) -> tuple[int, str]:
    """A program of a version on this database: its exit status, and what it said."""
    told = {
        "SHOAL_HOME": str(home),
        "SHOAL_SECRET_KEY": "production-" + "x" * 40,
        "SHOAL_GATEWAY_TOKEN": "production-gateway-token-" + "x" * 20,
        "DJANGO_SETTINGS_MODULE": "controlplane.config.settings",
        "PYTHONPATH": str(release.root),
        **postgres.environment,
    }
    done = subprocess.run(
        ["python", *words],
        env={**clean_environment(), **release.variables, **told},
        executable=release.bin / "python",
        cwd=release.root,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def well(outcome: tuple[int, str]) -> None:
    assert outcome[0] == 0, outcome[1][-3000:]


def test_migrations_and_their_locks(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, case: CallsCase
) -> None:
    """The ten newest migrations on tables with rows, and beside a backup that takes its time."""
    old = release_of(before_migrations(MIGRATIONS), tmp_path_factory.mktemp("before"))
    with own_postgres() as postgres:
        home = tmp_path / "home"
        home.mkdir()
        for database in ("default", "metrics"):
            well(python(old, postgres, home, "manage.py", "migrate", "--database", database))
        well(python(old, postgres, home, "-c", seeding.NODES, str(NODES)))
        well(python(old, postgres, home, "-c", seeding.ROLL_OUT, str(ENDPOINTS), str(REPLICAS)))
        url = postgres.server.get_uri("shoal")
        with (
            psycopg.connect(url) as backup,
            Reader(url, "accounts_user") as reader,
            Locks(url) as locks,
            ThreadPoolExecutor(1) as threads,
        ):
            for (table,) in backup.execute(TABLES).fetchall():  # as pg_dump reads
                backup.execute(SQL("LOCK {} IN ACCESS SHARE MODE").format(Identifier(table)))
            migrating = threads.submit(python, THIS, postgres, home, "manage.py", "migrate")
            until(lambda: locks.tries >= TRIES or migrating.done(), "it tries, and lets pass")
            backup.rollback()
            well(migrating.result())
        with psycopg.connect(url) as connection:
            counts = {
                table: connection.execute(
                    SQL("SELECT count(*) FROM {}").format(Identifier(table))
                ).fetchone()
                for (table,) in connection.execute(TABLES).fetchall()
            }
    rows = sum(row[0] for row in counts.values() if row)
    case.saw(f"from {old.root.name}, {rows} rows")
    case.saw(f"{locks.tries} tries beside a backup, readers waited {reader.longest_s:.1f} s")
    case.saw(f"locked: {locks.told()}")
    assert rows > NODES
    assert locks.longest_s < LOCKED_S
    assert reader.longest_s < WAITED_S
