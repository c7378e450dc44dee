"""JSON for ``wire.messages``: strict on what is required, deaf to what is unknown.

What passes can be kept and passed on: finite numbers of 64 bits, text that UTF-8 can spell, values
that are not nested without end. Databases, and readers of other languages, know no others.
"""

import dataclasses
import json
import re
import types
import typing
from functools import cache
from typing import Any, Final, TypeVar

T = TypeVar("T")
LARGEST: Final = 2**63 - 1
NUMBER: Final = f"a finite number from -{LARGEST} to {LARGEST}"
DEEPEST: Final = 64  # of values that have no shape of their own
SCALARS: Final = frozenset((str, int, float, bool))
SHOWN_CHARS: Final = 100  # of a wrong value
HALF_PAIR: Final = re.compile(rb"\\u[dD][89a-fA-F]")  # maybe the half of a pair, of UTF-16


class WireError(ValueError):
    """A message that cannot be understood: names the field, the value and what was expected."""


def encode(message: Any) -> bytes:
    """The message as compact JSON bytes."""
    # why not dataclasses.asdict: it copies every value, which takes several times as long
    return json.dumps(message, default=_fields, separators=(",", ":")).encode()


def as_data(message: Any) -> dict[str, Any]:
    """The message as JSON would give it back: what a database keeps of it."""
    return typing.cast(dict[str, Any], json.loads(encode(message)))


def decode(kind: type[T], payload: bytes | str) -> T:
    """Parse ``payload`` as one message of ``kind``. Raises WireError."""
    raw = payload.encode() if isinstance(payload, str) else payload
    try:
        # why decoded here: json itself lets bytes through that are no UTF-8
        data = json.loads(raw.decode())
        if HALF_PAIR.search(raw):  # half a pair can be written as an escape, but not as UTF-8
            data = json.loads(json.dumps(data, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"{kind.__name__}: not JSON: {error}") from error
    return from_data(kind, data)


def from_data(kind: type[T], data: Any) -> T:
    """Build a message of ``kind`` from parsed JSON. Raises WireError."""
    return typing.cast(T, _build(kind, data, kind.__name__))


@cache
def _shape(kind: type[Any]) -> tuple[tuple[str, Any, bool], ...]:
    """Name and type of each field, and whether a message must have it; once for each kind."""
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    return tuple(
        (item.name, hints[item.name], item.default is missing and item.default_factory is missing)
        for item in dataclasses.fields(kind)
    )


def _fields(message: Any) -> dict[str, Any]:
    return {name: getattr(message, name) for name, _, _ in _shape(message.__class__)}


def _build(kind: Any, data: Any, where: str) -> Any:
    if kind in SCALARS:  # most of all values
        return _build_scalar(kind, data, where)
    origin = typing.get_origin(kind)
    if dataclasses.is_dataclass(kind):
        return _build_dataclass(kind, data, where)
    if origin in (types.UnionType, typing.Union):
        return _build_optional(kind, data, where)
    if origin is tuple:
        item = typing.get_args(kind)[0]
        if not isinstance(data, list | tuple):
            raise WireError(f"{where}: expected a list, got {_shown(data)}")
        return tuple(_build(item, value, f"{where}[{i}]") for i, value in enumerate(data))
    if origin is dict:
        value_kind = typing.get_args(kind)[1]
        if not isinstance(data, dict):
            raise WireError(f"{where}: expected an object, got {_shown(data)}")
        return {str(k): _build(value_kind, v, f"{where}.{k}") for k, v in data.items()}
    if kind is Any:
        return _bounded(data, where)
    return _build_scalar(kind, data, where)


def _bounded(data: Any, where: str) -> Any:
    level = [data]
    for _ in range(DEEPEST):
        for value in level:
            if isinstance(value, int | float) and not _fits(value):
                raise WireError(f"{where}: expected {NUMBER}, got {_shown(value)}")
        level = [
            inner
            for value in level
            if isinstance(value, dict | list)
            for inner in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return data
    raise WireError(f"{where}: expected at most {DEEPEST} levels of lists and objects")


def _build_dataclass(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise WireError(f"{where}: expected an object, got {_shown(data)}")
    values = {}
    for name, hint, required in _shape(kind):
        if name in data:
            values[name] = _build(hint, data[name], f"{where}.{name}")
        elif required:
            raise WireError(f"{where}.{name}: missing")
    return kind(**values)


def _build_optional(kind: Any, data: Any, where: str) -> Any:
    if data is None:
        return None
    inner = next(arg for arg in typing.get_args(kind) if arg is not type(None))
    return _build(inner, data, where)


def _fits(number: float) -> bool:
    return -LARGEST <= number <= LARGEST  # which is not so for what is no number


def _shown(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _build_scalar(kind: Any, data: Any, where: str) -> Any:
    number = isinstance(data, int | float) and not isinstance(data, bool)
    if number and kind in (int, float) and not _fits(data):
        raise WireError(f"{where}: expected {NUMBER}, got {_shown(data)}")
    if kind is float and number:
        return float(data)
    if isinstance(data, kind) and (kind is bool or not isinstance(data, bool)):
        return data
    raise WireError(f"{where}: expected {kind.__name__}, got {_shown(data)}")
