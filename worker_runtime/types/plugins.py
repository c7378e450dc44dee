"""Backends that are not built in: those of other packages, and shared Python code in a directory.

Nothing of them is imported here.
"""

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

GROUP = "shoal.backends"
SHARED_FILE = "model.py"
_INFORMATION = (".dist-info", ".egg-info", "EGG-INFO")


def third_party() -> dict[str, Any]:
    """Entry points by backend name. Looked up anew: packages may come while the server runs."""
    if not _may_be_there():
        return {}
    from importlib.metadata import entry_points  # noqa: PLC0415 # 20 ms, and few need it

    return {point.name: point for point in entry_points(group=GROUP)}


def _may_be_there() -> bool:
    """Whether the metadata of an installed package speaks of such a backend, or cannot be read."""
    lists = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if lists != [PathFinder]:  # packages that lie elsewhere than in folders
        return True
    return any(_speaks(folder or ".") for folder in sys.path)


def _speaks(folder: str) -> bool:
    try:
        with os.scandir(folder) as found:
            packages = [entry.path for entry in found if entry.name.endswith(_INFORMATION)]
    except FileNotFoundError:
        return False
    except OSError:  # an archive of packages, for instance
        return True
    return any(GROUP.encode() in _entry_points(package) for package in packages)


def _entry_points(package: str) -> bytes:
    """The file as it is: a name of a group cannot be written otherwise."""
    try:
        with open(f"{package}/entry_points.txt", "rb") as file:  # noqa: PTH123 # a hundred of them
            return file.read()
    except OSError:  # most have none; a folder that cannot be read offers nothing either
        return b""


def described(point: Any) -> str:
    """The package that offers a backend, for people. ``point`` is an entry point."""
    package = point.dist
    return f"{package.name} {package.version}" if package is not None else str(point.value)


def shared_backends(directory: Path | None) -> dict[str, Path]:
    """The folders below ``directory`` with a ``model.py`` that serves all models of their name."""
    if directory is None:
        return {}
    return {found.parent.name: found.parent for found in sorted(directory.glob(f"*/{SHARED_FILE}"))}
