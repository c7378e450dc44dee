"""Rewrites the measured part of docs/gpu.md: python -m benchmarks.gpu_page RESULTS.

The part lies between two comments; what else is on the page stays. The plots lie beside the page.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from benchmarks.gpu_catalog import LIBRARIES, models, served
from benchmarks.gpu_report import Row, best, verdicts
from benchmarks.repository import ROOT

PAGE = ROOT / "docs" / "gpu.md"
BEGIN = "<!-- measured by benchmarks.gpu: begin -->"
END = "<!-- measured by benchmarks.gpu: end -->"
PLOT = Path("images") / "gpu-rates.svg"
_LIBRARY_TITLES = {"onnxruntime": "ONNX Runtime", "pytorch": "TorchScript"}
_COLOURS = {"grpc": "#3b7dd8", "http": "#7aa6de", "system": "#d88a3b", "cuda": "#4b9a5a"}
_ROW, _LEFT, _WIDTH = 18, 190, 480  # pixels of the plot


def rewrite(page: Path, body: Mapping[str, Any]) -> None:
    """Raises ValueError for a page without the two comments, one behind the other."""
    text = page.read_text()
    start, end = text.find(BEGIN), text.find(END)
    if not 0 <= start < end:
        raise ValueError(f"{page} lacks '{BEGIN}' with '{END}' behind it")
    plot = page.parent / PLOT
    plot.parent.mkdir(exist_ok=True)
    plot.write_text(svg(body))
    page.write_text(f"{text[:start]}{BEGIN}\n{markdown(body)}\n{text[end:]}")


def markdown(body: Mapping[str, Any]) -> str:
    """Everything that was measured, what was not, and on what."""
    parts = [_about(body["about"]), f"![rates beside the bare loops]({PLOT.as_posix()})"]
    bars = [(("met" if met else "**missed**"), text) for met, text in verdicts(body)]
    parts.append(_table(("bar", "measured"), bars))
    parts.append("Bare loops, items per second:\n\n" + _limits(body))
    parts.append("The server, one front end:\n\n" + _points(body, scaled=False))
    if any(point["frontends"] > 1 for point in body["points"]):
        parts.append("The same load on more front ends:\n\n" + _points(body, scaled=True))
    untold = [f"{row['point']} ({row['why']})" for row in body["left_out"]]
    if untold:
        parts.append(f"Left out: {'; '.join(untold)}.")
    failed = [f"- {row['what']}: `{_first_line(row['why'])}`" for row in body["failures"]]
    if failed:
        parts.append("Failed:\n\n" + "\n".join(failed))
    return "\n\n".join(parts)


def _about(about: Mapping[str, Any]) -> str:
    libraries = ", ".join(f"{name} {value}" for name, value in about["libraries"].items())
    card = "no GPU: the CPU"
    if "card" in about:
        gigabytes = about["memory_bytes"] / 1e9
        card = f"{about['card']} ({gigabytes:.0f} GB), driver {about['driver']}"
        card += f", CUDA {about['cuda']}"
    tiny = " Networks are small ones of the same shapes: the rates say nothing." * about["tiny"]
    flags = f" Flags of the server: `{' '.join(about['server_flags'])}`." * bool(
        about["server_flags"]
    )
    return (
        f"Of {about['at'][:10]}: {card}; {about['cores']} cores of {about['cpu']}, Python "
        f"{about['python']}, {libraries}. {about['seconds']:g} s per point, {about['clients']} "
        f"processes of clients on the same machine, {about['instances']} instance(s) of each model."
        f"{flags}{tiny}"
    )


def _limits(body: Mapping[str, Any]) -> str:
    sizes = sorted({row["batch"] for row in body["limits"]})
    lines = []
    for model, library in _pairs():
        rates = {
            row["batch"]: row["per_second"]
            for row in body["limits"]
            if (row["model"], row["library"]) == (model, library)
        }
        if rates:
            cells = (f"{rates[size]:,.0f}" if size in rates else "" for size in sizes)
            lines.append((_title(model, body), _LIBRARY_TITLES[library], *cells))
    return _table(("model", "library", *(f"batch {size}" for size in sizes)), lines)


def _points(body: Mapping[str, Any], *, scaled: bool) -> str:
    lines = []
    for row in body["points"]:
        # why the same load with one front end, too: it is what the others are held against
        if (row["frontends"] > 1) is not scaled and not (scaled and _is_scaled(row, body)):
            continue
        limit = best(body["limits"], row["model"], row["library"])
        share = f"{row['per_second'] / limit['per_second']:.0%}" if limit is not None else ""
        busy = f"{row['busy']:.0%}" if row["busy"] is not None else ""
        lines.append(
            (
                served(row["model"], row["library"]),
                f"{row['transport']} {row['under_way']}x{row['batch']}",
                *([str(row["frontends"])] if scaled else []),
                f"{row['per_second']:,.0f}",
                share,
                f"{row['p50_ms']:.1f}",
                f"{row['p99_ms']:.1f}",
                f"{row['mean_batch']:.0f}",
                busy,
                f"{row['cpu_us']:,.0f}",
                f"{row['wrong']:,} of {row['checked']:,}",
                str(row["errors"] + row["server_failures"]),
            )
        )
    head = ("items/s", "of bare", "p50 ms", "p99 ms", "batch", "GPU busy", "CPU µs/request")
    front = ("front ends",) if scaled else ()
    return _table(("model", "load", *front, *head, "wrong", "errors"), lines)


def _is_scaled(row: Row, body: Mapping[str, Any]) -> bool:
    keys = ("model", "library", "transport", "under_way", "batch")
    return any(
        other["frontends"] > 1 and all(other[key] == row[key] for key in keys)
        for other in body["points"]
    )


def _pairs() -> Iterable[tuple[str, str]]:
    return [(model, library) for model, libraries in LIBRARIES.items() for library in libraries]


def _title(model: str, body: Mapping[str, Any]) -> str:
    return models(tiny=body["about"]["tiny"], half=True)[model].title


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def _first_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[0].replace("`", "'")[:200]


def svg(body: Mapping[str, Any]) -> str:
    """Bars of each point with one front end, and a line where the bare loop is."""
    drawn: list[str] = []
    y = 20
    for model, library in _pairs():
        limit = best(body["limits"], model, library)
        rows = [
            row
            for row in body["points"]
            if (row["model"], row["library"], row["frontends"]) == (model, library, 1)
        ]
        if not rows:
            continue
        most = max(row["per_second"] for row in [*rows, *([limit] if limit else [])])
        name = f"{_title(model, body)} - {_LIBRARY_TITLES[library]}"
        drawn.append(_text(4, y + 12, name, "font-weight='bold'"))
        top = y = y + _ROW
        for row in rows:
            length = row["per_second"] / most * _WIDTH
            label = f"{row['transport']} {row['under_way']} x {row['batch']}"
            drawn.append(_text(_LEFT - 6, y + 12, label, "text-anchor='end'"))
            drawn.append(
                f"<rect x='{_LEFT}' y='{y + 2}' width='{length:.1f}' height='{_ROW - 4}' "
                f"fill='{_COLOURS[row['transport']]}'/>"
            )
            drawn.append(_text(_LEFT + _WIDTH + 8, y + 12, f"{row['per_second']:,.0f}/s"))
            y += _ROW
        if limit is not None:
            x = _LEFT + limit["per_second"] / most * _WIDTH
            drawn.append(
                f"<line x1='{x:.1f}' x2='{x:.1f}' y1='{top}' y2='{y}' stroke='#c0392b' "
                "stroke-width='2'/>"
            )
        y += 8
    title = "Items per second; the red line is the best of the bare loop"
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{_LEFT + _WIDTH + 100}' height='{y + 8}' "
        "font-family='sans-serif' font-size='12'>"
        "<rect width='100%' height='100%' fill='white'/>"
        + _text(4, 14, title)
        + "".join(drawn)
        + "</svg>\n"
    )


def _text(x: float, y: float, text: str, attributes: str = "") -> str:
    return f"<text x='{x}' y='{y}' {attributes}>{escape(text)}</text>"


if __name__ == "__main__":
    rewrite(PAGE, json.loads(Path(sys.argv[1]).read_text()))
