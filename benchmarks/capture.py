"""What capturing costs: CPU of a runtime with M0 per request, without it and at two rates.

    python -m benchmarks.capture [--starts 5] [--turns 60] [--before FOLDER]

Eight connections ask over HTTP and JSON. Of the turns of one start the lowest tenth counts, as
noise only adds; ratios are medians over starts, as where a process lies in memory matters by some
percent. ``--before`` has another ``worker_runtime`` (``git archive REVISION | tar -x``): then that
is what the others are compared with.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles

from benchmarks.host import process_cpu_s
from benchmarks.repository import ROOT, prepared, sample
from benchmarks.workloads import WORKLOADS, Workload

CONNECTIONS, REQUESTS, WARM = 8, 400, 1000
READY_S = 60.0


@contextmanager
def served(
    repository: Path, folder: Path, flags: Sequence[str], code: Path
) -> Iterator[tuple[int, list[socket.socket]]]:
    """A runtime of ``code``, and connections to it."""
    folder.mkdir(parents=True)
    ready = folder / "ready.json"
    ports = [f"--{name}-port=0" for name in ("http", "grpc", "metrics")]
    command = [sys.executable, "-P", "-m", "worker_runtime", f"--model-repository={repository}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *ports, "--http-address=127.0.0.1", f"--ready-file={ready}", *flags],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(code)}, stdout=log, stderr=log,
        )  # fmt: skip
    try:
        until = time.monotonic() + READY_S
        while not (ready.exists() and is_ready(ready)):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError((folder / "log").read_text())
            time.sleep(0.05)
        port = json.loads(ready.read_text())["http_port"]
        with ExitStack() as stack:
            yield (
                process.pid,
                [
                    stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                    for _ in range(CONNECTIONS)
                ],
            )
    finally:
        process.terminate()
        process.wait()


def is_ready(file: Path) -> bool:
    """Its models are loaded, too."""
    url = f"http://127.0.0.1:{json.loads(file.read_text())['http_port']}/v2/health/ready"
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return False


def request_of(workload: Workload) -> bytes:
    inputs = [
        {"name": tensor.name, "datatype": tensor.datatype, "shape": [1, *tensor.shape],
         "data": sample(workload, 1)[tensor.name].ravel().tolist()}
        for tensor in workload.inputs
    ]  # fmt: skip
    body = json.dumps({"inputs": inputs}).encode()
    head = f"POST /v2/models/{workload.model}/infer HTTP/1.1\r\nHost: x\r\nContent-Length: "
    return f"{head}{len(body)}\r\n\r\n".encode() + body


def asked(pid: int, connections: list[socket.socket], request: bytes, count: int) -> float:
    """CPU in µs that one request took."""
    before = process_cpu_s(pid)
    for _ in range(count // len(connections)):
        for connection in connections:
            connection.sendall(request)
        for connection in connections:
            if not connection.recv(65_536).startswith(b"HTTP/1.1 200"):
                raise RuntimeError("A request was not answered.")
    return (process_cpu_s(pid) - before) / count * 1e6


def rotated(names: list[str], by: int) -> list[str]:
    by %= len(names)
    return names[by:] + names[:by]


def one_start(lines: dict[str, tuple[Path, list[str]]], turns: int) -> dict[str, float]:
    workload = next(one for one in WORKLOADS if one.key == "M0")
    repository, request = prepared(workload), request_of(workload)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = {}
        for at, (name, (code, flags)) in enumerate(lines.items()):
            place = Path(folder) / str(at)
            told = [flag.replace("SPOOL", str(place / "spool")) for flag in flags]
            servers[name] = stack.enter_context(served(repository, place, told, code))
            asked(*servers[name], request, WARM)
        took: dict[str, list[float]] = {name: [] for name in lines}
        for turn in range(turns):
            # why another first each time: who comes after a busy one finds caches that are not its
            for name in rotated(list(servers), turn):
                took[name].append(asked(*servers[name], request, REQUESTS))
    return {name: quantiles(values, n=10)[0] for name, values in took.items()}


def captured(rate: float) -> list[str]:
    config = json.dumps({"sampling_rate": rate, "roll_seconds": 5})
    return [f"--capture-config={config}", "--capture-directory=SPOOL"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    lines = {"off": (ROOT, []), "1 %": (ROOT, captured(0.01)), "100 %": (ROOT, captured(1.0))}
    if options.before is not None:
        lines = {"before": (options.before.resolve(), []), **lines}
    found = [one_start(lines, options.turns) for _ in range(options.starts)]
    base = next(iter(lines))
    for name in lines:
        ratios = sorted(one[name] / one[base] for one in found)
        print(
            f"{name:7} {median(one[name] for one in found):6.2f} µs, {median(ratios):.3f} times "
            f"{base} ({ratios[0]:.3f} to {ratios[-1]:.3f})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
