"""The database goes away: on PostgreSQL, where it is a program of its own."""

import contextlib
import os
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.chaos.studio import until
from tests.chaos.system import System
from tests.chaos.table import Case

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies, at import
    import pgserver


@pytest.fixture
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("postgres")
    for path in (folder, *folder.parents[:2]):
        Path(path).chmod(0o755)  # under root the server runs as a user of its own
    server = pgserver.get_server(folder, cleanup_mode="stop")
    server.psql("CREATE DATABASE shoal; CREATE DATABASE shoal_metrics;")
    yield server
    server.cleanup()


@pytest.fixture
def on_postgres(database: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    running = System(
        tmp_path_factory.mktemp("chaos-postgres"),
        more={
            "SHOAL_DATABASE_URL": database.get_uri("shoal"),
            "SHOAL_METRICS_DATABASE_URL": database.get_uri("shoal_metrics"),
        },
    )
    try:
        running.start()
        yield running
    finally:
        running.stop()


def test_the_database_is_lost(on_postgres: System, database: Any, case: Case) -> None:
    """Database lost and found (PostgreSQL)."""
    system, studio = on_postgres, on_postgres.studio
    system.endpoint("kept")
    pid = int((Path(str(database.pgdata)) / "postmaster.pid").read_text().splitlines()[0])
    family = [*psutil.Process(pid).children(recursive=True), psutil.Process(pid)]
    with case.under(system.load("kept")) as load:
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):  # the first takes some along
                process.kill()
        psutil.wait_procs(family, timeout=20)
        answer = studio.http.put("/endpoints/kept/traffic", json={"traffic": {"blue": 100}})
        assert answer.status_code == 503, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == "DatabaseUnavailable"
        assert int(answer.headers["retry-after"]) > 0
        load.more(100)
        _start_again(database)
        system.ready()
        until(lambda: studio.http.get("/endpoints/kept").status_code == 200, "REST answers")
        system.studio.send("PUT", "/endpoints/kept/traffic", {"traffic": {"blue": 100}})
        studio.succeeded(studio.deploy("after", "tiny"))
        load.more(40)
    assert load.lost == 0, load.explain()
    case.saw("REST said 503 with a problem; served on; went on by itself")


def _start_again(database: Any) -> None:
    folder = Path(str(database.pgdata))
    (folder / "postmaster.pid").unlink(missing_ok=True)
    binary = Path(pgserver.__file__).parent / "pginstall" / "bin" / "pg_ctl"
    command = [str(binary), "-D", str(folder), "-w", "-o", f"-h '' -k {folder}", "start"]
    log = folder / "chaos.log"
    with log.open("ab") as output:
        subprocess.run(
            command,
            check=True,
            stdout=output,
            stderr=output,
            timeout=60,
            user=folder.stat().st_uid if os.geteuid() == 0 else None,
        )
