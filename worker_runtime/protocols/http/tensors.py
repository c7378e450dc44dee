"""Tensor data in JSON: lists of numbers or texts to the wire's bytes, and back."""

import json
import re
from collections.abc import Callable
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import MAX_DEPTH, TOO_DEEP, loosely, read
from worker_runtime.protocols.http.json_parts import LONGEST, Part, Parts
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
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.request import Buffer
from worker_runtime.types.tensor import DataType, string_array

_BINARY_ONLY = frozenset({"FP16", "BF16"})
_QUICK_DEPTH = 4
_DATA = "Unable to parse 'data'"
_COUNT = f"{_DATA}: Shape does not match true shape of 'data' field"
# A slice holds the event loop up for some tenths of a millisecond.
SLICE_BYTES = 32 * 1024
SLICE_ELEMENTS = 4 * 1024
_MOST_TEXT = 256 * 1024
# The first quote ends a text: one that begins a text has a comma, a bracket or a space in front.
_BETWEEN_TEXTS = re.compile(rb'[^\\,\[ \t\r\n]"[ \t\r\n]*(,)[ \t\r\n]*"')
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
        return string_array(_encoded(flat))
    if len(flat) != count:
        raise BadJson(_COUNT)
    try:
        return _numbers(flat, datatype).tobytes()
    except OverflowError:
        _check_elements(flat, datatype)
        raise _out_of_range(datatype, name) from None


def _encoded(texts: list[str]) -> list[bytes]:
    try:
        return [item.encode("utf-8", "surrogateescape") for item in texts]
    except UnicodeEncodeError:
        raise BadJson(f"{_DATA}: The surrogate pair in string is invalid.") from None


def _out_of_range(datatype: DataType, name: str) -> InvalidArgument:
    return InvalidArgument(
        f"{_DATA}: a value of input '{name}' is out of the range of {datatype.name}"
    )


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
        if end - begin > SLICE_BYTES + LONGEST:
            return None
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
            array[filled : filled + len(found)] = _numbers(found, datatype)
        except (msgspec.DecodeError, UnicodeDecodeError, OverflowError):
            return None
        filled += len(found)
        yield None
    if filled != count:
        raise BadJson(_COUNT)
    return Parsed(array.tobytes())


def texts_in_slices(raw: bytes) -> Steps[Parsed | None]:
    """What ``from_json`` gives for one list of texts, whatever its shape says; None for others.

    ``raw`` is valid JSON.
    """
    if not raw.startswith(b"["):
        return None
    begin, end, parts = 1, len(raw) - 1, list[Any]()
    decode = _DECODERS[str, 1].decode
    while begin < end:
        cut = _BETWEEN_TEXTS.search(raw, begin + SLICE_BYTES, begin + 2 * SLICE_BYTES)
        stop = cut.end(1) - 1 if cut is not None else end
        if stop - begin > _MOST_TEXT:
            return None
        try:
            parts.append(string_array(_encoded(decode(b"[%b]" % raw[begin:stop]))))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        begin = stop + 1
        yield None
    return Parsed((yield from _joined(parts, np.dtype(object))))


def read_in_slices(raw: bytes, datatype: DataType, count: int, name: str) -> Steps[Parsed]:
    """What ``from_json`` gives, for whatever is valid JSON. Raises InvalidArgument."""
    if not count:
        return Parsed(from_json(raw, datatype, count, name))
    refuse_binary_only(datatype, name)
    parts, values = Parts(raw), _Values(datatype, count, name)
    while (part := (yield from parts.next())) is not None:
        values.take(_elements(part, datatype), part)
        yield None
    return Parsed((yield from values.joined()))


def _elements(part: Part, datatype: DataType) -> list[Any]:
    """Of a list that may begin before it and go on behind it."""
    if len(part.before) > MAX_DEPTH:
        raise InvalidArgument(TOO_DEEP)
    # what is within an object is no value: a part of it need only be JSON
    text = part.document if b"{" in part.before else part.alone
    flat = _quick(text, datatype)
    if flat is None:
        data, flat = loosely(text), []
        try:
            _flatten(as_array(data), flat, 1)
        except BadJson as error:
            raise explained(_DATA, error) from None
    return flat


class _Values:
    """Those of one tensor, as they come. The first that is wrong is told when all are there."""

    def __init__(self, datatype: DataType, count: int, name: str) -> None:
        self._datatype, self._count, self._name = datatype, count, name
        self._text = datatype.name == "BYTES"
        self._parts: list[Any] = []
        self._long: list[bytes] = []  # what is there of a text that goes on
        self._found = 0
        # why not the fault: its frames would keep all that was read until the next collection
        self._wrong = ""
        self._too_large = False

    def take(self, values: list[Any], part: Part) -> None:
        left = max(0, self._count - self._found)
        self._found += len(values) - (part.text_at is not None)
        if self._wrong:
            return
        try:
            # a value too many is noticed before what comes behind it is looked at
            _check_elements(values if self._text else values[:left], self._datatype)
            if self._text:
                self._parts.append(string_array(self._glued(_encoded(values), part)))
            elif self._found <= self._count:
                self._parts.append(_numbers(values, self._datatype))
        except BadJson as error:
            self._wrong = str(error)
        except OverflowError:
            self._too_large = True

    def _glued(self, texts: list[bytes], part: Part) -> list[bytes]:
        """With whole texts only: of the last one more may come."""
        if part.text_at is not None:
            self._long.append(texts[0])
            if part.text_open and len(texts) == 1:
                return []
            texts[0] = b"".join(self._long)
        self._long = [texts.pop()] if part.text_open else []
        return texts

    def joined(self) -> Steps[Buffer]:
        if self._wrong:
            raise BadJson(self._wrong)
        if not self._text and self._found != self._count:
            raise BadJson(_COUNT)
        if self._too_large:
            raise _out_of_range(self._datatype, self._name)
        array = yield from _joined(self._parts, self._datatype.dtype)
        return array if self._text else array.tobytes()


def _joined(parts: list[Any], dtype: "np.dtype[Any]") -> Steps["np.ndarray[Any, Any]"]:
    """One array of them; ``parts`` is empty then: letting go of millions of texts takes a while."""
    array = np.empty(sum(map(len, parts)), dtype)
    at = 0
    parts.reverse()
    while parts:
        part = parts.pop()
        array[at : at + len(part)] = part
        at += len(part)
        yield None
    return array


def _numbers(values: list[Any], datatype: DataType) -> "np.ndarray[Any, Any]":
    with np.errstate(over="ignore"):
        return np.array(values, dtype=datatype.dtype)


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
