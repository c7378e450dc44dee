"""BYTES on the wire in slices: a million elements take some tenths of a second to read or write."""

from collections.abc import Sequence
from functools import partial
from io import BytesIO
from itertools import repeat
from typing import Any

import numpy as np

from worker_runtime.protocols.slices import Steps
from worker_runtime.types.tensor import (
    MANY_STRINGS,
    check_strings,
    refuse_strings,
    written_strings,
)

_PREFIX = 4  # bytes of an element's length
# As many elements as MANY_STRINGS at most: an empty one has its length only.
_SLICE_BYTES = MANY_STRINGS * _PREFIX


def strings_in_slices(
    raw: Any, count: int, name: str, model: str, request_id: str = ""
) -> Steps["np.ndarray[Any, Any]"]:
    """As ``parse_strings``. Raises InvalidArgument."""
    view = memoryview(raw if isinstance(raw, bytes | memoryview) else bytes(raw))
    end, at, found = len(view), 0, 0
    array = np.empty(min(count, end // _PREFIX), dtype=object)
    while at <= end - _PREFIX:
        # why a copy: a client may change what lies in memory that it shares.
        data = bytes(view[at : at + _SLICE_BYTES])
        items, size = _alike(data) or _whole(data)
        if not items:
            size = _PREFIX + int.from_bytes(data[:_PREFIX], "little")
            if at + size > end:
                break
            items = [bytes(view[at + _PREFIX : at + size])]
        if found + len(items) > count:
            check_strings(count + 1, count, name, model, request_id)
        array[found : found + len(items)] = items
        found += len(items)
        at += size
        yield None
    if at < end or found < count:
        refuse_strings(view[at:], found, count, name, model, request_id)
    return array


def _alike(data: bytes) -> tuple[list[bytes], int] | None:
    """The elements at the start of ``data`` and how many bytes they take, if all have the same
    length.
    """
    length = int.from_bytes(data[:_PREFIX], "little")
    number = len(data) // (_PREFIX + length)
    if not length or not number:
        return None
    kind = np.dtype([("length", "<u4"), ("value", f"V{length}")])
    rows = np.frombuffer(data, kind, number)
    if (rows["length"] != length).any():
        return None
    return np.ascontiguousarray(rows["value"]).tolist(), number * kind.itemsize


def _whole(data: bytes) -> tuple[list[bytes], int]:
    """The elements that are whole in ``data``, from its start on, and how many bytes they take."""
    read = BytesIO(data).read
    # One is read after the other: ``map`` asks for a length, and reads as many bytes behind it.
    prefixes = iter(partial(read, _PREFIX), b"")
    lengths = map(int.from_bytes, prefixes, repeat("little"))  # type: ignore[arg-type] # as in typeshed
    items = list(map(read, lengths))
    size = _PREFIX * len(items) + sum(map(len, items))
    last = size - len(items[-1])
    # The last one, or its length, may be cut off.
    if size > len(data) or int.from_bytes(data[last - _PREFIX : last], "little") != size - last:
        items.pop()
        size = last - _PREFIX
    return items, size


def array_in_slices(items: Sequence[bytes]) -> Steps["np.ndarray[Any, Any]"]:
    """As ``string_array``, of whatever has slices."""
    array = np.empty(len(items), dtype=object)
    for begin in range(0, len(items), MANY_STRINGS):
        array[begin : begin + MANY_STRINGS] = items[begin : begin + MANY_STRINGS]
        yield None
    return array


def written_in_slices(array: "np.ndarray[Any, Any]") -> Steps[list[bytes]]:
    """As ``write_strings``, in pieces that follow each other."""
    flat, pieces = array.reshape(-1), list[bytes]()
    for begin in range(0, len(flat), MANY_STRINGS):
        pieces.append(written_strings(flat[begin : begin + MANY_STRINGS].tolist()))
        yield None
    return pieces
