"""What keeping single requests costs: CPU per request of M0, as gateways send them.

    python -m benchmarks.kept_requests [--starts 12] [--turns 40] [--before FOLDER] [--alike]

``path``: what keeping adds to the path of one request, alone (``benchmarks.kept_path``).
``runtime``: a runtime alone, asked over HTTP on eight connections, each request with an
``x-request-id`` of its own. ``http`` and ``grpc``: through the product's own Envoy, whose CPU and
the runtime's are told apart and together: the whole of a request. With keeping off, nobody looks at
the runtime's requests, and they come in by another port of Envoy, whose access log lacks what is
told of single requests only. What the gateway's agent does with each line of the log is told last,
and is in the whole.

Two processes differ by more than what is measured, so one Envoy has both ports, and one runtime
keeps and does not keep, in turns (``benchmarks.kept_runtime``). With ``--alike`` it keeps nothing,
and both ports log the same: what is told then is what the method finds where nothing is. Of the
turns of one start the lowest tenth counts, as noise only
adds, and each ratio is told with the interval in which its median over the starts lies with a
confidence of 95 %, by their order, whatever they are distributed like. ``--before`` has another
``worker_runtime`` (``git archive REVISION worker_runtime | tar -x``), which takes turns with this
one, start by start.
"""

import argparse
import json
import math
import os
import socket
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles

from benchmarks import gateway_files as files
from benchmarks import kept_path
from benchmarks.capture import CONNECTIONS, REQUESTS, WARM, request_of
from benchmarks.envoys import Envoy, running
from benchmarks.gateway import Line, target
from benchmarks.gateway_load import LOADS
from benchmarks.gateway_parts import change, same_without_tls, without_single_requests
from benchmarks.host import process_cpu_s
from benchmarks.kept_runtime import OFF, ON
from benchmarks.repository import ROOT, prepared
from benchmarks.server import Server
from benchmarks.server import running as runtime
from benchmarks.workloads import WORKLOADS
from controlplane.gateway.access_log import Sampler, parse
from controlplane.gateway.seen import Chooser

LOOK_TURNS = 20  # some two seconds of keeping: as often as agents look
TURN_S = 0.1
_SETTLE_S = 0.02
_M0 = next(one for one in WORKLOADS if one.key == "M0")
_LINES = (Line("http", tls=False), Line("grpc", tls=False))

Cost = tuple[float, ...]  # µs of CPU that a request took, of each process


@dataclass(frozen=True, slots=True)
class Start:
    """Of one start: what each process took with keeping off, and how much more with it on."""

    off: Cost
    more: Cost

    @property
    def ratio(self) -> float:
        return 1 + sum(self.more) / sum(self.off)


@contextmanager
def switched(code: Path) -> Iterator[Server]:
    module = "benchmarks.kept_runtime"
    with runtime(prepared(_M0), _M0.model, module=module, code=code) as server:
        look(server)
        yield server


def look(server: Server) -> int:
    """As agents do, which ask for metrics, too; how many requests were told of."""
    base = f"http://127.0.0.1:{server.metrics_port}"
    with urllib.request.urlopen(f"{base}/metrics", timeout=5) as answer:
        answer.read()
    with urllib.request.urlopen(f"{base}/requests?salt=5&after=0", timeout=5) as answer:
        return len(json.load(answer))


def in_turns(
    server: Server,
    turns: int,
    ask: Callable[[bool], object],
    asked: Callable[[bool], Cost],
    *,
    alike: bool,
) -> Start:
    """``ask`` lets some requests go by, ``asked`` measures others; both are told what is on."""
    kept = OFF if alike else ON
    found: dict[bool, list[Cost]] = {True: [], False: []}
    for turn in range(turns):
        for keeps in (turn % 2 == 0, turn % 2 == 1):
            os.kill(server.pid, kept if keeps else OFF)
            ask(keeps)
            found[keeps].append(asked(keeps))
        if turn % LOOK_TURNS == 0:
            # why outside of what is timed: the look itself takes what /metrics takes
            if not look(server) and not alike:
                raise RuntimeError("Nothing was kept.")
            os.kill(server.pid, kept)
            ask(True)  # the first ones after a look are kept, whatever they are
    on, off = _lowest(found[True]), _lowest(found[False])
    return Start(off, tuple(a - b for a, b in zip(on, off, strict=True)))


def _lowest(rows: Sequence[Cost]) -> Cost:
    """The lowest tenth of each process."""
    return tuple(quantiles(column, n=10)[0] for column in zip(*rows, strict=True))


def _medians(rows: Sequence[Cost]) -> Cost:
    return tuple(median(column) for column in zip(*rows, strict=True))


