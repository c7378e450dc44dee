"""What the web process asks of PostgreSQL: few connections, and no call that waits for ever."""

import contextlib
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

from tests.support.installation import Installation
from tests.support.postgres import Postgres, own_postgres
from tests.support.runtime_process import wait_until

POOL = 4
# Of a web process: as many of each of its two databases.
BOUND = 2 * POOL
# Waiting for one of the pool, then for an answer, then for the next try; and a slow machine.
FROZEN_S = 15
BOUNDS = {
    "SHOAL_DATABASE_POOL_SIZE": str(POOL),
    "SHOAL_DATABASE_CONNECT_TIMEOUT_S": "2",
    "SHOAL_DATABASE_STATEMENT_TIMEOUT_S": "2",
    "SHOAL_DATABASE_LOCK_TIMEOUT_S": "1",
}
PATHS = ("endpoints", "nodes", "models", "operations", "overview", "system")
OPERATION = """
import django
django.setup()
from datetime import timedelta
from django.utils import timezone
from controlplane.operations.models import Operation
Operation.objects.create(
    id="waited", kind="deploy", state="Running", endpoint="a", deployment="b",
    created_by="test", deadline_at=timezone.now() + timedelta(hours=1),
)
"""

REGISTER = """
import django
django.setup()
from tests.support.registered_models import model_register
model_register("large", content=bytes(64 * 2**20))  # more than buffers on the way hold
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with own_postgres() as found:
        yield found


@pytest.fixture(scope="module")
def on_postgres(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    found = Installation(tmp_path_factory.mktemp("pooled") / "home")
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**postgres.environment, **BOUNDS}.items():
                patch.setenv(name, value)
            found.prepare()
        found.start_web()
        yield found
    finally:
        found.stop()


class Peak:
    """The most connections that the server saw while this is entered."""

    def __init__(self, postgres: Postgres) -> None:
        self.postgres, self.seen, self._ended = postgres, 0, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> "Peak":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.02):
            self.seen = max(self.seen, self.postgres.connections())


def test_many_requests_share_few_connections(on_postgres: Installation, postgres: Postgres) -> None:
    with on_postgres.client() as client, ThreadPoolExecutor(20) as threads:
        with Peak(postgres) as peak:
            asked = (PATHS[number % len(PATHS)] for number in range(500))
            codes = list(threads.map(lambda path: client.get(path).status_code, asked))
    assert codes == [200] * 500
    assert 0 < peak.seen <= BOUND


def test_probes_take_no_connection_of_the_pool(on_postgres: Installation) -> None:
    with on_postgres.client() as client:
        for _ in range(2 * POOL):
            assert httpx.get(f"{on_postgres.url}/readyz", timeout=FROZEN_S).json()["ready"]
        assert {code for code, _ in _outcomes(client, POOL)} == {200}


def test_who_waits_holds_no_connection(on_postgres: Installation, postgres: Postgres) -> None:
    on_postgres.python(OPERATION)
    with on_postgres.client() as client, ThreadPoolExecutor(20) as threads:
        waiting = [
            threads.submit(client.get, "operations/waited", params={"wait": 3})
            for _ in range(3 * POOL)
        ]
        began = time.monotonic()
        while any(not one.done() for one in waiting):
            assert client.get("endpoints").status_code == 200
        assert time.monotonic() - began >= 2  # they did wait
        assert [one.result().status_code for one in waiting] == [200] * len(waiting)


def test_who_downloads_holds_no_connection(on_postgres: Installation) -> None:
    """More downloads than connections that their clients do not read: all others are answered."""
    on_postgres.python(REGISTER)
    with on_postgres.client() as client, contextlib.ExitStack() as open_ones:
        for _ in range(POOL + 1):
            answer = open_ones.enter_context(
                client.stream("GET", "models/large/versions/1/files/large/1/model.onnx")
            )
            assert answer.status_code == 200
        assert client.get("endpoints").status_code == 200


def test_the_agents_port_keeps_no_connection_to_itself(
    on_postgres: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads its certificate at its start; the only connection is then its callers'."""
    monkeypatch.setitem(on_postgres.environment, "SHOAL_DATABASE_POOL_SIZE", "1")
    on_postgres.start_agents()  # until a call that needs a connection is answered
    on_postgres.kill("agents")


def _outcomes(client: httpx.Client, count: int) -> list[tuple[int, float]]:
    """Codes of so many calls at once, and how long each took."""

    def ask(_: int) -> tuple[int, float]:
        began = time.monotonic()
        return client.get("endpoints").status_code, time.monotonic() - began

    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(ask, range(count)))


def test_a_frozen_database_is_told_within_bounds(
    on_postgres: Installation, postgres: Postgres
) -> None:
    with on_postgres.client() as client:
        assert {code for code, _ in _outcomes(client, POOL)} == {200}
        with postgres.frozen():
            began = time.monotonic()
            assert httpx.get(f"{on_postgres.url}/readyz", timeout=FROZEN_S).status_code == 503
            assert time.monotonic() - began < FROZEN_S / 2
            frozen = _outcomes(client, 2 * POOL)
        assert {code for code, _ in frozen} == {503}
        assert max(took for _, took in frozen) < FROZEN_S
        wait_until(lambda: client.get("endpoints").status_code == 200, "the database")


def test_a_lock_that_is_held_too_long_is_told(on_postgres: Installation) -> None:
    url = on_postgres.environment["SHOAL_DATABASE_URL"]
    with on_postgres.client() as client, psycopg.connect(url) as other:
        other.execute("LOCK TABLE deployments_endpoint IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        assert client.get("endpoints").status_code == 503
        assert time.monotonic() - began < FROZEN_S
        other.rollback()
        assert client.get("endpoints").status_code == 200


def test_a_database_that_is_gone_is_told_at_once(
    on_postgres: Installation, postgres: Postgres
) -> None:
    with on_postgres.client() as client:
        postgres.kill()
        try:
            _outcomes(client, 2 * POOL)  # these find the connections of before broken
            gone = _outcomes(client, 2 * POOL)
        finally:
            postgres.start_again()
        assert {code for code, _ in gone} == {503}
        assert max(took for _, took in gone) < 1
        wait_until(lambda: client.get("endpoints").status_code == 200, "the database")


def test_a_migration_lets_others_pass(on_postgres: Installation) -> None:
    """Of a table that somebody uses it waits for a second at a time, and ends once it is free."""
    url = on_postgres.environment["SHOAL_DATABASE_URL"]
    with psycopg.connect(url) as other, ThreadPoolExecutor(1) as threads:
        other.execute("LOCK TABLE django_migrations IN ACCESS EXCLUSIVE MODE")
        migrating = threads.submit(on_postgres.manage, "migrate", "--verbosity", "0")
        wait_until(lambda: _waiting(other), "it waits")
        wait_until(lambda: not _waiting(other), "it lets others pass", timeout_s=2)
        assert not migrating.done()
        other.rollback()
        migrating.result()


def _waiting(connection: psycopg.Connection[tuple[int]]) -> bool:
    row = connection.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
    assert row is not None
    return row[0] > 0
