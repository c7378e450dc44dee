"""Secrets as every program of ours takes them: from a variable, or from a file that one names."""

from collections.abc import Mapping
from pathlib import Path


class EmptySecret(ValueError):
    """A file that should hold a secret holds nothing: an empty one would match an empty one."""


def secret(
    environment: Mapping[str, str], name: str, default_file: Path | None = None
) -> str | None:
    """The secret ``name`` of this environment: from the variable, from the file that ``name_FILE``
    names, or from ``default_file`` if it exists. None when there is none of them.

    Raises EmptySecret, and OSError for a file that cannot be read.
    """
    if value := environment.get(name):
        return _held(value, f"{name} is blank")
    if path := environment.get(f"{name}_FILE"):
        return _held(Path(path).read_text(), f"{name}_FILE={path!r} is an empty file")
    if default_file is not None and default_file.exists():
        return _held(default_file.read_text(), f"{default_file} (for {name}) is an empty file")
    return None


def _held(text: str, otherwise: str) -> str:
    if stripped := text.strip():
        return stripped
    raise EmptySecret(f"{otherwise}: expected a secret. Write it again, or unset what names it.")
