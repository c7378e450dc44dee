"""`shoal init` and `shoal dev`, as somebody uses them who writes a model."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shoal.cli.init import KINDS
from shoal.dev import DEBUG_PORT
from shoal.scaffold.project import create
from tests.support.debug_adapter import DebugClient
from tests.support.runtime_process import wait_until

SHOAL = [sys.executable, "-m", "shoal"]
ANY_PORTS = ["--port", "0", "--grpc-port", "0", "--metrics-port", "0"]


def test_the_tests_of_new_projects_pass(tmp_path: Path) -> None:
    for kind in KINDS:
        create(tmp_path / kind, f"my-{kind}", kind)
    (tmp_path / "pytest.ini").touch()
    command = [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-p", "no:randomly"]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={k: v for k, v in os.environ.items() if k != "PYTEST_ADDOPTS"},  # this run's own
    )  # fmt: skip
    assert f"{2 * len(KINDS)} passed" in done.stdout, done.stdout + done.stderr


class Dev:
    """`shoal dev` and what it has printed so far."""

    def __init__(self, path: Path, log: Path, *flags: str) -> None:
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [*SHOAL, "dev", str(path), *ANY_PORTS, *flags],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )
        self._log = log

    @property
    def printed(self) -> str:
        return self._log.read_text()

    def prints(self, what: str, times: int = 1) -> None:
        wait_until(
            lambda: self.printed.count(what) >= times or self.process.poll() is not None,
            f"{what!r} in what shoal dev prints",
        )
        assert self.printed.count(what) >= times, self.printed


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    create(tmp_path / "project", "mine", "python")
    found = Dev(tmp_path / "project", tmp_path / "printed")
    yield found
    found.process.kill()
    found.process.wait()


def test_changes_are_served_and_requests_told(dev: Dev, tmp_path: Path) -> None:
    source = tmp_path / "project" / "models" / "mine" / "1" / "model.py"
    text = source.read_text()
    dev.prints("mine is served:")
    dev.prints("curl -d")
    [(body, url)] = re.findall(r"curl -d '(.*)' (\S+)", dev.printed)

    def answer() -> bytes:
        found: bytes = urllib.request.urlopen(url, body.encode(), timeout=30).read()
        return found

    assert b'"data":[0.0,0.0,0.0]' in answer()
    dev.prints("mine:1  HTTP  OK  1 row")

    source.write_text(text.replace("x @ self.weights", "x @ self.weights + 1 +"))
    dev.prints("failed to load 'mine' version 1")
    assert b'"data":[0.0,0.0,0.0]' in answer()  # the one before serves on

    source.write_text(text.replace("x @ self.weights", "x @ self.weights + 1"))
    dev.prints("successfully loaded 'mine'", times=2)
    assert b'"data":[1.0,1.0,1.0]' in answer()
    assert dev.printed.count("failed to load") == 1  # though it was tried each second

    dev.process.send_signal(signal.SIGINT)
    assert dev.process.wait(30) == 0
    assert "Stopping.\n" in dev.printed


def test_a_server_ends_with_its_shoal_dev(dev: Dev) -> None:
    dev.prints("mine is served:")
    port = int(re.findall(r"http://127.0.0.1:(\d+)", dev.printed)[0])
    dev.process.kill()

    def gone() -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/live", timeout=5).close()
        except OSError:
            return True
        return False

    wait_until(gone, "the end of the server")


def test_a_debugger_stops_in_model_py_also_after_a_change(tmp_path: Path) -> None:
    create(tmp_path / "project", "mine", "python")
    source = tmp_path / "project" / "models" / "mine" / "1" / "model.py"
    launch = json.loads((tmp_path / "project" / ".vscode" / "launch.json").read_text())
    assert launch["configurations"][0]["connect"]["port"] == DEBUG_PORT
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    dev = Dev(tmp_path / "project", tmp_path / "printed", "--debug", "--debug-port", str(port))
    try:
        for times in (1, 2):
            dev.prints(f"a debugger may attach at 127.0.0.1:{port}", times)
            dev.prints("curl -d")
            [(body, url)] = re.findall(r"curl -d '(.*)' (\S+)", dev.printed)
            line = 1 + source.read_text().splitlines().index("            y = x @ self.weights")
            with DebugClient(port) as debugger, ThreadPoolExecutor(1) as pool:
                debugger.attach(source, line)
                asked = pool.submit(urllib.request.urlopen, url, body.encode(), 30)
                frame = debugger.stopped()
                assert (frame["name"], frame["line"]) == ("execute", line)
                assert frame["source"]["path"] == str(source)
                assert "0., 0., 0., 0." in frame["variables"]["x"]
                debugger.go_on(frame["thread"])
                assert b'"data":[0.0,0.0,0.0]' in asked.result().read()
            source.write_text(source.read_text() + "# changed\n")
    finally:
        dev.process.kill()
        dev.process.wait()
