"""``--set request_settings.request_timeout_ms=3000``: single values laid over a file's."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from shoal.client.errors import ShoalError


class OverrideInvalid(ShoalError):
    code = "BadArgument"


def parsed(expressions: Iterable[str]) -> list[tuple[str, Any]]:
    """(path, value) pairs. A value that begins with a bracket is JSON, any other a text."""
    found = []
    for expression in expressions:
        path, equals, value = expression.partition("=")
        if not equals or not path.strip(". "):
            raise OverrideInvalid(
                f"--set {expression}",
                "expected KEY=VALUE",
                ["For instance: --set instance_count=2"],
            )
        found.append((path.strip(), _value(value)))
    return found


def settable(
    expressions: Iterable[str], keys: Iterable[str], fixed: Mapping[str, object]
) -> dict[str, Any]:
    """The same as a dictionary. Raises OverrideInvalid for a key of ``fixed``, unless it is said
    to be just what it is; ``keys`` are all that there are."""
    found = dict(parsed(expressions))
    for path, value in found.items():
        key = path.partition(".")[0]
        if key in fixed and (path != key or str(value) != str(fixed[key])):
            others = sorted(name for name in keys if name not in fixed and name[:1] != "$")
            raise OverrideInvalid(
                f"--set {path}={value}",
                f"{key}: cannot be set here",
                [f"What can: {', '.join(others)}."],
            )
    return found


def laid_over(values: Mapping[str, Any], overrides: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A copy of ``values`` in which every dotted path has its new value; None takes a key away."""
    result: dict[str, Any] = json.loads(json.dumps(dict(values), default=str))
    for path, value in overrides:
        here: dict[str, Any] = result
        *parents, last = path.split(".")
        for parent in parents:
            below = here.get(parent)
            if not isinstance(below, dict):
                below = here[parent] = {}
            here = below
        if value is None:
            here.pop(last, None)
        else:
            here[last] = value
    return result


def flat(overrides: Iterable[Mapping[str, Any]] | None) -> list[tuple[str, Any]]:
    """``params_override`` of the SDK: a list of dictionaries with dotted keys."""
    return [item for override in overrides or [] for item in override.items()]


def _value(text: str) -> Any:
    if text[:1] in ("{", "["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return None if text == "null" else text
