"""No file of ours imports in a ring with others, and a ring is seen when there is one.

import-linter looks at folders; this looks at files, and at every import statement: those in
functions and under ``TYPE_CHECKING`` count too.
"""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
Graph = dict[str, set[str]]


def packages() -> list[Path]:
    """The product's top-level packages: the folders that setuptools would find."""
    others = {"benchmarks", "examples", "tests"}
    return [p.parent for p in sorted(ROOT.glob("*/__init__.py")) if p.parent.name not in others]


def modules(folders: list[Path]) -> dict[str, Path]:
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of ours that a module names in import statements."""
    home = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found.update(f"{base}.{alias.name}" for alias in node.names)
    # what is imported from a module is the module's, unless it is a module itself
    return {known_as for item in found if (known_as := _module_of(item, known))} - {name}


def _module_of(name: str, known: dict[str, Path]) -> str:
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def graph(folders: list[Path]) -> Graph:
    known = modules(folders)
    return {name: imported(name, path, known) for name, path in known.items()}


def ring(imports: Graph) -> list[str]:
    """One ring, its first module again at its end; [] when there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


def test_no_file_imports_in_a_ring() -> None:
    imports = graph(packages())
    assert len(imports) > 500, "the packages were found"
    found = ring(imports)
    assert not found, "import in a ring: " + " -> ".join(found)


def test_a_ring_is_seen_wherever_the_import_stands(tmp_path: Path) -> None:
    package = tmp_path / "ringed"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "first.py").write_text("from . import second\n")
    (package / "second.py").write_text("def use():\n    from ringed.third import name\n")
    (package / "third.py").write_text("import typing\nif typing.TYPE_CHECKING:\n    import os\n")
    assert not ring(graph([package]))
    (package / "third.py").write_text(
        "import typing\nif typing.TYPE_CHECKING:\n    from .first import name\n"
    )
    assert {*ring(graph([package]))} == {"ringed.first", "ringed.second", "ringed.third"}
