"""JSON for ``wire.messages``: strict on what is required, deaf to what is unknown."""

import dataclasses
import json
import types
import typing
from typing import Any, TypeVar

T = TypeVar("T")


class WireError(ValueError):
    """A message that cannot be understood: names the field, the value and what was expected."""


def encode(message: Any) -> bytes:
    """The message as compact JSON bytes."""
    return json.dumps(dataclasses.asdict(message), separators=(",", ":")).encode()


def decode(kind: type[T], payload: bytes | str) -> T:
    """Parse ``payload`` as one message of ``kind``. Raises WireError."""
    try:
        data = json.loads(payload)
    except ValueError as error:
        raise WireError(f"{kind.__name__}: not JSON: {error}") from error
    return from_data(kind, data)


def from_data(kind: type[T], data: Any) -> T:
    """Build a message of ``kind`` from parsed JSON. Raises WireError."""
    return typing.cast(T, _build(kind, data, kind.__name__))


def _build(kind: Any, data: Any, where: str) -> Any:
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, data, where)
    if origin in (types.UnionType, typing.Union):
        return _build_optional(kind, data, where)
    if origin is tuple:
        item = typing.get_args(kind)[0]
        if not isinstance(data, list | tuple):
            raise WireError(f"{where}: expected a list, got {data!r}")
        return tuple(_build(item, value, f"{where}[{i}]") for i, value in enumerate(data))
    if origin is dict:
        value_kind = typing.get_args(kind)[1]
        if not isinstance(data, dict):
            raise WireError(f"{where}: expected an object, got {data!r}")
        return {str(k): _build(value_kind, v, f"{where}.{k}") for k, v in data.items()}
    if kind is Any:
        return data
    return _build_scalar(kind, data, where)


def _build_dataclass(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise WireError(f"{where}: expected an object, got {data!r}")
    hints = typing.get_type_hints(kind)
    values = {}
    for item in dataclasses.fields(kind):
        if item.name in data:
            values[item.name] = _build(hints[item.name], data[item.name], f"{where}.{item.name}")
        elif item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            raise WireError(f"{where}.{item.name}: missing")
    return kind(**values)


def _build_optional(kind: Any, data: Any, where: str) -> Any:
    if data is None:
        return None
    inner = next(arg for arg in typing.get_args(kind) if arg is not type(None))
    return _build(inner, data, where)


def _build_scalar(kind: Any, data: Any, where: str) -> Any:
    if kind is float and isinstance(data, int | float) and not isinstance(data, bool):
        return float(data)
    if isinstance(data, kind) and (kind is bool or not isinstance(data, bool)):
        return data
    raise WireError(f"{where}: expected {kind.__name__}, got {data!r}")
