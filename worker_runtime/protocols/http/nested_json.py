"""Nested lists of JSON to arrays of one data type, piece by piece.

For bodies that name no shape: it is told by the lists. No piece holds the event loop up for long.
"""

import re
from collections.abc import Sequence
from typing import Any, NoReturn

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import TOO_DEEP, read
from worker_runtime.protocols.http.json_parts import without_texts
from worker_runtime.protocols.http.tensors import SLICE_BYTES, refuse_binary_only
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.signature import TensorSpec

Array = np.ndarray[Any, Any]
_MOST_AXES = 16
_COPIED = 1024 * 1024  # bytes at a time: new memory costs more than the copy
_COMMA, _COLON = b",:"
_DEPTH = np.zeros(256, np.int8)
_DEPTH[list(b"[{")], _DEPTH[list(b"]}")] = 1, -1
_NUMBERS = {int, float, bool, type(None)}
_RAGGED = "the rows have not all the same shape"
_AT = re.compile(r"\(byte ([0-9]+)\)")  # msgspec's words
_NOT_FINITE = b"NI-"  # how such numbers begin
NO_JSON = "failed to parse the request JSON buffer: "
_CLOSED = {b"[": b"]", b"{": b"}"}
_FEW = 64
BLANK = b" \t\r\n"
_PLACE = re.compile(r" \(byte [0-9]+\)")
_LONGEST_NAME = 4096  # of a member that is long
SMALL = 32 * 1024  # bytes of JSON that may be read slowly to tell what is wrong


class Pieces:
    """A JSON array or object in pieces of whole elements: what it takes to look at one is bounded.

    Each byte is looked at once, whatever stands where; what is no JSON is found here, or by who
    decodes the pieces. Raises InvalidArgument.
    """

    def __init__(self, raw: bytes, where: str) -> None:
        self._raw = raw.strip(BLANK)
        self._where = where
        begin, end = self._raw[:1], self._raw[-1:]
        if begin not in _CLOSED:
            raise InvalidArgument(f"{where}: expected a list")
        if end != _CLOSED[begin]:
            self._fail("it ends too early")
        self._begin, self._stop = 1, len(self._raw) - 1
        self._more = False  # a comma stands before what is left

    def _fail(self, why: str) -> NoReturn:
        raise InvalidArgument(f"{self._where}: {NO_JSON}{why}")

    def next(self) -> Steps[bytes]:
        """As many elements as a slice holds, with the commas between them, or one ``is_long``.

        None at the end.
        """
        begin, stop = self._begin, self._stop
        at, depth, quoted = begin, 0, 0
        while at < stop:
            chunk = self._chunk(at)
            codes, quoted = without_texts(chunk, quoted)
            levels = depth + np.cumsum(_DEPTH[codes], dtype=np.int64)
            depth = int(levels[-1])
            ends = at + np.flatnonzero((codes == _COMMA) & (levels == 0))
            one, last = at > begin, at + len(chunk) >= stop
            if ends.size and (one or not last):
                self._begin, self._more = int(ends[0 if one else -1]) + 1, True
                return self._element(begin, self._begin - 1)
            if int(levels.min()) < 0 or (last and (depth or quoted)):
                self._fail("its brackets or quotes do not fit together")
            at += len(chunk)
            if not last:
                yield None
        self._begin = stop
        found = self._element(begin, stop)
        self._more = False
        return found

    def _element(self, begin: int, end: int) -> bytes:
        found = self._raw[begin:end]
        if not found.strip(BLANK):
            if self._more:
                self._fail("a value is missing at a comma")
            return b""
        return found

    def _chunk(self, at: int) -> bytes:
        """A slice from there; no escape is cut in two."""
        end = min(at + SLICE_BYTES, self._stop)
        chunk = self._raw[at:end]
        if (len(chunk) - len(chunk.rstrip(b"\\"))) % 2:
            chunk = self._raw[at : end + 1]
        return chunk


def is_outermost(start: bytes) -> bool:
    """Whether what follows this start of a document is a member of its object."""
    codes, quoted = without_texts(start, 0) if start else (np.empty(0, np.uint8), 0)
    return not quoted and int(_DEPTH[codes].sum(dtype=np.int64)) == 1


