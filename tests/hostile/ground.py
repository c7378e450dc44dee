"""A server, a polite client, and what an attack does to both."""

import re
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from tests.support.runtime_process import Runtime, wait_until

MIB = 2**20
GROWS_MIB, STAYS_MIB = 64, 24  # more memory than before: meanwhile, and when it is over
SAMPLES = 60  # requests of the polite client alone before each attack, and beside it
LASTS_S = 1.0  # what is quicker is done again
# A machine that others use, too, is late by itself; a loop that is held up is late by more, and
# every time. The best of a few tries is looked at.
FLOOR_S = 0.200
TRIES = 3

Attack = Callable[[Runtime], str]  # says what it offered


class Sample(NamedTuple):
    began: float
    seconds: float
    outcome: str


@dataclass
class Row:
    """Of the table that is printed."""

    attack: str
    offered: str = ""
    served: int = 0
    alone_ms: float = 0.0
    beside_ms: float = 0.0
    before_mib: int = 0
    peak_mib: int = 0
    after_mib: int = 0


def p99(samples: list[Sample]) -> float:
    return sorted(sample.seconds for sample in samples)[int(len(samples) * 0.99)]


class Ground:
    def __init__(self, server: Runtime, folder: Path) -> None:
        self.server = server
        self._lines = folder / "polite"
        with self._lines.open("wb") as output:
            self._polite = subprocess.Popen(
                [sys.executable, "-m", "tests.hostile.polite",
                 str(server.http_port), str(server.grpc_port)],
                stdout=output,
            )  # fmt: skip
        wait_until(lambda: len(self.samples(0.0)) > 2 * SAMPLES, "the polite client to warm up")
        self._alone = self.samples(0.0)[SAMPLES:]

    def close(self) -> None:
        self._polite.kill()
        self._polite.wait(10)

    def samples(self, since: float) -> list[Sample]:
        """Of the polite client, that began at ``since`` or later."""
        found = []
        for line in self._lines.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                began, seconds, outcome = line.rstrip().split(" ", 2)
                found.append(Sample(float(began), float(seconds), outcome))
        return [sample for sample in found if sample.began >= since]

    def refusals(self) -> dict[tuple[str, str], int]:
        """By protocol and reason."""
        found = re.findall(
            r'shoal_refusals_total\{protocol="(.+?)",reason="(.+?)"\} (\d+)', self.server.metrics()
        )
        return {(protocol, reason): int(count) for protocol, reason, count in found}

    def gauge(self, name: str) -> int:
        (value,) = re.findall(rf"^{re.escape(name)} (\d+)", self.server.metrics(), re.MULTILINE)
        return int(value)

    def resident(self) -> int:
        """Bytes of the server in memory."""
        pages = Path(f"/proc/{self.server.process.pid}/statm").read_text().split()[1]
        return int(pages) * 4096

    def withstands(self, row: Row, attack: Attack) -> None:
        """Run ``attack`` beside the polite client, and check what it did to it and the server."""
        for turn in range(TRIES):
            alone, beside = self._measured(row, attack)
            row.alone_ms, row.beside_ms = alone * 1e3, beside * 1e3
            if beside <= max(2 * alone, FLOOR_S):
                break
            assert turn < TRIES - 1, f"p99 {row.beside_ms:.1f} ms, alone {row.alone_ms:.1f} ms"
        grown = row.peak_mib - row.before_mib
        assert grown < GROWS_MIB, f"{grown} MiB more while it lasted"

    def _measured(self, row: Row, attack: Attack) -> tuple[float, float]:
        """The polite client's p99 alone, just before and in all, and beside the attack."""
        quiet = monotonic()
        wait_until(lambda: len(self.samples(quiet)) >= SAMPLES, "the polite client alone")
        self._alone += self.samples(quiet)
        before = peak = self.resident()
        done = threading.Event()

        def watch() -> None:
            nonlocal peak
            while not done.wait(0.01):
                peak = max(peak, self.resident())

        watching = threading.Thread(target=watch)
        watching.start()
        began = monotonic()
        try:
            turns = 0
            while not turns or monotonic() - began < LASTS_S:
                offered = attack(self.server)
                turns += 1
            ended = monotonic()
            row.offered = f"{turns} x {offered}"
            wait_until(lambda: len(self.samples(began)) >= SAMPLES, "the polite client beside")
        finally:
            done.set()
            watching.join()
        samples = [s for s in self.samples(began) if s.began <= ended] or self.samples(began)[:1]
        lost = [sample for sample in self.samples(began) if sample.outcome != "ok"]
        assert not lost, lost[:3]
        row.served = len(samples)
        row.before_mib, row.peak_mib = before // MIB, peak // MIB
        wait_until(
            lambda: self.resident() - before < STAYS_MIB * MIB,
            f"memory to come back from {row.peak_mib} to {row.before_mib} MiB", 20,
        )  # fmt: skip
        wait_until(lambda: self.gauge("shoal_buffered_bytes") == 0, "nothing to be held", 20)
        row.after_mib = self.resident() // MIB
        return p99(self._alone), p99(samples)


def lines(rows: list[Row]) -> list[str]:
    """The table, its head first."""
    cells = [
        ("attack", "offered", "polite", "p99 alone ms", "beside ms", "MiB", "peak", "after"),
        *(
            (
                row.attack, row.offered, str(row.served), f"{row.alone_ms:.1f}",
                f"{row.beside_ms:.1f}", str(row.before_mib), str(row.peak_mib), str(row.after_mib),
            )
            for row in rows
        ),
    ]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
