"""docs/triton-compatibility.md cannot lie: it is what the data say, and they name real tests."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import pytest

from tests.conformance.compatibility import PAGE, STATES, features, modules, page

ROWS = [(group, row) for group, rows in features().items() for row in rows]
NAMED = sorted({name for _, row in ROWS for name in row.get("tests", ())})
_NEVER = re.compile(r"\b(skip|xfail)\b")  # a condition may leave one out here and there
CONFORMANCE = Path(__file__).parents[1] / "conformance"


@cache
def collected(path: Path) -> frozenset[str]:
    """The test functions of a module that pytest takes up and nothing skips."""
    names = [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and not any(_NEVER.search(ast.unparse(mark)) for mark in node.decorator_list)
    ]
    assert len(names) == len(set(names)), f"{path}: a test hides another of its name"
    return frozenset(names)


def test_module_names_are_unique() -> None:
    paths = list((CONFORMANCE.parent).rglob("test_*.py"))
    assert len(modules()) == len(paths)


@pytest.mark.parametrize("name", NAMED)
def test_named_tests_exist(name: str) -> None:
    if "#" in name:
        file, _, case = name.partition("#")
        data = CONFORMANCE / f"{file}.json"
        assert case in [item.get("name") for item in json.loads(data.read_text())]
        users = [path for path in CONFORMANCE.glob("test_*.py") if data.name in path.read_text()]
        assert users, f"nothing runs the cases of {data.name}"
        return
    module, _, function = name.partition("::")
    assert module in modules(), f"there is no {module}.py"
    assert function in collected(modules()[module])


@pytest.mark.parametrize(("group", "row"), ROWS, ids=[f"{g}: {r['what'][:50]}" for g, r in ROWS])
def test_rows_are_complete(group: str, row: dict[str, object]) -> None:
    assert set(row) <= {"what", "priority", "here", "note", "tests"}
    assert row["here"] in STATES
    if row["here"] != "absent":
        assert row.get("tests"), "what works must name a test"
    if row["here"] == "differs":
        assert row.get("note"), "what differs must say how"


def test_the_thirty_points_are_all_there() -> None:
    points = [row["what"].split(".")[0] for row in features()["Thirty points that are often wrong"]]
    assert points == [str(number) for number in range(1, 31)]


def test_the_page_is_what_the_data_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make compatibility"
