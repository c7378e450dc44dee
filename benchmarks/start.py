"""What a start costs: from the call of the program to READY with one tiny ONNX model, and idle.

In turns with a bare start: the same interpreter imports ONNX Runtime, opens the same model and
says so. What is left above that is ours. CPU is of all threads, by the scheduler's own clock, up to
READY; memory is read a moment later.
"""

import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.host import process_cpu_s
from benchmarks.repository import ROOT, graph_path, prepared
from benchmarks.workloads import WORKLOADS

READY_S, IDLE_MB = 0.35, 75.0  # the promises
_GIVE_UP_S, _PAUSE_S, _SETTLED_S = 60.0, 0.001, 0.2
_BARE = """
import sys, time, onnxruntime
session = onnxruntime.InferenceSession(sys.argv[1])
open(sys.argv[2], "w").close()
time.sleep(60)
"""


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds from the call to READY, and of CPU until then; resident and proportional MB, idle."""

    wall_s: float
    cpu_s: float
    rss_mb: float
    pss_mb: float


def measured(turns: int) -> tuple[Start, Start]:
    """The medians of the runtime's starts, and of bare ones."""
    found: tuple[list[Start], list[Start]] = ([], [])
    for _ in range(turns):
        found[0].append(_once(_runtime))
        found[1].append(_once(_bare))
    ours, bare = (_median(starts) for starts in found)
    return ours, bare


def print_starts(ours: Start, bare: Start) -> None:
    print("\n| start of | ready ms | CPU ms | RSS MB | PSS MB |\n|---|---|---|---|---|")
    for name, one in (("runtime, one tiny model", ours), ("ONNX Runtime alone", bare)):
        times = f"{one.wall_s * 1e3:.0f} | {one.cpu_s * 1e3:.0f}"
        print(f"| {name} | {times} | {one.rss_mb:.0f} | {one.pss_mb:.0f} |")


def verdicts(ours: Start) -> list[tuple[bool, str]]:
    return [
        (
            ours.wall_s <= READY_S,
            f"start: READY after {ours.wall_s:.2f} s, {ours.cpu_s:.2f} of CPU (wanted {READY_S})",
        ),
        (
            ours.rss_mb <= IDLE_MB,
            f"start: {ours.rss_mb:.0f} MB idle with one tiny model (wanted {IDLE_MB:.0f})",
        ),
    ]


def _median(starts: list[Start]) -> Start:
    columns = zip(*((s.wall_s, s.cpu_s, s.rss_mb, s.pss_mb) for s in starts), strict=True)
    return Start(*map(statistics.median, columns))


def _once(make: Callable[[Path], tuple[list[str], Callable[[], bool]]]) -> Start:
    with tempfile.TemporaryDirectory(prefix="shoal-start-") as folder:
        command, ready = make(Path(folder))
        began = time.perf_counter()
        with _running(command, Path(folder) / "log") as process:
            while not ready():
                late = time.perf_counter() - began > _GIVE_UP_S
                if late or process.poll() is not None:
                    text = (Path(folder) / "log").read_text()
                    raise RuntimeError(f"did not get ready: {command}\n{text[-4000:]}")
                time.sleep(_PAUSE_S)
            wall_s = time.perf_counter() - began
            cpu_s = process_cpu_s(process.pid)
            time.sleep(_SETTLED_S)
            return Start(wall_s, cpu_s, *_memory_mb(process.pid))


@contextmanager
def _running(command: list[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def _runtime(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    ready_file = folder / "ready.json"
    command = [
        sys.executable, "-m", "worker_runtime",
        f"--model-repository={prepared(WORKLOADS[0])}", f"--ready-file={ready_file}",
        "--http-port=0", "--grpc-port=0", "--metrics-port=0", "--http-address=127.0.0.1",
        "--grpc-address=127.0.0.1", "--metrics-address=127.0.0.1",
    ]  # fmt: skip
    return command, lambda: ready_file.exists() and _says_ready(ready_file)


def _bare(folder: Path) -> tuple[list[str], Callable[[], bool]]:
    told = folder / "opened"
    command = [sys.executable, "-c", _BARE, str(graph_path(WORKLOADS[0])), str(told)]
    return command, told.exists


def _says_ready(ready_file: Path) -> bool:
    connection = http.client.HTTPConnection(
        "127.0.0.1", json.loads(ready_file.read_text())["http_port"]
    )
    try:
        connection.request("GET", "/v2/health/ready")
        return connection.getresponse().status == 200
    finally:
        connection.close()


def _memory_mb(pid: int) -> tuple[float, float]:
    """Resident, and that with pages of several processes shared out among them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    rows = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
    return rows["Rss"] / 1024, rows["Pss"] / 1024
