"""The database goes away: on PostgreSQL, where it is a program of its own."""

from collections.abc import Iterator

import pytest

from tests.chaos.studio import until
from tests.chaos.system import System
from tests.chaos.table import Case
from tests.support.postgres import Postgres, own_postgres


@pytest.fixture
def database() -> Iterator[Postgres]:
    with own_postgres() as found:
        yield found


@pytest.fixture
def on_postgres(database: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    running = System(tmp_path_factory.mktemp("chaos-postgres"), more=database.environment)
    try:
        running.start()
        yield running
    finally:
        running.stop()


def test_the_database_is_lost(on_postgres: System, database: Postgres, case: Case) -> None:
    """Database lost and found (PostgreSQL)."""
    system, studio = on_postgres, on_postgres.studio
    system.endpoint("kept")
    with case.under(system.load("kept")) as load:
        database.kill()
        answer = studio.http.put("/endpoints/kept/traffic", json={"traffic": {"blue": 100}})
        assert answer.status_code == 503, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "DatabaseUnavailable"
        assert int(answer.headers["retry-after"]) > 0
        load.more(100)
        database.start_again()
        system.ready()
        until(lambda: studio.http.get("/endpoints/kept").status_code == 200, "REST answers")
        system.studio.send("PUT", "/endpoints/kept/traffic", {"traffic": {"blue": 100}})
        studio.succeeded(studio.deploy("after", "tiny"))
        load.more(40)
    assert load.lost == 0, load.explain()
    case.saw("REST said 503 with a problem; served on; went on by itself")
