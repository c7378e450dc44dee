"""``deploy/with_postgres.py`` ends what it started, also when it is told to end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.runtime_process import wait_until

SCRIPT = Path(__file__).parents[3] / "deploy" / "with_postgres.py"
SERVER = """
import pathlib
class get_server:
    def __init__(self, folder, cleanup_mode): self.at = pathlib.Path("server")
    def __enter__(self): self.at.touch(); return self
    def __exit__(self, *_): self.at.unlink()
    def psql(self, text): pass
    def get_uri(self, name): return f"postgresql:///{name}"
"""
COMMAND = """
import os, pathlib, time
pathlib.Path("command").write_text(f"{os.getpid()} {os.environ['SHOAL_DATABASE_URL']}")
time.sleep(60)
"""


def test_told_to_end_it_ends_its_command_and_its_server(tmp_path: Path) -> None:
    (tmp_path / "pgserver.py").write_text(SERVER)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    begun = subprocess.Popen(
        [sys.executable, str(SCRIPT), sys.executable, "-c", COMMAND], cwd=tmp_path, env=environment
    )
    said = tmp_path / "command"
    wait_until(lambda: said.exists() and said.read_text() != "", "the command")
    pid, url = said.read_text().split()
    assert (url, (tmp_path / "server").exists()) == ("postgresql:///shoal", True)
    begun.terminate()
    assert begun.wait(20) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{pid}").exists()
    assert not (tmp_path / "server").exists()
