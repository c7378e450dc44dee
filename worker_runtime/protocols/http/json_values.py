"""Reading JSON values by type, in the words that clients of Triton know.

Malformed JSON and values of a wrong type are ``BadJson``: a 500, as in Triton.
"""

from typing import Any

from worker_runtime.errors import Internal, RuntimeFault

_UINT64 = 1 << 64
_INT64 = 1 << 63


class BadJson(Internal):
    """JSON that cannot be read, or a value in it that has the wrong type."""


def as_string(value: Any) -> str:
    if not isinstance(value, str):
        raise BadJson("attempt to access JSON non-string as string")
    return value


def as_bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadJson("attempt to access JSON non-boolean as boolean")
    return value


def as_uint(value: Any) -> int:
    """An unsigned 64-bit integer."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _UINT64:
        raise BadJson("attempt to access JSON non-unsigned-integer as unsigned-integer")
    return value


def as_int(value: Any) -> int:
    """A signed 64-bit integer."""
    if not isinstance(value, int) or isinstance(value, bool) or not -_INT64 <= value < _INT64:
        raise BadJson("attempt to access JSON non-signed-integer as signed-integer")
    return value


def as_number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadJson("attempt to access JSON non-number as double")
    return value


def as_array(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise BadJson("attempt to access JSON non-array as array")
    return value


def as_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadJson("attempt to access JSON non-object as object")
    return value


def members(value: Any) -> dict[str, Any]:
    """An object whose members are all looked at."""
    if not isinstance(value, dict):
        raise BadJson("attempt to get members for non-object")
    return value


def member(value: Any, name: str) -> Any:
    """A member that must be there."""
    if not isinstance(value, dict) or name not in value:
        raise BadJson(f"attempt to access non-existing object member '{name}'")
    return value[name]


def optional(value: Any, name: str, absent: Any = None) -> Any:
    """A member that may be missing; so it is where there is no object at all."""
    return value.get(name, absent) if isinstance(value, dict) else absent


def explained(prefix: str, error: RuntimeFault) -> RuntimeFault:
    """The same fault, saying first what was being read."""
    return type(error)(f"{prefix}: {error}")
