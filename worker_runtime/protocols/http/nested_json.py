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
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_QUOTE, _COMMA, _SPACE = b'", '
_DEPTH = np.zeros(256, np.int8)
_DEPTH[list(b"[{")], _DEPTH[list(b"]}")] = 1, -1
_NUMBERS = {int, float, bool, type(None)}
_RAGGED = "the rows have not all the same shape"
_AT = re.compile(r"\(byte ([0-9]+)\)")  # msgspec's words
_NOT_FINITE = b"NI-"  # how such numbers begin
_TOLD_BELOW = 32 * 1024  # bytes of JSON that may be read slowly to tell what is wrong


class Pieces:
    """A JSON array or object in pieces of whole elements: what it takes to look at one is bounded.

    ``raw`` is valid JSON. Each byte is looked at once, whatever stands where.
    """

    def __init__(self, raw: bytes, where: str) -> None:
        self._raw = raw.strip()
        if self._raw[:1] not in (b"[", b"{"):
            raise InvalidArgument(f"{where}: expected a list")
        self._begin, self._stop = 1, len(self._raw) - 1

    def next(self) -> Steps[bytes]:
        """As many elements as a slice holds, with the commas between them, or one ``is_long``.

        None at the end.
        """
        raw, begin, stop = self._raw, self._begin, self._stop
        at, depth, quoted = begin, 0, 0
        while at < stop:
            chunk = self._chunk(at)
            codes, quoted = _without_texts(chunk, quoted)
            levels = depth + np.cumsum(_DEPTH[codes], dtype=np.int64)
            depth = int(levels[-1])
            ends = at + np.flatnonzero((codes == _COMMA) & (levels == 0))
            one, last = at > begin, at + len(chunk) >= stop
            if ends.size and (one or not last):
                self._begin = int(ends[0 if one else -1]) + 1
                return raw[begin : self._begin - 1]
            at += len(chunk)
            if not last:
                yield None
        self._begin = stop
        return raw[begin:stop]

    def _chunk(self, at: int) -> bytes:
        """A slice from there; no escape is cut in two."""
        end = min(at + SLICE_BYTES, self._stop)
        chunk = self._raw[at:end]
        if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:
            chunk = self._raw[at : end + 1]
        return chunk


def _without_texts(chunk: bytes, quoted: int) -> tuple[Array, int]:
    """Its bytes with spaces for those of texts, and whether it ends in one; ``quoted``: begins."""
    codes = np.frombuffer(_ESCAPED.sub(b"__", chunk), np.uint8)
    quotes = quoted + np.cumsum(codes == _QUOTE)
    return np.where(quotes & 1, np.uint8(_SPACE), codes), int(quotes[-1]) & 1


def is_outermost(start: bytes) -> bool:
    """Whether what follows this start of a document is a member of its object."""
    codes, quoted = _without_texts(start, 0) if start else (np.empty(0, np.uint8), 0)
    return not quoted and int(_DEPTH[codes].sum(dtype=np.int64)) == 1


def is_long(piece: bytes) -> bool:
    """Whether it is one element, and so long that it has to be looked at in pieces."""
    return len(piece) > SLICE_BYTES + 1


def nested_array(raw: bytes, spec: TensorSpec, axes: int = 1) -> Steps[Array]:
    """Nested lists, read in pieces where they are long."""
    if axes > _MOST_AXES:
        raise InvalidArgument(f"'{spec.name}': more than {_MOST_AXES} axes")
    if len(raw) <= SLICE_BYTES or not raw.lstrip().startswith(b"["):
        return converted(decoded(raw, Any, spec.name), spec)
    parts: list[Array] = []
    pieces = Pieces(raw, spec.name)
    while piece := (yield from pieces.next()):
        yield None
        if is_long(piece):
            found = yield from nested_array(piece, spec, axes + 1)
            parts.append(found[None])
        else:
            parts.append(converted(decoded(b"[%b]" % piece, Any, spec.name), spec))
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
        allowed = {"BOOL": "b", "FP32": "iufb", "FP64": "iufb"}.get(spec.datatype.name, "iuf")
        found = _numbers(values, truths="b" in allowed)
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


def _numbers(values: Any, *, truths: bool) -> Array:
    """Of the type that they have together. Raises ValueError for uneven rows, else TypeError.

    why the types first: beside one long text NumPy makes each number as long a text.
    """
    loose = np.array(values, dtype=object)
    kinds = {*map(type, loose.reshape(-1).tolist())}
    if list in kinds:
        raise ValueError
    if not kinds <= _NUMBERS or (bool in kinds and not truths):
        raise TypeError
    found = np.array(values)
    # null among numbers, or more than 64 bits
    return found if found.dtype.kind != "O" else loose.astype(np.float64)


def _texts(values: Any) -> Array:
    array = np.array(values, dtype=object)
    flat = array.reshape(-1)
    if any(isinstance(value, list) for value in flat):
        raise ValueError
    encoded = np.empty(len(flat), dtype=object)
    encoded[:] = [value.encode() for value in flat]
    return encoded.reshape(array.shape)


def decoded(raw: bytes, kind: Any, where: str = "") -> Any:
    start = f"{where}: " if where else ""
    try:
        return msgspec.json.decode(raw, type=kind)
    except RecursionError:
        raise InvalidArgument(TOO_DEEP) from None
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"{start}{error}") from None
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{start}the JSON is no UTF-8: {error}") from None
    except msgspec.DecodeError as error:
        at = _AT.search(str(error))
        if at is not None and raw[int(at[1]) : int(at[1]) + 1] in _NOT_FINITE:
            raise InvalidArgument(f"{start}not finite numbers are null in JSON") from None
        if len(raw) <= _TOLD_BELOW:
            read(raw)  # tells the place
        text = f"{start}failed to parse the request JSON buffer: {error}"
        raise InvalidArgument(text) from None
