"""Tensor data in JSON: lists of numbers or texts to the wire's bytes, and back."""

import json
from collections.abc import Callable
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import MAX_DEPTH, TOO_DEEP, read
from worker_runtime.protocols.http.json_values import (
    BadJson,
    as_array,
    as_bool,
    as_int,
    as_number,
    as_string,
    as_uint,
    explained,
)
from worker_runtime.protocols.http.schema import Parsed, Unparsed, Values
from worker_runtime.protocols.http.slices import Steps
from worker_runtime.types.request import Buffer
from worker_runtime.types.tensor import DataType, string_array

_BINARY_ONLY = frozenset({"FP16", "BF16"})
_QUICK_DEPTH = 4
_DATA = "Unable to parse 'data'"
_COUNT = f"{_DATA}: Shape does not match true shape of 'data' field"
# A slice holds the event loop up for some tenths of a millisecond.
SLICE_BYTES = 32 * 1024
SLICE_ELEMENTS = 4 * 1024
_BRACKETS = bytes.maketrans(b"[]", b"  ")
_OPEN, _CLOSED = b"[]"


def from_json(raw: Values, datatype: DataType, count: int, name: str) -> Buffer:
    """``count`` elements, flat or nested in any way. Raises InvalidArgument.

    BYTES come as a flat object array; whoever knows the request compares its length with the shape.
    """
    if isinstance(raw, Parsed):
        return raw.data
    if not count:
        return string_array([]) if datatype.name == "BYTES" else b""
    refuse_binary_only(datatype, name)
    flat = _quick(raw, datatype) if isinstance(raw, bytes) else None
    if flat is None:
        flat = _thorough(raw, datatype, count)
    if datatype.name == "BYTES":
        try:
            return string_array([item.encode("utf-8", "surrogateescape") for item in flat])
        except UnicodeEncodeError:
            raise BadJson(f"{_DATA}: The surrogate pair in string is invalid.") from None
    if len(flat) != count:
        raise BadJson(_COUNT)
    try:
        with np.errstate(over="ignore"):
            return np.array(flat, dtype=datatype.dtype).tobytes()
    except OverflowError:
        _check_elements(flat, datatype)
        raise InvalidArgument(
            f"{_DATA}: a value of input '{name}' is out of the range of {datatype.name}"
        ) from None


def parsed_in_slices(raw: bytes, datatype: DataType, count: int) -> Steps[Parsed | None]:
    """What ``from_json`` gives for numbers. None for what only that can read, or refuse in words.

    ``raw`` is valid JSON: every comma outside of a text lies between two elements.
    """
    decoder = _DECODERS.get((_ITEM.get(datatype.name, int), 1))
    if datatype.name in _BINARY_ONLY or datatype.name == "BYTES" or decoder is None:
        return None
    if not raw.startswith(b"["):
        return None
    if count > len(raw):
        raise BadJson(_COUNT)
    array = np.empty(count, datatype.dtype)
    begin = filled = depth = 0
    while begin < len(raw):
        comma = raw.find(b",", begin + SLICE_BYTES)
        end = comma if comma >= 0 else len(raw)
        part, begin = raw[begin:end], end + 1
        if b"[" in part or b"]" in part:
            deepest, depth = _depths(part, depth)
            if deepest > MAX_DEPTH:
                return None
            part = part.translate(_BRACKETS)
        try:
            found = decoder.decode(b"[%b]" % part)
            if filled + len(found) > count:
                raise BadJson(_COUNT)
            with np.errstate(over="ignore"):
                array[filled : filled + len(found)] = np.array(found, dtype=datatype.dtype)
        except (msgspec.DecodeError, UnicodeDecodeError, OverflowError):
            return None
        filled += len(found)
        yield None
    if filled != count:
        raise BadJson(_COUNT)
    return Parsed(array.tobytes())


def _depths(part: bytes, depth: int) -> tuple[int, int]:
    """The deepest nesting in a part that begins at ``depth``, and that at its end."""
    codes = np.frombuffer(part, np.uint8)
    steps = (codes == _OPEN).astype(np.int32) - (codes == _CLOSED)
    levels = depth + np.cumsum(steps)
    return int(levels.max()), int(levels[-1])


def refuse_binary_only(datatype: DataType, name: str) -> None:
    """Raises InvalidArgument for data types that JSON does not carry."""
    if datatype.name in _BINARY_ONLY:
        raise InvalidArgument(
            f"receiving {datatype.name} data via JSON is not supported. Please use the binary data "
            f"format for input {name}"
        )


