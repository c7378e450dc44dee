"""What front ends cost and bring: ``python -m benchmarks.frontends``.

M0 over HTTP on some connections, on each of which a request is sent before any answer is read: so
many requests come together, and a front end's bundle has about as many. Servers without and with
front ends take turns. The figures are CPU, by the scheduler's own clock, of each process: the one
that takes most of a request bounds the rate where there are cores enough for all.

``--rates 0 1 2 4`` asks for the rate instead, by so many front ends: on a machine with a core for
each process of the server and for each of the ``--clients``.

With front ends the model runs in the core and, on another server, in front ends
(``shoal_run_in_frontends``).
"""

import argparse
import contextlib
import multiprocessing
import os
import shutil
import socket
import statistics
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.generator import http_body
from benchmarks.host import process_cpu_s
from benchmarks.repository import CORES, prepared
from benchmarks.server import Server, family, running
from benchmarks.workloads import WORKLOADS

NUMBERS = (0, 1, 2)
_TOGETHER = (8, 32, 128)
_LOAD_S = 30.0  # that front ends have to load the model
_TURNS, _REQUESTS, _WARM_UP = 5, 8000, 2000
_RATE_TURNS, _RATE_S = 3, 2.0
_HOP_US = 8.0  # the promise, at bundles of eight


class Kind(NamedTuple):
    """``here``: the model runs in the front ends."""

    number: int
    here: bool

    @property
    def where(self) -> str:
        return "front ends" if self.here else "core"


def kinds(numbers: Sequence[int]) -> list[Kind]:
    return [
        Kind(number, here) for number in numbers for here in ((False, True)[: 1 + (number > 0)])
    ]


@dataclass
class Case:
    """A server and its clients. ``turns`` are microseconds a request, by process."""

    server: Server
    connections: list[socket.socket]
    turns: list[list[float]] = field(default_factory=list)

    @property
    def processes(self) -> list[float]:
        return [statistics.median(one) for one in zip(*self.turns, strict=True)]


def started(stack: contextlib.ExitStack, kind: Kind) -> Server:
    """A server of that kind, whose front ends run the model where they are to."""
    workload = WORKLOADS[0]
    repository = prepared(workload)
    if kind.here:
        repository = _asking(repository)
    flags = [f"--frontends={kind.number}"]
    server = stack.enter_context(running(repository, workload.model, flags))
    if kind.here:
        _wait_loaded(server, kind.number)
    return server


def _asking(repository: Path) -> Path:
    """The same models, with the parameter that lets front ends run them."""
    target = repository.with_name(f"{repository.name}-in-frontends")
    shutil.copytree(repository, target, dirs_exist_ok=True)
    for config in target.glob("*/config.pbtxt"):
        parameter = 'parameters { key: "shoal_run_in_frontends" value { string_value: "true" } }'
        config.write_text(f"{config.read_text()}{parameter}\n")
    return target


def _wait_loaded(server: Server, number: int) -> None:
    """Until each front end has as many instances as the core. Raises RuntimeError."""
    began, alone = time.monotonic(), CORES if WORKLOADS[0].instance_per_core else 1
    line = f'shoal_model_instances{{model="{server.model}",version="1"}} {alone * (1 + number)}\n'
    while time.monotonic() - began < _LOAD_S:
        url = f"http://127.0.0.1:{server.metrics_port}/metrics"
        with urllib.request.urlopen(url, timeout=10) as answer:
            if line in answer.read().decode():
                return
        time.sleep(0.05)
    raise RuntimeError(f"not within {_LOAD_S} s: {line}")


