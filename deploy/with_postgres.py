"""Runs a command with both of Shoal's databases on a PostgreSQL of its own, gone afterwards.

python deploy/with_postgres.py COMMAND...
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pgserver


def main(command: list[str]) -> int:
    # why: ended by a signal as it comes, Python would leave the command and the server behind
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="shoal-postgres-") as folder:
        Path(folder).chmod(0o755)  # under root the server runs as a user of its own
        with pgserver.get_server(folder, cleanup_mode="delete") as server:
            # why: it outlives no power cut, and every emptied table would wait for the disk
            server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
            server.psql("CREATE DATABASE shoal; CREATE DATABASE shoal_metrics;")
            environment = {
                **os.environ,
                "SHOAL_DATABASE_URL": server.get_uri("shoal"),
                "SHOAL_METRICS_DATABASE_URL": server.get_uri("shoal_metrics"),
            }
            return subprocess.run(command, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
