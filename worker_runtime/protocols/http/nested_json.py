"""Nested lists of JSON to arrays of one data type, piece by piece.

For bodies that name no shape: it is told by the lists. No piece holds the event loop up for long.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import TOO_DEEP, read
from worker_runtime.protocols.http.slices import Steps
from worker_runtime.protocols.http.tensors import SLICE_BYTES, refuse_binary_only
from worker_runtime.types.signature import TensorSpec

Array = np.ndarray[Any, Any]
_MOST_AXES = 16
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_AFTER_NESTED = re.compile(rb"[\]}][ \t\r\n]*,")
_AFTER_ANY = re.compile(rb",")
_RAGGED = "the rows have not all the same shape"


class Pieces:
    """A JSON array in pieces of whole elements: what it takes to look at one is bounded."""

    def __init__(self, raw: bytes, where: str) -> None:
        inside = raw.strip()
        if not inside.startswith(b"["):
            raise InvalidArgument(f"{where}: expected a list")
        self._inside = inside[1:-1]
        self._begin = 0
        nested = self._inside[:64].lstrip()[:1] in (b"[", b"{")
        self._ends = _AFTER_NESTED if nested else _AFTER_ANY

    def next(self) -> list[msgspec.Raw]:
        """The elements of the next piece; none at the end.

        A comma may stand within an element: then what lies before it is no JSON, and more is taken.
        """
        inside, begin, size = self._inside, self._begin, SLICE_BYTES
        while begin < len(inside):
            comma = self._ends.search(inside, begin + size)
            end = comma.end() - 1 if comma else len(inside)
            try:
                found = _LIST.decode(b"[%b]" % inside[begin:end])
            except msgspec.DecodeError:
                if comma is None:
                    raise
                size *= 2
                continue
            self._begin = end + 1
            return found
        return []


def joined(cells: Sequence[msgspec.Raw]) -> bytes:
    return b"[%b]" % b",".join([bytes(cell) for cell in cells])


def nested_array(raw: bytes, spec: TensorSpec, axes: int = 1) -> Steps[Array]:
    """Nested lists, read in pieces where they are long."""
    if axes > _MOST_AXES:
        raise InvalidArgument(f"'{spec.name}': more than {_MOST_AXES} axes")
    if len(raw) <= SLICE_BYTES or not raw.lstrip().startswith(b"["):
        return converted(decoded(raw, Any, spec.name), spec)
    parts: list[Array] = []
    pieces = Pieces(raw, spec.name)
    while rows := pieces.next():
        yield None
        if len(rows) > 1 and len(bytes(rows[0])) <= SLICE_BYTES:
            parts.append(converted(decoded(joined(rows), Any, spec.name), spec))
            continue
        for row in rows:
            found = yield from nested_array(bytes(row), spec, axes + 1)
            parts.append(found[None])
    return whole(parts, spec)


def whole(parts: Sequence[Array], spec: TensorSpec) -> Array:
    if len({part.shape[1:] for part in parts}) > 1:
        raise InvalidArgument(f"'{spec.name}': {_RAGGED}")
    return np.concatenate(parts) if parts else np.empty(0, spec.datatype.dtype)


def converted(values: Any, spec: TensorSpec) -> Array:
    """An array of the input's data type: BYTES of objects. Raises InvalidArgument."""
    refuse_binary_only(spec.datatype, spec.name)
    try:
        if spec.datatype.name == "BYTES":
            return _texts(values)
        found = np.array(values)
        if found.dtype.kind == "O":  # null among numbers
            found = np.array(values, np.float64)
        allowed = {"BOOL": "b", "FP32": "iufb", "FP64": "iufb"}.get(spec.datatype.name, "iuf")
        if found.size and found.dtype.kind not in allowed:
            raise TypeError
        with np.errstate(over="ignore", invalid="ignore"):
            array = found.astype(spec.datatype.dtype)
        if array.dtype.kind in "iu" and not np.array_equal(array, found):
            raise TypeError
    except ValueError:
        raise InvalidArgument(f"'{spec.name}': {_RAGGED}") from None
    except (TypeError, OverflowError, AttributeError):
        what = f"'{spec.name}': not all values are {spec.datatype.name}"
        raise InvalidArgument(what) from None
    return array


def _texts(values: Any) -> Array:
    array = np.array(values, dtype=object)
    flat = array.reshape(-1)
    if any(isinstance(value, list) for value in flat):
        raise ValueError
    encoded = np.empty(len(flat), dtype=object)
    encoded[:] = [value.encode() for value in flat]
    return encoded.reshape(array.shape)


def decoded(raw: bytes, kind: Any, where: str = "") -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except RecursionError:
        raise InvalidArgument(TOO_DEEP) from None
    except msgspec.ValidationError as error:
        start = f"{where}: " if where else ""
        raise InvalidArgument(f"{start}{error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        read(raw)  # tells the place
        raise InvalidArgument("not finite numbers are null in JSON") from None
