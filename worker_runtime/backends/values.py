"""Values of parameters, read as Triton's backends read them and refused in their words."""

import re

from worker_runtime.errors import ConfigInvalid, Problem

_TRUE, _FALSE = {"true", "on", "1"}, {"false", "off", "0"}
_INTEGER = re.compile(r"\s*([+-]?\d+)")


def as_flag(value: str) -> bool:
    """Raises ConfigInvalid."""
    lower = value.lower()
    if lower in _TRUE:
        return True
    if lower in _FALSE:
        return False
    raise bad_value(f"failed to convert '{value}' to boolean")


def as_integer(value: str) -> int:
    """The whole number that a text begins with. Raises ConfigInvalid."""
    found = _INTEGER.match(value)
    if found is None:
        raise bad_value(f"failed to convert '{value}' to integral number")
    return int(found[1])


def bad_value(message: str, field: str = "parameters") -> ConfigInvalid:
    return ConfigInvalid(message, (Problem("ConfigInvalid", message, field=field),))
