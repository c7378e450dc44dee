"""What front ends cost and bring: ``python -m benchmarks.frontends``.

M0 over HTTP on some connections, on each of which a request is sent before any answer is read: so
many requests come together, and a front end's bundle has about as many. Servers without and with
front ends take turns. The figures are CPU, by the scheduler's own clock, of each process: the one
that takes most of a request bounds the rate where there are cores enough for all.

``--rates 0 1 2 4`` asks for the rate instead, by so many front ends: on a machine with a core for
each process of the server and for each of the ``--clients``.
"""

import argparse
import contextlib
import multiprocessing
import os
import socket
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.generator import http_body
from benchmarks.host import process_cpu_s
from benchmarks.repository import prepared
from benchmarks.server import Server, family, running
from benchmarks.workloads import WORKLOADS

NUMBERS = (0, 1, 2)
_TOGETHER = (8, 32, 128)
_TURNS, _REQUESTS, _WARM_UP = 5, 8000, 2000
_RATE_TURNS, _RATE_S = 3, 2.0
_HOP_US = 8.0  # the promise, at bundles of eight


@dataclass
class Case:
    """A server and its clients. ``turns`` are microseconds a request, by process."""

    server: Server
    connections: list[socket.socket]
    turns: list[list[float]] = field(default_factory=list)

    @property
    def processes(self) -> list[float]:
        return [statistics.median(one) for one in zip(*self.turns, strict=True)]


def measured(together: int) -> dict[int, list[float]]:
    """Microseconds of CPU a request, of the core and of each front end, by their number."""
    workload = WORKLOADS[0]
    with contextlib.ExitStack() as stack:
        cases = {}
        for number in NUMBERS:
            server = stack.enter_context(
                running(prepared(workload), workload.model, [f"--frontends={number}"])
            )
            connections = [
                stack.enter_context(socket.create_connection(("127.0.0.1", server.http_port)))
                for _ in range(together)
            ]
            for connection in connections:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            cases[number] = Case(server, connections)
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
        return {number: case.processes for number, case in cases.items()}


def rates(numbers: Sequence[int], clients: int, together: int) -> dict[int, list[float]]:
    """Requests a second by the number of front ends: all clients' together, of each turn.

    ``together``: connections of each client. Servers take turns.
    """
    workload = WORKLOADS[0]
    found: dict[int, list[float]] = {number: [] for number in numbers}
    with contextlib.ExitStack() as stack:
        servers = {
            number: stack.enter_context(
                running(prepared(workload), workload.model, [f"--frontends={number}"])
            )
            for number in numbers
        }
        pool = stack.enter_context(multiprocessing.get_context("spawn").Pool(clients))
        for _ in range(_RATE_TURNS):
            for number, server in servers.items():
                ask = [(server.http_port, together)] * clients
                found[number].append(sum(pool.starmap(_rate, ask, chunksize=1)))
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
    print("| connections | front ends | requests/s | of the first |")
    print("|---|---|---|---|")
    for each in together:
        found = rates(numbers, clients, each)
        alone = statistics.median(found[numbers[0]])
        for number, turns in found.items():
            rate = statistics.median(turns)
            print(f"| {each * clients} | {number} | {rate:,.0f} | {rate / alone:.2f} |", flush=True)


def print_costs(together_all: Sequence[int]) -> None:
    print("| together | front ends | core | each front end | all | hop | busiest |")
    print("|---|---|---|---|---|---|---|")
    for together in together_all:
        found = measured(together)
        alone = sum(found[0])
        for number, each in found.items():
            core, *others = each
            whole = sum(each)
            shown = ", ".join(f"{one:.1f}" for one in others) or "-"
            hop = f"{whole - alone:.1f}" if number else "-"
            print(
                f"| {together} | {number} | {core:.1f} | {shown} | {whole:.1f} | {hop} | "
                f"{max(each):.1f} |",
                flush=True,
            )
    print(f"CPU in us a request. Promised: a hop of at most {_HOP_US:g} us at bundles of eight.")


if __name__ == "__main__":
    main()