def measured(together: int) -> dict[Kind, list[float]]:
    """Microseconds of CPU a request, of the core and of each front end, by their number."""
    with contextlib.ExitStack() as stack:
        cases = {}
        for kind in kinds(NUMBERS):
            server = started(stack, kind)
            connections = [
                stack.enter_context(socket.create_connection(("127.0.0.1", server.http_port)))
                for _ in range(together)
            ]
            for connection in connections:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            cases[kind] = Case(server, connections)
            _ask(connections, _WARM_UP // together)
        for _ in range(_TURNS):
            for case in cases.values():
                pids = family(case.server.pid)
                before = [process_cpu_s(pid) for pid in pids]
                rounds = _REQUESTS // together
                _ask(case.connections, rounds)
                each = [
                    (process_cpu_s(pid) - start) / rounds / together * 1e6
                    for pid, start in zip(pids, before, strict=True)
                ]
                case.turns.append(each)
        return {kind: case.processes for kind, case in cases.items()}


def rates(numbers: Sequence[int], clients: int, together: int) -> dict[Kind, list[float]]:
    """Requests a second by the kind of server: all clients' together, of each turn.

    ``together``: connections of each client. Servers take turns.
    """
    found: dict[Kind, list[float]] = {kind: [] for kind in kinds(numbers)}
    with contextlib.ExitStack() as stack:
        servers = {kind: started(stack, kind) for kind in found}
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(clients))
        for _ in range(_RATE_TURNS):
            for kind, server in servers.items():
                ask = [(server.http_port, together)] * clients
                found[kind].append(sum(pool.starmap(_rate, ask, chunksize=1)))
    return found


def _rate(port: int, together: int) -> float:
    with contextlib.ExitStack() as stack:
        connections = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            for _ in range(together)
        ]
        for connection in connections:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _ask(connections, _WARM_UP // together)
        rounds, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < _RATE_S:
            _ask(connections, 10)
            rounds += 10
        return rounds * together / passed


def _ask(connections: list[socket.socket], rounds: int) -> None:
    """Raises RuntimeError for any answer but 200."""
    body, json_size = http_body(WORKLOADS[0])
    head = (
        f"POST /v2/models/{WORKLOADS[0].model}/infer HTTP/1.1\r\nHost: bench\r\n"
        f"Inference-Header-Content-Length: {json_size}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    request = head.encode() + body
    for _ in range(rounds):
        for connection in connections:
            connection.sendall(request)
        for connection in connections:
            answer = connection.recv(1 << 16)  # small, so it comes whole
            if not answer.startswith(b"HTTP/1.1 200 "):
                raise RuntimeError(f"the server answered {answer[:200]!r}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontends")
    parser.add_argument("--together", type=int, nargs="+", default=list(_TOGETHER))
    parser.add_argument("--rates", type=int, nargs="+", metavar="N", help="numbers of front ends")
    parser.add_argument("--clients", type=int, default=4, help="processes (default: %(default)s)")
    options = parser.parse_args()
    if options.rates:
        print_rates(options.rates, options.clients, options.together)
    else:
        print_costs(options.together)


def print_rates(numbers: Sequence[int], clients: int, together: Sequence[int]) -> None:
    print(f"{os.cpu_count()} cores, {clients} clients")
    print("| connections | front ends | model runs in | requests/s | of the first |")
    print("|---|---|---|---|---|")
    for each in together:
        found = rates(numbers, clients, each)
        alone = statistics.median(found[Kind(numbers[0], here=False)])
        for kind, turns in found.items():
            rate = statistics.median(turns)
            row = (each * clients, kind.number, kind.where, f"{rate:,.0f}", f"{rate / alone:.2f}")
            print(f"| {' | '.join(map(str, row))} |", flush=True)


def print_costs(together_all: Sequence[int]) -> None:
    print("| together | front ends | model runs in | core | each front end | all | hop | busiest |")
    print("|---|---|---|---|---|---|---|---|")
    for together in together_all:
        found = measured(together)
        alone = sum(found[Kind(0, here=False)])
        for kind, each in found.items():
            core, *others = each
            whole = sum(each)
            shown = ", ".join(f"{one:.1f}" for one in others) or "-"
            hop = f"{whole - alone:.1f}" if kind.number else "-"
            row = (
                *(str(together), str(kind.number), kind.where, f"{core:.1f}", shown),
                *(f"{whole:.1f}", hop, f"{max(each):.1f}"),
            )
            print(f"| {' | '.join(row)} |", flush=True)
    print(f"CPU in us a request. Promised: a hop of at most {_HOP_US:g} us at bundles of eight.")


if __name__ == "__main__":
    main()
