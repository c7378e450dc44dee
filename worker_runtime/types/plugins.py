"""Backends that are not built in: those of other packages, and shared Python code in a directory.

Nothing of them is imported here.
"""

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

GROUP = "shoal.backends"
SHARED_FILE = "model.py"


def third_party() -> dict[str, EntryPoint]:
    """By backend name. Looked up anew: packages may be installed while the server runs."""
    return {point.name: point for point in entry_points(group=GROUP)}


def described(point: EntryPoint) -> str:
    """The package that offers a backend, for people."""
    package = point.dist
    return f"{package.name} {package.version}" if package is not None else point.value


def shared_backends(directory: Path | None) -> dict[str, Path]:
    """The folders below ``directory`` with a ``model.py`` that serves all models of their name."""
    if directory is None:
        return {}
    return {found.parent.name: found.parent for found in sorted(directory.glob(f"*/{SHARED_FILE}"))}
