"""A PostgreSQL of one's own, for tests that hurt it or count what it sees."""

import contextlib
import os
import signal
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own dependencies, at import
    import pgserver

PROGRAMS = Path(pgserver.__file__).parent / "pginstall" / "bin"  # pg_ctl, pg_dump, …
COUNT = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)


@dataclass(frozen=True)
class Postgres:
    server: Any

    @property
    def environment(self) -> dict[str, str]:
        """What tells the control plane to use it."""
        return {
            "SHOAL_DATABASE_URL": self.server.get_uri("shoal"),
            "SHOAL_METRICS_DATABASE_URL": self.server.get_uri("shoal_metrics"),
        }

    def family(self) -> list[psutil.Process]:
        """Its processes, of which the postmaster is the last."""
        lines = (Path(str(self.server.pgdata)) / "postmaster.pid").read_text().splitlines()
        postmaster = psutil.Process(int(lines[0]))
        return [*postmaster.children(recursive=True), postmaster]

    def kill(self) -> None:
        family = self.family()
        for process in family:
            with contextlib.suppress(psutil.NoSuchProcess):  # the first takes some along
                process.kill()
        psutil.wait_procs(family, timeout=20)

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """It takes connections meanwhile, for the kernel does that, and says nothing."""
        family = self.family()
        for process in reversed(family):
            process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            for process in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(signal.SIGCONT)

    def start_again(self) -> None:
        folder = Path(str(self.server.pgdata))
        (folder / "postmaster.pid").unlink(missing_ok=True)
        command = [
            str(PROGRAMS / "pg_ctl"),
            "-D",
            str(folder),
            "-w",
            "-o",
            f"-h '' -k {folder}",
            "start",
        ]
        with (folder / "again.log").open("ab") as output:
            subprocess.run(
                command,
                check=True,
                stdout=output,
                stderr=output,
                timeout=60,
                user=folder.stat().st_uid if os.geteuid() == 0 else None,
            )

    def connections(self) -> int:
        """Of clients, but the one that asks."""
        with psycopg.connect(self.server.get_uri("postgres")) as connection:
            row = connection.execute(COUNT).fetchone()
        assert row is not None
        return int(row[0])


@contextlib.contextmanager
def own_postgres() -> Iterator[Postgres]:
    # why not one of pytest's: under root the server runs as a user of its own, and each session of
    # pytest closes the folder of all of them to other users
    with tempfile.TemporaryDirectory(prefix="shoal-postgres-") as folder:
        Path(folder).chmod(0o755)
        server = pgserver.get_server(folder, cleanup_mode="stop")
        try:
            server.psql("CREATE DATABASE shoal; CREATE DATABASE shoal_metrics;")
            yield Postgres(server)
        finally:
            server.cleanup()
