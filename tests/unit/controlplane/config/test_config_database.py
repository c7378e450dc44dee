"""A database's URL and bounds as Django gets them; a connection that says nothing is given up."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from psycopg import errors, waiting

from controlplane.config import env, postgres

URL = "SHOAL_DATABASE_URL"
BOUNDS = postgres.Bounds(pool_size=3, connect_s=1, statement_s=20, lock_s=4)


def test_postgresql_has_a_pool_and_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, "postgresql://shoal:a%40b@db:5433/shoal")
    found = env.database(URL, "")
    assert "CONN_MAX_AGE" not in found  # a pool wants none
    assert (found["HOST"], found["PORT"], found["PASSWORD"]) == ("db", "5433", "a@b")
    options = found["OPTIONS"]
    assert options["options"] == "-c statement_timeout=30000 -c lock_timeout=10000"
    assert (options["connect_timeout"], options["tcp_user_timeout"]) == ("5", "60000")
    assert (options["pool"]["max_size"], options["pool"]["timeout"]) == (10, 5)


def test_what_the_url_says_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    query = "host=/run/pg&connect_timeout=9&options=-c%20lock_timeout%3D1&sslmode=require"
    monkeypatch.setenv(URL, f"postgresql://shoal@/shoal?{query}")
    found = env.database(URL, "")
    options = found["OPTIONS"]
    assert (found["HOST"], options["connect_timeout"], options["sslmode"]) == (
        "/run/pg", "9", "require",
    )  # fmt: skip
    # the last one counts
    assert options["options"].endswith("lock_timeout=10000 -c lock_timeout=1")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SHOAL_DATABASE_POOL_SIZE", "0"),
        ("SHOAL_DATABASE_CONNECT_TIMEOUT_S", "0"),
        ("SHOAL_DATABASE_STATEMENT_TIMEOUT_S", "-1"),
        ("SHOAL_DATABASE_LOCK_TIMEOUT_S", "soon"),
    ],
)
def test_a_bound_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(URL, "postgresql://shoal@db/shoal")
    monkeypatch.setenv(variable, value)
    with pytest.raises(ImproperlyConfigured, match=f"{variable}='{value}'"):
        env.database(URL, "")


@pytest.mark.parametrize(("statement_s", "patience_s"), [(20, 22.0), (0, None)])
def test_who_waits_is_a_little_more_patient_than_postgresql(
    statement_s: int, patience_s: float | None
) -> None:
    bounds = postgres.Bounds(pool_size=1, connect_s=3, statement_s=statement_s, lock_s=0)
    kind = postgres.impatient(bounds)
    assert (kind.answer_s, kind.check_s) == (patience_s, 3.0)


class Finished:
    """libpq's connection, as far as giving it up needs one."""

    socket = 0
    finished = False
    transaction_status = 0

    def finish(self) -> None:
        self.finished = True


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, list[float | None]]]:
    """A connection whose server never says anything, and for how long each call waits."""
    waits: list[float | None] = []

    def wait(*_: Any, timeout: float | None = None, **__: Any) -> None:
        waits.append(timeout)
        raise errors._WaitTimeout

    monkeypatch.setattr(waiting, "wait", wait)
    kind = postgres.impatient(BOUNDS)
    connection = kind.__new__(kind)
    connection.pgconn = Finished()
    yield connection, waits
    connection.pgconn = None


def test_silence_ends_the_connection(silent: tuple[Any, list[float | None]]) -> None:
    connection, waits = silent
    with pytest.raises(errors.OperationalError, match="no answer within 22 s"):
        connection.wait(iter(()))
    assert waits == [22.0]
    assert connection.pgconn.finished


class Tries:
    """Of a migration: what each raises; and a clock that only pauses move."""

    def __init__(self, *outcomes: Exception | None) -> None:
        self.left, self.now, self.told = list(outcomes), 0.0, list[str]()

    def step(self) -> None:
        if (outcome := self.left.pop(0)) is not None:
            raise outcome

    def pause(self, seconds: float) -> None:
        self.now += seconds

    def run(self) -> None:
        postgres.patiently(self.step, self.told.append, clock=lambda: self.now, sleep=self.pause)


def in_use() -> OperationalError:
    error = OperationalError("canceling statement due to lock timeout")
    error.__cause__ = errors.LockNotAvailable()
    return error


def test_a_migration_that_finds_a_table_in_use_is_tried_again() -> None:
    tries = Tries(in_use(), in_use(), None)
    tries.run()
    assert (tries.left, tries.now) == ([], 2 * postgres.MIGRATION_PAUSE_S)
    assert [text.partition(";")[0] for text in tries.told] == [
        "Another transaction uses a table that is to change"
    ] * 2


def test_a_migration_is_not_tried_for_ever() -> None:
    tries = Tries(*(in_use() for _ in range(1000)))
    with pytest.raises(OperationalError, match="lock timeout"):
        tries.run()
    assert tries.now <= postgres.MIGRATION_PATIENCE_S < tries.now + postgres.MIGRATION_PAUSE_S


def test_a_migration_that_fails_otherwise_fails_at_once() -> None:
    tries = Tries(OperationalError("the server closed the connection"), None)
    with pytest.raises(OperationalError, match="closed"):
        tries.run()
    assert len(tries.left) == 1


def test_a_url_that_names_no_known_database_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SHOAL_DATABASE_URL", "postgresql+psycopg://shoal:swordfish@db/shoal")
    with pytest.raises(ImproperlyConfigured, match=r"begins with 'postgresql\+psycopg'") as refused:
        env.database("SHOAL_DATABASE_URL", "")
    assert "swordfish" not in str(refused.value)
