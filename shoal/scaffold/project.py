"""Writes a project: a repository with a model, a client that calls it, and a test that passes.

What stands in ``templates`` is copied; NAME in a path and ``@NAME@`` in a text become the model's
name. Files end with ``.template``, so that nobody takes them for a part of this package.
"""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from shoal.client import names
from shoal.client.errors import ShoalError

_ENDING = ".template"
_DEBUGGED = frozenset({"python", "ensemble"})  # kinds with code that debuggers attach to


def create(folder: Path, name: str, kind: str) -> list[Path]:
    """Write a project of a ``kind`` that has templates; returns its files, relative to ``folder``.

    Raises ShoalError for a name that cannot be one, and for a folder that has something in it.
    """
    if not names.is_valid(name):
        raise ShoalError(
            f"'{name}' cannot be the name of a model",
            f"Names have {names.RULE}.",
            [f"shoal init {folder} --name {names.from_text(name)}"],
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ShoalError(
            f"{folder} is there already",
            "Nothing was written.",
            ["Name a folder that does not exist."],
        )
    templates = files(__package__) / "templates"
    written: list[Path] = []
    parts = ["every", kind, *(["debug"] if kind in _DEBUGGED else [])]
    for source in (templates / part for part in parts):
        _copy(source, folder, Path(), name, written)
    return sorted(written)


def _copy(source: Traversable, folder: Path, inside: Path, name: str, written: list[Path]) -> None:
    for item in source.iterdir():
        place = inside / item.name.replace("NAME", name)
        if item.is_dir():
            _copy(item, folder, place, name, written)
            continue
        if place.suffix == _ENDING:
            place = place.with_suffix("")
            content = item.read_text(encoding="utf-8").replace("@NAME@", name).encode()
        else:
            content = item.read_bytes()
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        written.append(place)
