"""BYTES tensors on the wire: per element a little-endian uint32 length and that many bytes."""

from struct import Struct
from typing import Any

import numpy as np

from worker_runtime.errors import InvalidArgument

_LENGTH = Struct("<I")
_PREFIX = _LENGTH.size


def parse_strings(
    raw: Any, count: int, name: str, model: str, request_id: str = ""
) -> "np.ndarray[Any, Any]":
    """``count`` elements as a flat object array of bytes. Raises InvalidArgument."""
    data = bytes(raw)
    end, at, items = len(data), 0, list[bytes]()
    unpack = _LENGTH.unpack_from
    while at < end:
        if at + _PREFIX > end:
            raise InvalidArgument(
                f"incomplete string length indicator for inference input '{name}' for model "
                f"'{model}', expecting {_PREFIX} bytes but only {end - at} bytes available. Please "
                "make sure the string length indicator is in one buffer."
            ).for_request(request_id)
        (length,) = unpack(data, at)
        at += _PREFIX
        if len(items) == count:
            check_strings(count + 1, count, name, model, request_id)
        if at == end and length:  # a length and nothing behind it counts as an element
            check_strings(len(items) + 1, count, name, model, request_id)
        if at + length > end:
            # why without the request's id: Triton finds this one further down, in the backend.
            raise InvalidArgument(
                f"incomplete string data for inference input '{name}', expecting string of length "
                f"{length} but only {end - at} bytes available"
            )
        items.append(data[at : at + length])
        at += length
    check_strings(len(items), count, name, model, request_id)
    return string_array(items)


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
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def write_strings(array: "np.ndarray[Any, Any]") -> bytes:
    """The wire form of an object array of bytes or str."""
    parts: list[bytes] = []
    pack = _LENGTH.pack
    for item in array.reshape(-1):
        raw = item if isinstance(item, bytes) else str(item).encode()
        parts.append(pack(len(raw)))
        parts.append(raw)
    return b"".join(parts)
