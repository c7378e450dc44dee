"""Makes docs/triton-compatibility.md: python -m tests.conformance.compatibility."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DATA = Path(__file__).with_name("features.toml")
PAGE = ROOT / "docs" / "triton-compatibility.md"
STATES = {"works": "works", "differs": "works, differs", "absent": "not here"}

_TOP = """# Compatibility with Triton

What of Triton Inference Server the runtime has, and the tests that show it. P0 to P2 say how much
users depend on a thing. "Works" is meant to the letter: names, texts and codes were compared with a
real Triton. "Works, differs" says what is otherwise, on purpose. What is not here is refused or
ignored as the note says, never half done.

This page is made from `tests/conformance/features.toml` by `make compatibility`; a test fails when
it is stale, when a test that it names does not exist, or when a row that works names none.
`make test` runs them all; `tests/load` has thousands of connections and perf_analyzer, and
`make fuzz` looks for what nobody thought of.
"""


def features() -> dict[str, list[dict[str, Any]]]:
    """Rows by group: what, here, and perhaps priority, note and tests."""
    with DATA.open("rb") as file:
        return {group: table["rows"] for group, table in tomllib.load(file).items()}


def modules() -> dict[str, Path]:
    """Every test module by its name, which is the only one of that name."""
    return {path.stem: path for path in sorted((ROOT / "tests").rglob("test_*.py"))}


def page() -> str:
    places = modules()
    parts = [_TOP, _summary()]
    for group, rows in features().items():
        priorities = any("priority" in row for row in rows)
        head = (
            "| | feature | state | note | tests |"
            if priorities
            else "| point | state | note | tests |"
        )
        parts.append(f"\n## {group}\n\n{head}\n|{'---|' * head.count(' | ')}---|")
        for row in rows:
            tests = ", ".join(_link(name, places) for name in row.get("tests", ()))
            cells = [row["what"], STATES[row["here"]], row.get("note", ""), tests]
            if priorities:
                cells.insert(0, row.get("priority", ""))
            parts.append("| " + " | ".join(cells) + " |")
    return "\n".join(parts) + "\n"


def _summary() -> str:
    lines = ["| area | works | works, differs | not here |", "|---|---|---|---|"]
    for group, rows in features().items():
        counts = [sum(row["here"] == state for row in rows) for state in STATES]
        lines.append(f"| {group} | {counts[0]} | {counts[1]} | {counts[2]} |")
    return "\n".join(lines)


def _link(name: str, places: dict[str, Path]) -> str:
    if "#" in name:
        file, _, case = name.partition("#")
        return f"[{case}](../tests/conformance/{file}.json)"
    module, _, function = name.partition("::")
    path = places[module].relative_to(ROOT)
    said = module if function == "test_case" else function
    return f"[{said.removeprefix('test_').replace('_', ' ')}](../{path})"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
