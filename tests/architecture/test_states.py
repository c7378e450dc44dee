"""Columns of states are written by their machines alone: `controlplane.core.states`."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "controlplane"
COLUMNS = {"state", "provisioning_state", "desired"}
WRITERS = {"update", "update_or_create", "get_or_create", "bulk_update"}
MACHINE = ROOT / "core" / "states.py"
SOURCES = [p for p in sorted(ROOT.rglob("*.py")) if "migrations" not in p.parts and p != MACHINE]


def by_hand(tree: ast.AST) -> Iterator[str]:
    """Where a state is written without its machine: an UPDATE, or an attribute of a row."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            named = COLUMNS & {word.arg for word in node.keywords if word.arg}
            if node.func.attr in WRITERS and named:
                yield f"line {node.lineno}: .{node.func.attr}({', '.join(sorted(named))}=...)"
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Attribute) and target.attr in COLUMNS:
                yield f"line {target.lineno}: .{target.attr} = ..."


def test_states_are_written_by_their_machines() -> None:
    found = {
        source.relative_to(ROOT).as_posix(): places
        for source in SOURCES
        if (places := list(by_hand(ast.parse(source.read_text()))))
    }
    assert not found, f"use the machine of the app's states.py: {found}"


@pytest.mark.parametrize(
    "code",
    [
        "Upload.objects.filter(pk=1).update(offset=1, state=x)",
        "row.provisioning_state = x",
        "Replica.objects.update(desired=x)",
    ],
)
def test_one_that_is_written_by_hand_is_found(code: str) -> None:
    assert list(by_hand(ast.parse(code)))
