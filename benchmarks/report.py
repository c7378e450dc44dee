"""The table on the terminal, the verdict on the targets, and the JSON that --save keeps."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.host import RESULTS
from benchmarks.payloads import Cost
from benchmarks.repository import CORES
from benchmarks.rounds import Row
from benchmarks.workloads import WORKLOADS


def print_table(rows: Sequence[Row]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("", "workload", "load", "inf/s", "limit inf/s", "of limit", "server CPU µs",
                  "bare CPU µs", "bare/server", "p50 ms", "p99 ms", "batch", "others"):  # fmt: skip
        table.add_column(title, justify="left" if title in {"", "workload", "load"} else "right")
    for row in rows:
        table.add_row(
            row.workload, row.title, f"{row.protocol} c{row.concurrency}", f"{row.per_second:,.0f}",
            f"{row.bare_per_second:,.0f}", f"{row.ratio:.0%}", f"{row.cpu_us:,.1f}",
            f"{row.bare_cpu_us:,.1f}", f"{row.cpu_ratio:.0%}", f"{row.p50_us / 1000:.2f}",
            f"{row.p99_us / 1000:.2f}", f"{row.mean_batch:.1f}", f"{row.cores_of_others:.1f}",
        )  # fmt: skip
    console = Console(width=None if Console().is_terminal else 160)
    console.print(table)


def verdicts(rows: Sequence[Row]) -> list[tuple[bool, str]]:
    """One line per promise: whether it is kept, and the figures."""
    lines = []
    for row in rows:
        target = next(item for item in WORKLOADS if item.key == row.workload).target
        name = f"{row.workload} {row.protocol}"
        if row.failures:
            lines.append((False, f"{name}: {row.failures} requests failed"))
        if target.ratio is not None:
            text = f"{name}: {row.ratio:.0%} of the bare limit (wanted {target.ratio:.0%})"
            lines.append((row.ratio >= target.ratio, text))
        most_us = target.cpu_us if row.protocol == "http" else target.grpc_cpu_us
        if most_us is not None:
            text = f"{name}: {row.cpu_us:.0f} µs of server CPU per request"
            lines.append((row.cpu_us <= most_us, f"{text} (wanted {most_us:.0f})"))
    return lines


def save(
    rows: Sequence[Row], large: Sequence[Cost], about: dict[str, Any], parameters: dict[str, Any]
) -> Path:
    kind = f"{CORES}cores-{platform.machine()}"
    # why the minute: machines differ, and one day's figures must not replace another machine's.
    path = RESULTS / f"{about['at'][:16].replace(':', '')}-{kind}.json"
    RESULTS.mkdir(exist_ok=True)
    body = {
        "host": about,
        "parameters": parameters,
        "rows": [asdict(row) for row in rows],
        "payloads": [asdict(cost) for cost in large],
    }
    path.write_text(json.dumps(body, indent=1) + "\n")
    return path
