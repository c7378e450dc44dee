"""The tensor data types of the protocol: wire name, config name, numpy type and item size.

BYTES tensors have no item size: on the wire each element is a little-endian uint32 length and that
many bytes.
"""

from struct import Struct
from typing import Any, NoReturn

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument

_OBJECT = np.dtype(object)
_LENGTH = Struct("<I")
_PREFIX = _LENGTH.size
MANY_STRINGS = 4096  # reading or writing more holds the event loop up for over a millisecond


class DataType(msgspec.Struct, frozen=True):
    """``item_size`` is in bytes, 0 for BYTES; numpy has no BF16: its bits travel as integers."""

    name: str
    config_name: str
    number: int
    dtype: np.dtype[Any]
    item_size: int


def _row(name: str, number: int, numpy_name: str, size: int) -> DataType:
    config_name = "TYPE_STRING" if name == "BYTES" else f"TYPE_{name}"
    return DataType(name, config_name, number, np.dtype(numpy_name), size)


# Numbers are those of inference.DataType in Triton's model_config.proto.
DATA_TYPES = (
    _row("BOOL", 1, "?", 1),
    _row("UINT8", 2, "u1", 1),
    _row("UINT16", 3, "<u2", 2),
    _row("UINT32", 4, "<u4", 4),
    _row("UINT64", 5, "<u8", 8),
    _row("INT8", 6, "i1", 1),
    _row("INT16", 7, "<i2", 2),
    _row("INT32", 8, "<i4", 4),
    _row("INT64", 9, "<i8", 8),
    _row("FP16", 10, "<f2", 2),
    _row("FP32", 11, "<f4", 4),
    _row("FP64", 12, "<f8", 8),
    _row("BYTES", 13, "O", 0),
    _row("BF16", 14, "<u2", 2),
)

BY_NAME = {row.name: row for row in DATA_TYPES}
BY_NUMBER = {row.number: row for row in DATA_TYPES}
BY_DTYPE = {row.dtype: row for row in DATA_TYPES if row.name != "BF16"}

_MANY_AXES = 64
_BEYOND = 2**128


def element_count(shape: tuple[int, ...]) -> int:
    """How many elements a tensor of ``shape`` holds (1 for a scalar)."""
    if len(shape) > _MANY_AXES:
        return _of_many_axes(shape)
    count = 1
    for dim in shape:
        count *= dim
    return count


def _of_many_axes(shape: tuple[int, ...]) -> int:
    """The same, or any number beyond 64 bits: exact products of thousands take long to make."""
    if 0 in shape:
        return 0
    count = 1
    for dim in shape:
        count *= dim
        if abs(count) > _BEYOND:
            return _BEYOND
    return count


def parse_strings(
    raw: Any, count: int, name: str, model: str, request_id: str = ""
) -> "np.ndarray[Any, Any]":
    """``count`` elements as a flat object array of bytes. Raises InvalidArgument."""
    data = bytes(raw)
    if count > MANY_STRINGS:
        alike = _parse_alike(data, count)
        if alike is not None:
            return string_array(alike)
    at, items, end = 0, list[bytes](), len(data)
    last, unpack = end - _PREFIX, _LENGTH.unpack_from
    for _ in range(count):
        if at > last:
            break
        start = at + _PREFIX
        stop = start + unpack(data, at)[0]
        if stop > end:
            break
        items.append(data[start:stop])
        at = stop
    if at < end or len(items) < count:
        refuse_strings(data[at:], len(items), count, name, model, request_id)
    return string_array(items)


def refuse_strings(
    rest: bytes | memoryview,
    found: int,
    count: int,
    name: str,
    model: str,
    request_id: str = "",
) -> NoReturn:
    """Say why ``rest``, or its first bytes, cannot follow ``found`` elements of an input of
    ``count``. Raises InvalidArgument.
    """
    if 0 < len(rest) < _PREFIX:
        raise InvalidArgument(
            f"incomplete string length indicator for inference input '{name}' for model "
            f"'{model}', expecting {_PREFIX} bytes but only {len(rest)} bytes available. Please "
            "make sure the string length indicator is in one buffer."
        ).for_request(request_id)
    if not rest or found == count:
        check_strings(found + bool(rest), count, name, model, request_id)
    (length,) = _LENGTH.unpack_from(rest)
    if len(rest) == _PREFIX:  # a length and nothing behind it counts as an element
        check_strings(found + 1, count, name, model, request_id)
    # why without the request's id: Triton finds this one further down, in the backend.
    raise InvalidArgument(
        f"incomplete string data for inference input '{name}', expecting string of length "
        f"{length} but only {len(rest) - _PREFIX} bytes available"
    )


def check_strings(found: int, count: int, name: str, model: str, request_id: str = "") -> None:
    """Raises InvalidArgument unless an input has as many elements as its shape says."""
    if found > count:
        raise InvalidArgument(
            f"unexpected number of string elements {count + 1} for inference input '{name}' for "
            f"model '{model}', expecting {count}"
        ).for_request(request_id)
    if found < count:
        raise InvalidArgument(
            f"expected {count} string elements for inference input '{name}' for model '{model}', "
            f"got {found}"
        ).for_request(request_id)


def string_array(items: list[Any]) -> "np.ndarray[Any, Any]":
    """A flat object array; numpy alone would make fixed-width text of it."""
    return np.fromiter(items, _OBJECT, len(items))


def write_strings(array: "np.ndarray[Any, Any]") -> bytes:
    """The wire form of an object array of bytes or str."""
    flat = array.reshape(-1)
    if len(flat) <= MANY_STRINGS:
        return written_strings(flat.tolist())
    # why in pieces: a list of two Python objects per element takes many times their own size.
    starts = range(0, len(flat), MANY_STRINGS)
    return b"".join(
        [written_strings(flat[start : start + MANY_STRINGS].tolist()) for start in starts]
    )


def written_strings(items: list[Any]) -> bytes:
    """The same of a list."""
    parts: list[bytes] = []
    pack = _LENGTH.pack
    for item in items:
        raw = item if isinstance(item, bytes) else str(item).encode()
        parts.append(pack(len(raw)))
        parts.append(raw)
    return b"".join(parts)


def _parse_alike(data: bytes, count: int) -> list[bytes] | None:
    """The elements of a tensor whose elements all have the same length, None for others."""
    (length,) = _LENGTH.unpack_from(data) if len(data) >= _PREFIX else (0,)
    if len(data) != count * (_PREFIX + length) or not length:
        return None
    rows = np.frombuffer(data, dtype=[("length", "<u4"), ("value", f"V{length}")])
    if (rows["length"] != length).any():
        return None
    return np.ascontiguousarray(rows["value"]).tolist()  # type: ignore[no-any-return] # bytes
