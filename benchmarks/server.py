"""Starts a real worker runtime with one model and reads its CPU time and its own counters."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.host import process_cpu_s
from benchmarks.repository import ROOT
from benchmarks.workloads import Protocol

READY_TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Counters:
    """``cpu_s``: user and system time of every thread and child of the server, seconds.

    ``failures`` leaves out what the client gave up: wrk hangs up when its time is over.
    """

    cpu_s: float
    requests: int
    failures: int
    executions: int
    inferences: int


@dataclass(frozen=True, slots=True)
class Server:
    pid: int
    model: str
    http_port: int
    grpc_port: int
    metrics_port: int

    def address(self, protocol: Protocol) -> str:
        return f"127.0.0.1:{self.http_port if protocol == 'http' else self.grpc_port}"

    def counters(self) -> Counters:
        url = f"http://127.0.0.1:{self.http_port}/v2/models/{self.model}/stats"
        with urllib.request.urlopen(url, timeout=10) as answer:
            (stats,) = json.load(answer)["model_stats"]
        outcome: dict[str, Any] = stats["inference_stats"]
        return Counters(
            cpu_s=sum(process_cpu_s(pid) for pid in family(self.pid)),
            requests=int(outcome["success"]["count"]),
            failures=self._failures(),
            executions=int(stats["execution_count"]),
            inferences=int(stats["inference_count"]),
        )

    def _failures(self) -> int:
        url = f"http://127.0.0.1:{self.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return sum(
            int(float(line.rsplit(" ", 1)[1]))
            for line in lines
            if line.startswith("nv_inference_request_failure{") and 'reason="CANCELED"' not in line
        )


@contextmanager
def running(
    repository: Path,
    model: str = "",
    flags: Sequence[str] = (),
    log: Path | None = None,
    *,
    module: str = "worker_runtime",
    code: Path = ROOT,
) -> Iterator[Server]:
    """A runtime with the model READY, or without one just listening.

    Its log is shown when it does not get there, and goes to ``log`` where that is given. ``module``
    is what starts it; ``code`` has the ``worker_runtime`` that it is of.
    """
    with tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder:
        ready_file, log = Path(folder) / "ready.json", log or Path(folder) / "runtime.log"
        command = [
            sys.executable, "-m", module,
            f"--model-repository={repository}", f"--ready-file={ready_file}",
            "--http-port=0", "--grpc-port=0", "--metrics-port=0", "--http-address=127.0.0.1",
            "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1", *flags,
        ]  # fmt: skip
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=code,
                stdout=output,
                stderr=output,
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": f"{code}{os.pathsep}{ROOT}"},
            )
        try:
            yield _wait_ready(process, ready_file, log, model)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _wait_ready(process: subprocess.Popen[bytes], ready: Path, log: Path, model: str) -> Server:
    give_up = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < give_up and process.poll() is None:
        if ready.exists():
            ports = json.loads(ready.read_text())
            server = Server(
                process.pid, model, ports["http_port"], ports["grpc_port"], ports["metrics_port"]
            )
            what = f"models/{model}/ready" if model else "health/live"
            if _answers(f"http://127.0.0.1:{server.http_port}/v2/{what}"):
                return server
        time.sleep(0.05)
    raise RuntimeError(f"The runtime did not get ready:\n{log.read_text()[-4000:]}")


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def family(pid: int) -> list[int]:
    """The process and its children: Python-backend models compute in processes of their own."""
    # why of every thread: a model's process is a child of the thread that loaded it
    lists = [file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children")]
    children = " ".join(lists).split()
    return [pid, *(member for child in children for member in family(int(child)))]