def alone(code: Path, turns: int, *, alike: bool) -> Start:
    request = request_of(_M0)
    head, rest = request.split(b"\r\n", 1)
    with switched(code) as server, ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", server.http_port)))
            for _ in range(CONNECTIONS)
        ]

        def asked(count: int) -> Cost:
            requests = [
                b"%s\r\nx-request-id: %s\r\n%s" % (head, str(uuid.uuid4()).encode(), rest)
                for _ in range(count)
            ]
            before = process_cpu_s(server.pid)
            for at in range(0, count, CONNECTIONS):
                for connection, one in zip(connections, requests[at:], strict=False):
                    connection.sendall(one)
                for connection in connections:
                    if not connection.recv(65_536).startswith(b"HTTP/1.1 200"):
                        raise RuntimeError("A request was not answered.")
            return ((process_cpu_s(server.pid) - before) / count * 1e6,)

        asked(WARM)
        return in_turns(
            server,
            turns,
            lambda _: asked(3 * CONNECTIONS),
            lambda _: asked(REQUESTS),
            alike=alike,
        )


def through_gateway(code: Path, turns: int, *, alike: bool) -> dict[str, Start]:
    """Of each line: Envoy, the runtime, the gateway's agent."""
    with (
        switched(code) as server,
        tempfile.TemporaryDirectory(prefix="shoal-bench-") as folder,
    ):
        settings = files.product(Path(folder), files.rendered(server, 0))
        change(settings, same_without_tls if alike else without_single_requests)
        found = {}
        with running(settings, files.PREFIX) as envoy:
            for line in _LINES:
                found[line.protocol] = one = _line(line, server, envoy, turns, alike=alike)
                if line.protocol == "http":
                    agent = agent_of(settings.folder / "access.log")
                more = 0.0 if alike else agent.more[0]
                found[line.protocol] = Start((*one.off, agent.off[0]), (*one.more, more))
        return found


def _line(line: Line, server: Server, envoy: Envoy, turns: int, *, alike: bool) -> Start:
    where = target(line, envoy)
    targets = {True: where, False: replace(where, port=envoy.tls_port)}
    with ExitStack() as stack:
        loads = {keeps: LOADS[line.protocol](one) for keeps, one in targets.items()}
        for load in loads.values():
            stack.callback(load.close)
            load.run(10 * _SETTLE_S)

        def asked(keeps: bool) -> Cost:
            pids = envoy.pid, server.pid
            before = [process_cpu_s(pid) for pid in pids]
            answered = loads[keeps].run(TURN_S)
            after = [process_cpu_s(pid) for pid in pids]
            return tuple((b - a) / answered * 1e6 for a, b in zip(before, after, strict=True))

        def settled(keeps: bool) -> object:
            return loads[keeps].run(_SETTLE_S)

        return in_turns(server, turns, settled, asked, alike=alike)


def agent_of(log: Path) -> Start:
    """What a line of the log takes the gateway's agent to count, and more to choose it."""
    lines = log.read_text().splitlines()[-4000:]
    took: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(10):
        for chooses in (turn % 2 == 0, turn % 2 == 1):
            sampler, chooser = Sampler(), Chooser()
            begin = time.thread_time()
            for one in lines:
                entry = parse(one)
                if entry is None:
                    continue
                sampler.add(entry)
                if chooses:
                    chooser.add(entry)
            took[chooses].append((time.thread_time() - begin) / len(lines) * 1e6)
    off = median(took[False])
    return Start((off,), (median(took[True]) - off,))


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The median, and between what it lies with 95 %."""
    ordered, count = sorted(values), len(values)
    # of n coins, how many show heads lies with 95 % within one root of n of the half
    outside = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))
    return median(ordered), ordered[outside], ordered[-1 - outside]


def told(title: str, names: Sequence[str], starts: Sequence[Start]) -> None:
    off, more = _medians([one.off for one in starts]), _medians([one.more for one in starts])
    middle, low, high = interval([one.ratio for one in starts])
    parts = ", ".join(
        f"{name} {base:.1f} {extra:+.2f}"
        for name, base, extra in zip(names, off, more, strict=True)
    )
    print(
        f"{title:16} {parts} µs: {(middle - 1) * 100:+.2f} % "
        f"(95 %: {(low - 1) * 100:+.2f} to {(high - 1) * 100:+.2f})",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=12)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--only", choices=("path", "runtime", "gateway"))
    parser.add_argument("--alike", action="store_true", help="measure where nothing differs")
    options = parser.parse_args()
    for kind, (warm, cold) in kept_path.costs().items():
        print(f"path, {kind}: {warm:.0f} ns warm, {cold:.0f} ns cold", flush=True)
    codes = {"": ROOT}
    if options.before is not None:
        codes = {"before, ": options.before.resolve(), **codes}
    found: dict[str, list[Start]] = {}
    alike = options.alike
    for _ in range(options.starts):
        for name, code in codes.items():
            if options.only in (None, "runtime"):
                one = alone(code, options.turns, alike=alike)
                found.setdefault(f"{name}runtime", []).append(one)
            if options.only in (None, "gateway"):
                starts = through_gateway(code, options.turns, alike=alike)
                for line, one in starts.items():
                    found.setdefault(f"{name}{line}", []).append(one)
    for title, rows in found.items():
        alone_in_it = len(rows[0].off) == 1
        told(title, ("runtime",) if alone_in_it else ("Envoy", "runtime", "agent"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