def member_of(piece: bytes, where: str) -> tuple[str, bytes]:
    """Name and value of one that ``is_long``."""
    codes, _ = without_texts(piece[:_LONGEST_NAME], 0)
    colons = np.flatnonzero(codes == _COLON)
    if not colons.size:
        text = f"{where}: expected a name of less than {_LONGEST_NAME} bytes"
        raise InvalidArgument(text)
    at = int(colons[0])
    return decoded(piece[:at], str, where), piece[at + 1 :]


def is_long(piece: bytes) -> bool:
    """Whether it is one element, and so long that it has to be looked at in pieces."""
    return len(piece) > SLICE_BYTES + 1


def passed_over(raw: bytes, where: str, depth: int = 1) -> Steps[None]:
    """Look at what means nothing here as far as to know that it is JSON. Raises InvalidArgument."""
    if depth > _MOST_AXES:
        raise InvalidArgument(f"{where}: more than {_MOST_AXES} long values within each other")
    start = raw[:_FEW].lstrip(BLANK)[:1]
    if len(raw) <= SLICE_BYTES or start not in _CLOSED:
        decoded(raw, msgspec.Raw, where)
        return
    pieces = Pieces(raw, where)
    while piece := (yield from pieces.next()):
        yield None
        if not is_long(piece):
            decoded(start + piece + _CLOSED[start], msgspec.Raw, where)
            continue
        inner = member_of(piece, where)[1] if start == b"{" else piece
        yield from passed_over(inner, where, depth + 1)


def nested_array(raw: bytes, spec: TensorSpec, axes: int = 1) -> Steps[Array]:
    """Nested lists, read in pieces where they are long."""
    if axes > _MOST_AXES:
        raise InvalidArgument(f"'{spec.name}': more than {_MOST_AXES} axes")
    start = raw[:_FEW].lstrip(BLANK)[:1]
    if len(raw) > SLICE_BYTES and (start == b"{" or (start == b'"' and not _is_text(spec))):
        raise _wrong(spec)
    if len(raw) <= SLICE_BYTES or start != b"[":
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
    return (yield from whole(parts, spec))


def whole(parts: Sequence[Array], spec: TensorSpec) -> Steps[Array]:
    if not parts:
        return np.empty(0, spec.datatype.dtype)
    try:
        return (yield from concatenated(parts))
    except ValueError:
        raise InvalidArgument(f"'{spec.name}': {_RAGGED}") from None


def concatenated(parts: Sequence[Array]) -> Steps[Array]:
    """One array of all rows, of the first one's type. Raises ValueError for different shapes."""
    first = parts[0]
    if len(parts) == 1:
        return first
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1 or not all(part.ndim for part in parts):
        told = " and ".join(sorted(map(str, shapes))[:2])
        raise ValueError(f"shapes of a row are {told}")
    found = np.empty((sum(map(len, parts)), *first.shape[1:]), first.dtype)
    at = copied = 0
    for part in parts:
        found[at : at + len(part)] = part
        at += len(part)
        copied += part.nbytes
        if copied > _COPIED:
            copied = 0
            yield None
    return found


def converted(values: Any, spec: TensorSpec) -> Array:
    """An array of the input's data type: BYTES of objects. Raises InvalidArgument."""
    refuse_binary_only(spec.datatype, spec.name)
    try:
        if _is_text(spec):
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
        raise _wrong(spec) from None
    return array


def _is_text(spec: TensorSpec) -> bool:
    return spec.datatype.name == "BYTES"


def _wrong(spec: TensorSpec) -> InvalidArgument:
    return InvalidArgument(f"'{spec.name}': not all values are {spec.datatype.name}")


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
    """A part of a document. Raises InvalidArgument."""
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
        # why without the place: it would be that in the part
        raise InvalidArgument(f"{start}{NO_JSON}{_PLACE.sub('', str(error))}") from None


def check_small(raw: bytes) -> None:
    """Raises BadJson, which tells the place, for a small document that is no JSON."""
    try:
        msgspec.json.decode(raw, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError) as error:
        at = _AT.search(str(error))
        if at is None or raw[int(at[1]) : int(at[1]) + 1] not in _NOT_FINITE:
            read(raw)
