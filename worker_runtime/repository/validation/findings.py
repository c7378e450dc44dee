"""Findings about a configuration, and their place in its text."""

from typing import Any

from msgspec.structs import replace

from worker_runtime.errors import Problem
from worker_runtime.repository.pbtxt import Place

_NOTHING = object()


def finding(
    field: str,
    message: str,
    *,
    got: Any = _NOTHING,
    expected: str = "",
    severity: str = "error",
    hints: tuple[str, ...] = (),
) -> Problem:
    """A finding about ``field`` (a path as ``locate`` writes it); ``got`` is its value."""
    parts = [f"got {shown(got)}"] if got is not _NOTHING else []
    parts += [f"expected {expected}"] if expected else []
    return Problem(
        "ConfigInvalid",
        message,
        severity=severity,
        field=field,
        detail="; ".join(parts),
        hints=hints,
    )


def shown(value: Any) -> str:
    """A value as a person would write it into the file."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if hasattr(value, "__iter__"):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return str(value)


def placed(problem: Problem, places: dict[str, Place]) -> Problem:
    """The finding with the line of its field, or of the nearest enclosing one that is written."""
    path = problem.field
    while path:
        place = places.get(path)
        if place is not None:
            return replace(problem, line=place.line, column=place.column)
        path = path.rpartition(".")[0] if "." in path else path.rpartition("[")[0]
    return problem
