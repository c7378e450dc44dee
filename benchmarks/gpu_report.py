"""What the GPU benchmark found: the file of results, the lines on the terminal, the bars."""

import argparse
import json
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks import host
from benchmarks.gpu_card import Card
from benchmarks.gpu_catalog import LIBRARIES, served
from benchmarks.host import RESULTS

Row = Mapping[str, Any]
OF_LIMIT = 0.95  # of the bare loop, at the best load
BUSY = 0.95  # of the time
SHARED_GAIN = 1.5  # times gRPC with bytes in it
CHECKED = 100_000  # answers, of which none is wrong
_BARRED = ("resnet50", "bert")
_WIDE = ("plus_one", "onnxruntime")
_LIBRARIES = ("torch", "onnxruntime-gpu", "numpy", "grpcio")


class Results:
    """Written whole after each row. ``body`` has lists: limits, points, left_out, failures."""

    def __init__(self, path: Path | None, about: dict[str, Any]) -> None:
        card = re.sub(r"[^a-z0-9]+", "-", str(about.get("card", "cpu")).lower()).strip("-")
        stamp = about["at"][:16].replace(":", "")
        self.path = path or RESULTS / f"gpu-{stamp}-{card}.json"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.body: dict[str, Any] = {
            "about": about, "limits": [], "points": [], "left_out": [], "failures": [],
        }  # fmt: skip
        self.write()

    def log(self, frontends: int) -> Path:
        """Where the log of the server with so many of them goes."""
        return self.path.with_suffix(f".{frontends}-front-ends.log" if frontends > 1 else ".log")

    def add(self, kind: str, row: dict[str, Any]) -> None:
        self.body[kind].append(row)
        self.write()

    def write(self) -> None:
        unfinished = self.path.with_suffix(".tmp")
        unfinished.write_text(json.dumps(self.body, indent=1) + "\n")
        unfinished.replace(self.path)

    def good(self) -> bool:
        """Nothing failed and no answer was wrong."""
        rows = [*self.body["points"], *self.body["limits"]]
        kinds = ("wrong", "errors", "server_failures")
        bad = any(row.get(kind) for row in rows for kind in kinds)
        return not self.body["failures"] and not bad


def about(card: Card | None, options: argparse.Namespace) -> dict[str, Any]:
    """The card, the machine, the libraries and how it was measured."""
    versions = {name: _version(name) for name in _LIBRARIES}
    return {
        **host.about(), **(card.about() if card is not None else {}), "libraries": versions,
        "system": platform.release(), "device": options.device, "tiny": options.tiny,
        "seconds": options.seconds, "instances": options.instances, "clients": options.clients,
        "server_flags": options.server_flag,
    }  # fmt: skip


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def limit_line(row: Row) -> str:
    wrong = f", {row['wrong']} WRONG" if row["wrong"] else ""
    return (
        f"{served(row['model'], row['library']):<22} batch {row['batch']:>3}: "
        f"{row['per_second']:>9,.0f}/s{_busy(row)}{wrong}"
    )


def point_line(row: Row) -> str:
    bad = "".join(
        f", {row[kind]} {kind.upper()}"
        for kind in ("wrong", "errors", "server_failures")
        if row[kind]
    )
    front = f" {row['frontends']} front ends" if row["frontends"] > 1 else ""
    return (
        f"{served(row['model'], row['library']):<22} {row['transport']:<6} "
        f"{row['under_way']:>3}x{row['batch']:<2}{front}: {row['per_second']:>9,.0f}/s, "
        f"p50 {row['p50_ms']:.2f} p99 {row['p99_ms']:.2f} ms, batch {row['mean_batch']:.1f}, "
        f"{row['cpu_us']:,.0f} µs CPU a request{_busy(row)}{bad}"
        + (f" ({row['first_error']})" if row["first_error"] else "")
    )


def _busy(row: Row) -> str:
    return "" if row["busy"] is None else f", GPU busy {row['busy']:.0%}"


def best(rows: Iterable[Row], model: str, library: str) -> Row | None:
    """The row with the highest rate of one model, one front end."""
    mine = [
        row for row in rows
        if (row["model"], row["library"]) == (model, library) and row.get("frontends", 1) == 1
    ]  # fmt: skip
    return max(mine, key=lambda row: float(row["per_second"]), default=None)


def verdicts(body: Mapping[str, Sequence[Row]]) -> list[tuple[bool, str]]:
    """One line per bar that was measured: whether it is met, and the figures."""
    lines: list[tuple[bool, str]] = []
    for model in _BARRED:
        for library in LIBRARIES[model]:
            limit = best(body["limits"], model, library)
            point = best(body["points"], model, library)
            if limit is None or point is None:
                continue
            ratio = point["per_second"] / limit["per_second"]
            name = served(model, library)
            load = f"{point['transport']} {point['under_way']}x{point['batch']}"
            text = f"{name}: {ratio:.0%} of the bare loop by {load} (wanted {OF_LIMIT:.0%})"
            lines.append((ratio >= OF_LIMIT, text))
            if point["busy"] is not None:
                text = f"{name}: GPU busy {point['busy']:.0%} then (wanted {BUSY:.0%})"
                lines.append((point["busy"] >= BUSY, text))
    for under_way, batch in ((4, 32), (32, 1)):
        by = {
            row["transport"]: row for row in body["points"]
            if (row["model"], row["library"]) == _WIDE
            and (row["under_way"], row["batch"]) == (under_way, batch)
        }  # fmt: skip
        if {"cuda", "grpc"} <= by.keys():
            gain = by["cuda"]["per_second"] / by["grpc"]["per_second"]
            text = f"CUDA shared memory, {under_way} under way of {batch} items: {gain:.1f} times"
            lines.append((gain >= SHARED_GAIN, f"{text} gRPC (wanted {SHARED_GAIN})"))
    wrong, checked = (sum(row[key] for row in body["points"]) for key in ("wrong", "checked"))
    text = f"{wrong} wrong answers of {checked:,} (wanted 0 of {CHECKED:,})"
    lines.append((not wrong and checked >= CHECKED, text))
    return lines


def print_results(body: Mapping[str, Any]) -> None:
    print()
    for row in body["limits"]:
        print(f"bare  {limit_line(row)}")
    for row in body["points"]:
        print(f"      {point_line(row)}")
    for row in body["left_out"]:
        print(f"left out {row['point']}: {row['why']}")
    for row in body["failures"]:
        print(f"FAILED {row['what']}: {row['why']}")
    for met, text in verdicts(body):
        print(f"{'ok  ' if met else 'MISS'} {text}")
