"""Backends of other packages, found by their entry points: nothing of them is imported here."""

from importlib.metadata import EntryPoint, entry_points

GROUP = "shoal.backends"


def third_party() -> dict[str, EntryPoint]:
    """By backend name. Looked up anew: packages may be installed while the server runs."""
    return {point.name: point for point in entry_points(group=GROUP)}


def described(point: EntryPoint) -> str:
    """The package that offers a backend, for people."""
    package = point.dist
    return f"{package.name} {package.version}" if package is not None else point.value
