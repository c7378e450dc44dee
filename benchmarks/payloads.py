"""What a request costs the server by its size: the built-in identity model, 1 KB to 64 MB.

Over HTTP, over gRPC, and over gRPC with both tensors in system shared memory; each payload goes in
and comes out again. The model computes and copies nothing, so all of it is the way in and out.
One request at a time; what is told is the server's CPU.
"""

import statistics
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.load import LoadFailed
from benchmarks.payload_clients import CLIENTS, MODEL, Infer
from benchmarks.server import Server, running

SIZES = (1_000, 64_000, 600_000, 4_000_000, 16_000_000, 64_000_000)  # bytes
_LARGE = 4_000_000  # from here on every byte should cost the same
_MOST = 2.0  # times what a byte of that costs, for noise
_CONFIG = """
backend: "identity"
input { name: "INPUT0" data_type: TYPE_UINT8 dims: [ -1 ] }
output { name: "OUTPUT0" data_type: TYPE_UINT8 dims: [ -1 ] }
instance_group { count: 1 kind: KIND_CPU }
"""
_TURNS = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """Server CPU per request, median of the turns; ``p50_us`` is how long the client waited."""

    protocol: str
    byte_size: int
    requests: int
    cpu_us: float
    p50_us: float

    @property
    def ns_per_byte(self) -> float:
        return self.cpu_us * 1000 / self.byte_size


def costs(seconds: float) -> list[Cost]:
    """``seconds`` for each protocol and size, in turns, so that noise meets all protocols."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        version = Path(folder) / MODEL / "1"
        version.mkdir(parents=True)
        (version.parent / "config.pbtxt").write_text(_CONFIG)
        with running(Path(folder), MODEL) as server:
            for size in SIZES:
                with ExitStack() as stack:
                    series = [
                        _Series(protocol, size, server, stack.enter_context(client(server, size)))
                        for protocol, client in CLIENTS.items()
                    ]
                    for _ in range(_TURNS):
                        for one in series:
                            one.run(seconds / _TURNS)
                    found += [one.cost() for one in series]
    return found


class _Series:
    def __init__(self, protocol: str, size: int, server: Server, infer: Infer) -> None:
        self._protocol, self._size, self._server, self._infer = protocol, size, server, infer
        self._times: list[float] = []
        self._cpu_us: list[float] = []  # per request, of each turn

    def run(self, seconds: float) -> None:
        self._infer()  # warm again, after the others
        before, asked, now = self._server.counters(), len(self._times), time.perf_counter()
        end = now + seconds
        while now < end:
            start = now
            self._infer()
            now = time.perf_counter()
            self._times.append(now - start)
        after = self._server.counters()
        asked, served = len(self._times) - asked, after.requests - before.requests
        if served != asked:
            raise LoadFailed(f"{asked} requests over {self._protocol}, of which {served} succeeded")
        self._cpu_us.append((after.cpu_s - before.cpu_s) / served * 1e6)

    def cost(self) -> Cost:
        cpu_us, p50_us = statistics.median(self._cpu_us), statistics.median(self._times) * 1e6
        return Cost(self._protocol, self._size, len(self._times), cpu_us, p50_us)


def verdicts(found: Sequence[Cost]) -> list[tuple[bool, str]]:
    """One line per protocol: whether its cost grows no faster than its bytes."""
    lines = []
    for protocol in CLIENTS:
        per_byte = {one.byte_size: one.ns_per_byte for one in found if one.protocol == protocol}
        worst = max((size for size in per_byte if size > _LARGE), key=per_byte.__getitem__)
        times = per_byte[worst] / per_byte[_LARGE]
        text = (
            f"payloads, {protocol}: a byte of {worst:,} costs {times:.1f} times one of {_LARGE:,} "
            f"(wanted at most {_MOST:.0f})"
        )
        lines.append((times <= _MOST, text))
    return lines


def print_costs(found: Sequence[Cost]) -> None:
    for one in found:
        print(
            f"identity, {one.protocol:<13} {one.byte_size:>10,} bytes: {one.cpu_us:>8,.0f} µs CPU, "
            f"{one.ns_per_byte:>6.2f} ns a byte; p50 {one.p50_us:>8,.0f} µs of {one.requests:,}"
        )


if __name__ == "__main__":
    measured = costs(1.0)
    print_costs(measured)
    for kept, text in verdicts(measured):
        print("ok  " if kept else "MISS", text)
