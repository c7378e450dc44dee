"""Fleets of growing size in slow motion: ``python -m tests.scale.growth [--plot docs/images/…]``.

What a node costs the control plane at 100 nodes and at 10,000, with nobody waiting for anybody:
``slow_motion`` says how it is measured. SQLite, whose work is in the CPU of the process that asks.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.scale.figures import FLAT
from tests.support import reaper
from tests.support.installation import ROOT, Installation

SIZES: Final = (100, 300, 1000, 3000, 10_000)
BASE: Final = 1000  # the bar is held against it
MINUTE: Final = {
    "report": 12,
    "samples": 12,
    "desired": 2,
}  # calls of a node at rest, in a small fleet
CALLS: Final = {
    "report": "a report that says nothing new",
    "samples": "samples of two replicas",
    "desired": "desired state",
    "ready": "a report that two replicas have become ready",
    "deploy": "a deployment of four replicas, placed",
    "list of endpoints": "50 endpoints over REST",
    "list of nodes": "50 nodes over REST",
    "list of operations": "50 operations over REST",
    "overview": "the overview, a frame",
    "snapshot": "what gateways route, rendered",
    "snapshot unchanged": "the same, where nothing has changed",
}
SHARED: Final = (
    "overview",
    "snapshot",
)  # of all nodes at once: a node's share is what must be flat


def measured(home: Path, sizes: list[int]) -> list[dict[str, Any]]:
    made = Installation(home)
    try:
        made.prepare()
        command = [sys.executable, "-m", "tests.scale.slow_motion", made.token, *map(str, sizes)]
        with subprocess.Popen(
            command, env=made.environment, cwd=ROOT, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            found = []
            for line in process.stdout:
                if line.startswith(b'{"nodes"'):
                    found.append(json.loads(line))
                    print(f"{found[-1]['nodes']} nodes are measured", file=sys.stderr)
        if process.returncode:
            raise SystemExit(f"slow_motion ended with {process.returncode}")
        return found
    finally:
        made.stop()


def port_ms(found: dict[str, Any]) -> float:
    """CPU of the agents' port for a node's minute at rest."""
    return sum(found["costs"][name][0] * times for name, times in MINUTE.items())


def jobs_ms(found: dict[str, Any]) -> float:
    """A node's share of a minute of all periodic jobs."""
    each = sum(60 / every_s * cpu_ms for every_s, cpu_ms, _ in found["jobs"].values())
    return each / found["nodes"]


def node_ms(found: dict[str, Any]) -> float:
    return port_ms(found) + jobs_ms(found)


def table(all_found: list[dict[str, Any]]) -> Iterator[str]:
    def row(name: str, cells: list[str]) -> str:
        return f"| {name} | {' | '.join(cells)} |"

    yield row("nodes, replicas", [f"{one['nodes']:,}, {2 * one['nodes']:,}" for one in all_found])
    yield "|---" * (len(all_found) + 1) + "|"
    for name, words in CALLS.items():
        costs = [one["costs"][name] for one in all_found]
        yield row(f"{words}, ms", [f"{cpu_ms:,.1f}" for cpu_ms, _, _ in costs])
        counts = {(statements, rows) for _, statements, rows in costs}
        told = [f"{statements}, {rows:,}" for _, statements, rows in costs]
        if len(counts) == 1:
            told = [told[0]] + ["the same"] * (len(costs) - 1)
        yield row("… statements and rows", told)
    for name in SHARED:
        shares = [1000 * one["costs"][name][0] / one["nodes"] for one in all_found]
        yield row(f"{CALLS[name]}: a node's share, µs", [f"{share:,.0f}" for share in shares])
    sizes = [f"{one['overview_kb']:.0f}, {one['snapshot_kb'] / 1000:,.1f}" for one in all_found]
    yield row("overview kB, snapshot MB", sizes)
    busy = [f"{jobs_ms(one) * one['nodes'] / 600:.1f}" for one in all_found]
    yield row("all periodic jobs, % of a core", busy)
    yield row("**a node's minute: its calls, ms**", [f"{port_ms(one):.0f}" for one in all_found])
    yield row("**its share of the jobs, ms**", [f"{jobs_ms(one):.1f}" for one in all_found])
    yield row("**together, ms**", [f"**{node_ms(one):.0f}**" for one in all_found])


def jobs_table(found: dict[str, Any]) -> Iterator[str]:
    """Those of the largest fleet that take more than a thousandth of a core."""
    yield "| job | each, s | ms of CPU | rows |\n|---|---|---|---|"
    for name, (every_s, cpu_ms, rows) in found["jobs"].items():
        if cpu_ms / every_s > 1:
            yield f"| {name} | {every_s:g} | {cpu_ms:,.0f} | {rows:,} |"


def plotted(all_found: list[dict[str, Any]]) -> str:
    """Bars for each size: a node's calls, and on top of them its share of the jobs."""
    width, height, left, top = 640, 30 * len(all_found) + 50, 110, 40
    most = max(map(node_ms, all_found))
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}'"
        " font-family='sans-serif' font-size='12'><rect width='100%' height='100%' fill='white'/>",
        "<text x='4' y='16' font-weight='bold'>CPU for one node's minute at rest, ms</text>",
        "<text x='300' y='16'><tspan fill='#3b7dd8'>its calls</tspan>, "
        "<tspan fill='#d88a3b'>its share of the periodic jobs</tspan></text>",
    ]
    for number, one in enumerate(all_found):
        y = top + 30 * number
        calls, jobs = (440 * value / most for value in (port_ms(one), jobs_ms(one)))
        parts += [
            f"<text x='{left - 6}' y='{y + 14}' text-anchor='end'>{one['nodes']:,} nodes</text>",
            f"<rect x='{left}' y='{y}' width='{calls:.1f}' height='20' fill='#3b7dd8'/>",
            f"<rect x='{left + calls:.1f}' y='{y}' width='{jobs:.1f}' height='20' fill='#d88a3b'/>",
            f"<text x='{left + calls + jobs + 6:.1f}' y='{y + 14}'>{node_ms(one):.0f}</text>",
        ]
    return "".join([*parts, "</svg>\n"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.scale.growth", description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=list(SIZES), help="rising sizes")
    parser.add_argument("--plot", type=Path, help="an SVG of what a node costs at each size")
    parser.add_argument("--check", action="store_true", help="exit 1 when the bar is missed")
    options = parser.parse_args()
    reaper.guard()
    with tempfile.TemporaryDirectory(prefix="shoal-growth-") as folder:
        found = measured(Path(folder), options.nodes)
    print("\n".join(table(found)), end="\n\n")
    print("\n".join(jobs_table(found[-1])), end="\n\n")
    if options.plot:
        options.plot.write_text(plotted(found))
    base = next((one for one in found if one["nodes"] == BASE), found[0])
    kept, told = FLAT.verdict(node_ms(found[-1]) / node_ms(base))
    print(f"{'ok  ' if kept else 'MISS'} {told}, {found[-1]['nodes']:,} : {base['nodes']:,} nodes")
    return 0 if kept or not options.check else 1


if __name__ == "__main__":
    sys.exit(main())
