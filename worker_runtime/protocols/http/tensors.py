"""Tensor data in JSON: lists of numbers or texts to the wire's bytes, and back."""

import json
from typing import Any

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.request import Buffer
from worker_runtime.types.strings import string_array
from worker_runtime.types.tensor import DataType

_MAX_NESTING = 100
_BINARY_ONLY = frozenset({"FP16", "BF16"})


def from_json(raw: bytes, datatype: DataType, count: int, name: str) -> Buffer:
    """``count`` elements, flat or nested in any way. Raises InvalidArgument."""
    if datatype.name in _BINARY_ONLY:
        raise InvalidArgument(
            f"sending {datatype.name} data via JSON is not supported. Please use the binary data "
            f"format for input {name}"
        )
    flat = _flat(raw, datatype, name)
    if len(flat) != count:
        raise InvalidArgument(
            f"unexpected number of elements for input '{name}': expected {count}, got {len(flat)}"
        )
    if datatype.name == "BYTES":
        return string_array([item.encode() for item in flat])
    try:
        return np.array(flat, dtype=datatype.dtype).tobytes()
    except (OverflowError, ValueError, TypeError) as error:
        raise InvalidArgument(f"input '{name}': {error}") from error


_FLAT: dict[str, Any] = {
    "BOOL": list[bool],
    "BYTES": list[str],
    "FP32": list[float],
    "FP64": list[float],
}
_ITEM: dict[str, tuple[type, ...]] = {
    "BOOL": (bool,),
    "BYTES": (str,),
    "FP32": (float, int),
    "FP64": (float, int),
}


def _flat(raw: bytes, datatype: DataType, name: str) -> list[Any]:
    """One list with every element. The straight case is decoded by type in one go."""
    try:
        return msgspec.json.decode(raw, type=_FLAT.get(datatype.name, list[int]))  # type: ignore[no-any-return] # the type is picked from a table
    except (msgspec.ValidationError, msgspec.DecodeError):
        pass  # nested, not finite, or wrong: the thorough way tells
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"unable to parse the data of input '{name}': {error}") from error
    flat: list[Any] = []
    _flatten(data, flat, 0, name)
    allowed = _ITEM.get(datatype.name, (int,))
    for item in flat:
        if not isinstance(item, allowed) or (isinstance(item, bool) and bool not in allowed):
            raise InvalidArgument(
                f"unable to parse 'data' of input '{name}': {item!r} is not a value of "
                f"{datatype.name}"
            )
    return flat


def _flatten(data: Any, into: list[Any], depth: int, name: str) -> None:
    if depth > _MAX_NESTING:
        raise InvalidArgument(f"the data of input '{name}' is nested too deeply")
    if not isinstance(data, list):
        into.append(data)
        return
    for item in data:
        if isinstance(item, list):
            _flatten(item, into, depth + 1, name)
        else:
            into.append(item)


def to_json(array: "np.ndarray[Any, Any]", datatype: DataType, name: str) -> list[Any]:
    """The elements in row-major order. Raises InvalidArgument for what JSON does not carry."""
    if datatype.name in _BINARY_ONLY:
        raise InvalidArgument(
            f"sending {datatype.name} data via JSON is not supported. Please use the binary data "
            f"format for output {name}"
        )
    flat: list[Any] = array.reshape(-1).tolist()
    if datatype.name == "BYTES":
        return [_text(item, name) for item in flat]
    return flat


def _text(item: Any, name: str) -> str:
    if not isinstance(item, bytes):
        return str(item)
    try:
        return item.decode()
    except UnicodeDecodeError as error:
        raise InvalidArgument(
            f"output '{name}' has an element that is not UTF-8: ask for binary data"
        ) from error


def encode_response(data: dict[str, Any], *, finite: bool) -> bytes:
    """Response JSON; NaN and Infinity appear as such literals, as in Triton."""
    if finite:
        return msgspec.json.encode(data)
    return json.dumps(data, separators=(",", ":")).encode()