_ITEM: dict[str, Any] = {"BOOL": bool, "BYTES": str, "FP32": float, "FP64": float}
_READERS: dict[str, Callable[[Any], Any]] = {
    "BOOL": as_bool,
    "BYTES": as_string,
    "FP32": as_number,
    "FP64": as_number,
}


_TYPES: dict[Callable[[Any], Any], set[type]] = {
    as_bool: {bool},
    as_string: {str},
    as_number: {int, float},
}


def _nested(item: Any, depth: int) -> Any:
    for _ in range(depth):
        item = list[item]
    return item


_DECODERS = {
    (item, depth): msgspec.json.Decoder(_nested(item, depth))
    for item in (bool, str, float, int)
    for depth in range(1, _QUICK_DEPTH + 1)
}


def _quick(raw: bytes, datatype: DataType) -> list[Any] | None:
    """One list with every element of evenly nested lists, decoded by type in one go."""
    depth = 0
    for char in raw[:32]:
        if char == 0x5B:  # [
            depth += 1
        elif char not in b" \t\r\n":
            break
    decoder = _DECODERS.get((_ITEM.get(datatype.name, int), depth))
    if decoder is None:
        return None
    try:
        found: Any = decoder.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None  # unevenly nested, not finite, or wrong: the thorough way tells
    for _ in range(depth - 1):
        found = list(chain.from_iterable(found))
    return found  # type: ignore[no-any-return] # the decoders come from a table


def _thorough(raw: bytes | Unparsed, datatype: DataType, count: int) -> list[Any]:
    data = read(raw) if isinstance(raw, bytes) else raw.value
    text = datatype.name == "BYTES"
    try:
        as_array(data)
        flat: list[Any] = []
        _flatten(data, flat, 1)
    except BadJson as error:
        raise explained(_DATA, error) from None
    # a value too many is noticed before what comes behind it is looked at
    _check_elements(flat if text else flat[:count], datatype)
    return flat


def _check_elements(flat: list[Any], datatype: DataType) -> None:
    known = _READERS.get(datatype.name)
    # why: one look at all types is many times quicker than a look at each value
    if known is not None and {*map(type, flat)} <= _TYPES[known]:
        return
    read_item = known or (as_uint if datatype.name.startswith("U") else as_int)
    try:
        for item in flat:
            read_item(item)
    except BadJson as error:
        what = "Unable to parse JSON bytes array" if datatype.name == "BYTES" else _DATA
        raise explained(what, error) from None


def _flatten(data: list[Any], into: list[Any], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidArgument(TOO_DEEP)
    if list not in {*map(type, data)}:
        into.extend(data)
        return
    for item in data:
        if isinstance(item, list):
            _flatten(item, into, depth + 1)
        else:
            into.append(item)


def to_json(array: "np.ndarray[Any, Any]", datatype: DataType) -> list[Any]:
    """The elements in row-major order. Raises InvalidArgument for what JSON does not carry.

    Texts whose bytes are not UTF-8 keep them as surrogate escapes.
    """
    if datatype.name in _BINARY_ONLY:
        raise InvalidArgument(
            f"sending {datatype.name} data via JSON is not supported. Please use the binary data "
            "format for output"
        )
    flat: list[Any] = array.reshape(-1).tolist()
    if datatype.name == "BYTES":
        return [_text(item) for item in flat]
    return flat


def _text(item: Any) -> str:
    return item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else str(item)


def is_finite(array: "np.ndarray[Any, Any]") -> bool:
    """No NaN or infinity in it."""
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def written_in_slices(array: "np.ndarray[Any, Any]", datatype: DataType) -> Steps[list[bytes]]:
    """The elements as JSON, in pieces that follow each other. Raises as ``to_json``."""
    if array.size <= SLICE_ELEMENTS:
        return [encode_response(to_json(array, datatype), finite=is_finite(array))]
    flat, pieces = array.reshape(-1), list[bytes]()
    for begin in range(0, flat.size, SLICE_ELEMENTS):
        part = flat[begin : begin + SLICE_ELEMENTS]
        text = encode_response(to_json(part, datatype), finite=is_finite(part))
        pieces += (b"," if begin else b"[", text[1:-1])
        yield None
    pieces.append(b"]")
    return pieces


def encode_response(data: dict[str, Any] | list[Any], *, finite: bool) -> bytes:
    """JSON of an answer, or of a part of it; NaN and Infinity appear as such literals, bytes that
    are no text as they are.

    ``finite`` promises that there is no such number.
    """
    if finite:
        try:
            return msgspec.json.encode(data)
        except UnicodeEncodeError:
            pass  # surrogate escapes
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogateescape")
