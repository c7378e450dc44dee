"""What keeping single requests costs: CPU of a runtime with M0 per request, as gateways send them.

    python -m benchmarks.kept_requests [--starts 30] [--turns 60] [--before FOLDER]

As ``benchmarks.capture``, with an ``x-request-id`` of its own for each request. ``off``: nobody
looks at single requests; ``on``: somebody does, ``LOOK_TURNS`` turns after the last time.

A process keeps the speed that it began with, by chance, and two differ by more than what is
measured. So many are started, and each ratio is told with the interval in which its median lies
with a confidence of 95 %, by the order of the ratios, whatever they are distributed like.
"""

import argparse
import json
import math
import socket
import sys
import tempfile
import urllib.request
import uuid
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

from benchmarks.capture import REQUESTS, WARM, request_of, rotated, served
from benchmarks.host import process_cpu_s
from benchmarks.repository import ROOT, prepared
from benchmarks.workloads import WORKLOADS

LOOK_TURNS = 10  # some half a second
ON = "on"


def asked(pid: int, connections: list[socket.socket], request: bytes, count: int) -> float:
    """CPU in µs that one request took."""
    head, rest = request.split(b"\r\n", 1)
    requests = [
        b"%s\r\nx-request-id: %s\r\n%s" % (head, str(uuid.uuid4()).encode(), rest)
        for _ in range(count)
    ]
    before = process_cpu_s(pid)
    for at in range(0, count, len(connections)):
        for connection, one in zip(connections, requests[at:], strict=False):
            connection.sendall(one)
        for connection in connections:
            if not connection.recv(65_536).startswith(b"HTTP/1.1 200"):
                raise RuntimeError("A request was not answered.")
    return (process_cpu_s(pid) - before) / count * 1e6


def asked_for(ready: Path, path: str) -> bytes:
    port = json.loads(ready.read_text())["metrics_port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        return bytes(answer.read())


def look(ready: Path) -> int:
    return len(json.loads(asked_for(ready, "/requests?salt=5&after=0")))


def one_start(lines: dict[str, Path], turns: int) -> dict[str, float]:
    workload = next(one for one in WORKLOADS if one.key == "M0")
    repository, request = prepared(workload), request_of(workload)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        servers = {}
        for name, code in lines.items():
            place = Path(folder) / name
            servers[name] = stack.enter_context(served(repository, place, [], code))
            if name == ON:
                look(place / "ready.json")
            asked(*servers[name], request, WARM)
        took: dict[str, list[float]] = {name: [] for name in lines}
        for turn in range(turns):
            # why outside of what is timed, too: the look itself takes what /metrics takes
            if turn % LOOK_TURNS == 0:
                for name in lines:  # all are asked for metrics, as nodes do
                    asked_for(Path(folder) / name / "ready.json", "/metrics")
                if not look(Path(folder) / ON / "ready.json"):
                    raise RuntimeError("Nothing was kept.")
            for name in rotated(list(servers), turn):
                took[name].append(asked(*servers[name], request, REQUESTS))
    return {name: quantiles(values, n=10)[0] for name, values in took.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=30)
    parser.add_argument("--turns", type=int, default=60)
    parser.add_argument("--before", type=Path)
    options = parser.parse_args()
    lines = {"off": ROOT, ON: ROOT}
    if options.before is not None:
        lines = {"before": options.before.resolve(), **lines}
    found = [one_start(lines, options.turns) for _ in range(options.starts)]
    base = next(iter(lines))
    for name in lines:
        ratios = sorted(one[name] / one[base] for one in found)
        # of n coins, how many show heads lies with 95 % within one root of n of the half
        outside = max(0, math.floor((len(ratios) - 1.96 * math.sqrt(len(ratios))) / 2))
        print(
            f"{name:7} {median(one[name] for one in found):6.2f} µs, {median(ratios):.3f} times "
            f"{base} (95 %: {ratios[outside]:.3f} to {ratios[-1 - outside]:.3f})"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
