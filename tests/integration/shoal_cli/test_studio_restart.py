"""The installed command over real sockets: the studio goes away in the middle of an upload."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.quiet_handler import QuietHandler
from tests.support.shoal_server import TOKEN, FakeServer

OUTAGE_S = 0.7
DEADLINE_S = 60


class Studio:
    """The fake API on a real port; ``crash_on_patch`` counts down to a crash and a restart."""

    def __init__(self) -> None:
        self.api = FakeServer(chunk_bytes=100_000)
        self.lock = threading.Lock()
        self.crash_on_patch = 0
        self.crashes = 0
        self.connections: set[socket.socket] = set()
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"studio": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def crash(self) -> None:
        self.crashes += 1
        self.server.shutdown()
        self.server.server_close()
        for connection in list(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(QuietHandler):
    protocol_version = "HTTP/1.1"
    studio: Studio

    def handle_one_request(self) -> None:
        self.studio.connections.add(self.connection)
        with contextlib.suppress(OSError):
            super().handle_one_request()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _answer(self) -> None:
        studio = self.studio
        length = int(self.headers.get("Content-Length") or 0)
        if self.command == "PATCH" and studio.crash_on_patch:
            studio.crash_on_patch -= 1
            if studio.crash_on_patch == 0:
                self.rfile.read(length // 2)
                studio.crash()
                threading.Timer(OUTAGE_S, studio.start).start()
                return
        body = self.rfile.read(length)
        with studio.lock:
            answer = studio.api(
                httpx.Request(
                    self.command, f"{studio.url}{self.path}",
                    headers=list(self.headers.items()), content=body,
                )
            )  # fmt: skip
        content = b"" if self.command == "HEAD" else answer.content
        self.send_response(answer.status_code)
        for name, value in answer.headers.items():
            if name.lower() != "content-length":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def studio() -> Iterator[Studio]:
    studio = Studio()
    yield studio
    studio.stop()


def shoal(studio: Studio, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {
        **os.environ, "SHOAL_URL": studio.url, "SHOAL_TOKEN": TOKEN, "XDG_CONFIG_HOME": str(home),
    }  # fmt: skip
    environ.pop("SHOAL_HOME", None)
    return subprocess.run(
        [sys.executable, "-m", "shoal", *words],
        env=environ, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip


def test_a_deployment_survives_a_restart_in_the_middle_of_its_upload(
    studio: Studio, tmp_path: Path
) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(os.urandom(1_000_000))
    studio.crash_on_patch = 4
    done = shoal(studio, tmp_path, "deploy", str(file), "--name", "net", "--wait", "-o", "json")
    assert done.returncode == 0, done.stderr
    assert studio.crashes == 1
    assert bytes(studio.api.received["u1"]) == file.read_bytes()
    assert json.loads(done.stdout)["provisioning_state"] == "Succeeded"
    sent = studio.api.calls.count("PATCH /uploads/u1")
    assert sent == 10, "chunks that had arrived were sent again"


def test_a_studio_that_is_not_there_is_reported_at_once(studio: Studio, tmp_path: Path) -> None:
    studio.stop()
    done = shoal(studio, tmp_path, "endpoint", "list", "-o", "json")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Shoal does not answer" in done.stderr
    assert "make up" in done.stderr
