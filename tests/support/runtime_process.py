"""A real runtime process for tests: started on free ports, waited for, and always ended."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker_runtime.observability.stalls import STALLED

START_S = 60.0
# Every runtime that a test starts has so many front ends, where they may be had: see
# `make test-frontends`.
FRONTENDS = os.environ.get("SHOAL_TEST_FRONTENDS", "0")
_WITHOUT = {"--grpc-frontend=grpcio", "--allow-sagemaker=true", "--allow-vertex-ai=true"}
_LOOPBACK = "127.0.0.1"


@dataclass
class Runtime:
    process: "subprocess.Popen[bytes]"
    log: Path
    metrics_port: int
    http_port: int = 0
    grpc_port: int = 0
    sagemaker_port: int = 0
    vertex_ai_port: int = 0

    @property
    def http(self) -> str:
        return f"{_LOOPBACK}:{self.http_port}"

    @property
    def grpc(self) -> str:
        return f"{_LOOPBACK}:{self.grpc_port}"

    def call(
        self,
        path: str,
        body: bytes | None = None,
        *,
        method: str | None = None,
        port: int = 0,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """One HTTP exchange: status, headers (lower case), body."""
        url = f"http://{_LOOPBACK}:{port or self.http_port}/{path.lstrip('/')}"
        request = urllib.request.Request(url, body, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.status, _lower(reply.headers), reply.read()
        except urllib.error.HTTPError as reply:
            with reply:
                return reply.code, _lower(reply.headers), reply.read()

    def json(self, path: str, body: Any = None, **options: Any) -> tuple[int, Any]:
        raw = None if body is None else json.dumps(body).encode()
        status, _, text = self.call(path, raw, **options)
        return status, json.loads(text) if text else None

    def metrics(self) -> str:
        return self.call("metrics", port=self.metrics_port)[2].decode()

    def socket(self) -> socket.socket:
        return socket.create_connection((_LOOPBACK, self.http_port), timeout=30)

    def stop(self, timeout_s: float = 20.0) -> int:
        """SIGTERM, and wait; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)


def _lower(headers: Any) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def wait_until(condition: Any, what: str, timeout_s: float = START_S) -> Any:
    """Poll ``condition`` until it is true; AssertionError naming ``what`` after the deadline."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        _PAUSE.wait(0.02)


_PAUSE = threading.Event()  # never set: only its timed wait is used


@contextmanager
def runtime(
    repository: Path,
    *flags: str,
    ready: bool = True,
    python: Sequence[str] = (sys.executable,),
    module: str = "worker_runtime",
    variables: Mapping[str, str] | None = None,
) -> Iterator[Runtime]:
    """A runtime on ``repository``; with ``ready`` it is waited for until every model serves.

    ``python`` is the interpreter with its options, ``module`` what it runs, ``variables`` are set
    in its environment.
    """
    work = repository.parent
    ready_file = work / f"{repository.name}.ready.json"
    ready_file.unlink(missing_ok=True)
    log = work / f"{repository.name}.log"
    command = [
        *python,
        "-m",
        module,
        "--model-repository",
        str(repository),
        "--http-port=0",
        "--grpc-port=0",
        "--metrics-port=0",
        "--http-address",
        _LOOPBACK,
        "--grpc-address",
        _LOOPBACK,
        "--metrics-address",
        _LOOPBACK,
        "--ready-file",
        str(ready_file),
        *([] if _WITHOUT & set(flags) or FRONTENDS == "0" else [f"--frontends={FRONTENDS}"]),
        *flags,
    ]
    with log.open("wb") as output:
        environment = {**os.environ, **(variables or {})}
        process = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
    try:
        wait_until(lambda: ready_file.exists() or process.poll() is not None, "the ready file")
        assert ready_file.exists(), log.read_text()
        ports = json.loads(ready_file.read_text())
        assert ports.pop("pid") == process.pid
        found = Runtime(process, log, **ports)
        if ready:
            wait_until(lambda: found.call("v2/health/ready")[0] == 200, log.read_text())
        yield found
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)
        written = log.read_text(errors="replace")
        assert STALLED not in written, f"its event loop stood still: {written[-20_000:]}"
