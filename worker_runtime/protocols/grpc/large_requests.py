"""A large ModelInferRequest in slices, where protobuf would read it in one piece.

A request is large because of its tensors: the values in its typed fields are read here, and
protobuf gets the rest, which is bounded.
"""

from itertools import islice
from typing import Any, NamedTuple

import msgspec
import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.grpc.transport import Message
from worker_runtime.protocols.grpc.wire import (
    FIXED32,
    FIXED64,
    LENGTH_DELIMITED,
    VARINT,
    WIDTHS,
    fields,
    long_size,
    varint,
)
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.tensor import BY_NAME

MOST_FIELDS = 4096  # inputs, and so on, of one request
MOST_BYTES = 256 * 1024  # of all inputs and outputs, without values
MOST_ITEM = 32 * 1024  # of one input
MOST_TEXT = 1024 * 1024  # bytes of the rest: names and parameters
_AT_ONCE = 2048  # fields in one turn of the loop
_SLICE_BYTES = 64 * 1024
_TEXT_SLICE_BYTES = 8 * 1024  # of bytes_contents: an empty one takes two
_SPAN = 1024  # bytes of packed values that are worth a piece of their own

_NAME = "ModelInferRequest"
_INPUT, _RAW = 5, 7  # fields of ModelInferRequest
# Its fields, those that are repeated by their names. All are length-delimited, as is the rest that
# is looked at: what is not is unknown, and passed over as protobuf does it.
_FIELDS = frozenset(range(1, 8))
_REPEATED = {4: "parameters", _INPUT: "inputs", 6: "outputs", _RAW: "raw_input_contents"}
_ITEM_NAME, _ITEM_TYPE, _ITEM_SHAPE, _ITEM_CONTENTS = 1, 2, 3, 5
_ITEM_TAGS = frozenset({0x0A, 0x12, 0x18, 0x1A, 0x22})  # all but the contents
_SHOWN = 100  # characters of a name in an error


class Typed(msgspec.Struct):
    """As InferTensorContents, but bytes in the layout of the input's data type.

    Of a field that does not carry that type there is only whether it has values.
    """

    bool_contents: memoryview = memoryview(b"")
    int_contents: memoryview = memoryview(b"")
    int64_contents: memoryview = memoryview(b"")
    uint_contents: memoryview = memoryview(b"")
    uint64_contents: memoryview = memoryview(b"")
    fp32_contents: memoryview = memoryview(b"")
    fp64_contents: memoryview = memoryview(b"")
    bytes_contents: list[bytes] = []


class _Kind(NamedTuple):
    """A typed field: how single values stand in it, their numpy type, the data types it carries."""

    name: str
    wire: int
    dtype: str
    carried: frozenset[str]


_KINDS = {
    1: _Kind("bool_contents", VARINT, "?", frozenset({"BOOL"})),
    2: _Kind("int_contents", VARINT, "<i4", frozenset({"INT8", "INT16", "INT32"})),
    3: _Kind("int64_contents", VARINT, "<i8", frozenset({"INT64"})),
    4: _Kind("uint_contents", VARINT, "<u4", frozenset({"UINT8", "UINT16", "UINT32"})),
    5: _Kind("uint64_contents", VARINT, "<u8", frozenset({"UINT64"})),
    6: _Kind("fp32_contents", FIXED32, "<f4", frozenset({"FP32"})),
    7: _Kind("fp64_contents", FIXED64, "<f8", frozenset({"FP64"})),
}
_TEXT_TAG = 0x42  # bytes_contents


class Outline(NamedTuple):
    """``head`` is the message without its raw tensors and its typed values.

    ``typed`` has one for each input, None where it has no contents.
    """

    head: bytes
    raw: list[memoryview]
    typed: list[Typed | None]


def outlined(data: Message) -> Steps[Outline]:
    """Raises InvalidArgument when it is no ModelInferRequest, or when there is too much of it."""
    view = memoryview(data)
    counts = dict.fromkeys(_REPEATED, 0)
    head: list[Any] = []
    raw: list[memoryview] = []
    typed: list[Typed | None] = []
    text = described = 0
    for turn, (tag, start, at, stop) in enumerate(fields(view, _NAME), 1):
        if not turn % _AT_ONCE:
            yield None
        number = tag >> 3
        if number not in _FIELDS or tag & 7 != LENGTH_DELIMITED:
            continue
        if number in counts:
            counts[number] += 1
            if counts[number] > MOST_FIELDS:
                raise InvalidArgument(
                    f"more than {MOST_FIELDS} {_REPEATED[number]} in a ModelInferRequest, expected "
                    f"at most {MOST_FIELDS}"
                )
        if number == _RAW:
            raw.append(view[at:stop])
            continue
        part: Any = view[start:stop]
        if number == _INPUT:
            item, values = yield from _input(view[at:stop])
            typed.append(values)
            part = b"\x2a" + varint(len(item)) + item
            yield None
        if number in (_INPUT, 6):
            described += len(part)
        else:
            text += len(part)
        if described > MOST_BYTES:
            raise InvalidArgument(
                f"inputs and outputs of a ModelInferRequest take {described} bytes or more without "
                f"the tensors' values, expected at most {MOST_BYTES}"
            )
        if text > MOST_TEXT:
            raise InvalidArgument(
                f"names, id and parameters of a ModelInferRequest take {text} bytes or more, "
                f"expected at most {MOST_TEXT}"
            )
        head.append(part)
    return Outline(b"".join(head), raw, typed)


def _input(view: memoryview) -> Steps[tuple[bytes, Typed | None]]:
    """An InferInputTensor without its contents, and these."""
    head = bytearray()
    contents: list[memoryview] = []
    name = datatype = ""
    for turn, (tag, start, at, stop) in enumerate(fields(view, _NAME), 1):
        if not turn % _AT_ONCE:
            yield None
        if tag == _ITEM_CONTENTS << 3 | LENGTH_DELIMITED:
            contents.append(view[at:stop])
        elif tag in _ITEM_TAGS:
            if tag >> 3 == _ITEM_NAME:
                name = bytes(view[at : min(stop, at + _SHOWN)]).decode("utf-8", "replace")
            elif tag >> 3 == _ITEM_TYPE:
                datatype = bytes(view[at : min(stop, at + _SHOWN)]).decode("utf-8", "replace")
            if len(head) + stop - start > MOST_ITEM:
                raise InvalidArgument(
                    f"name, shape and parameters of input '{name}' take "
                    f"{len(head) + stop - start} bytes or more, expected at most {MOST_ITEM}"
                )
            head += view[start:stop]
    if not contents:
        return bytes(head), None
    return bytes(head), (yield from _typed(contents, datatype))


def _typed(contents: list[memoryview], datatype: str) -> Steps[Typed]:
    """What all ``contents`` of one input hold together, as protobuf merges them."""
    found = Typed()
    texts: list[bytes] = []
    pieces: dict[int, list[Any]] = {number: [] for number in _KINDS}
    for view in contents:
        at = 0
        while at < len(view):
            at = _take(view, at, pieces, texts)
            yield None
    found.bytes_contents = texts
    for number, kind in _KINDS.items():
        if pieces[number]:
            known = datatype in kind.carried
            values = (yield from _values(pieces[number], kind, datatype)) if known else b"\1"
            setattr(found, kind.name, memoryview(values).cast("B"))
    return found


def _take(view: memoryview, at: int, pieces: dict[int, list[Any]], texts: list[bytes]) -> int:
    """Take in what one turn has time for, from ``at`` on; where the next one begins."""
    stop = _take_texts(bytes(view[at : at + _TEXT_SLICE_BYTES]), texts)
    if stop:
        return at + stop
    for tag, _, start, stop in islice(fields(view, _NAME, at), _AT_ONCE):
        number, wire = tag >> 3, tag & 7
        if tag == _TEXT_TAG:
            texts.append(bytes(view[start:stop]))
            break
        kind = _KINDS.get(number)
        if kind is not None and wire in (LENGTH_DELIMITED, kind.wire) and start < stop:
            _check_end(kind, view[start:stop])
            _add(pieces[number], view[start:stop])
    return stop


def _take_texts(data: bytes, texts: list[bytes]) -> int:
    """Those at the start of ``data`` that are whole there, and how many bytes they take.

    why apart: there may be millions of them, and this takes a third of the time.
    """
    at, last = 0, len(data) - 1
    while at < last and data[at] == _TEXT_TAG:
        start = at + 2
        size = data[at + 1]
        if size > 127:
            size, start = long_size(data, at + 1)
        if size < 0 or start + size > last + 1:
            break
        at = start + size
        texts.append(data[start:at])
    return at


def _add(pieces: list[Any], values: memoryview) -> None:
    """Small ones share a piece."""
    if len(values) >= _SPAN:
        pieces.append(values)
    elif pieces and isinstance(pieces[-1], bytearray) and len(pieces[-1]) < _SLICE_BYTES:
        pieces[-1] += values
    else:
        pieces.append(bytearray(values))


def _check_end(kind: _Kind, values: memoryview) -> None:
    """Values end where their field does. Raises InvalidArgument."""
    width = WIDTHS.get(kind.wire)
    if values[-1] > 127 if width is None else len(values) % width:
        raise InvalidArgument(f"failed to parse the ModelInferRequest: a cut-off {kind.name}")


def _values(pieces: list[Any], kind: _Kind, datatype: str) -> Steps[Any]:
    """The values of one field, in the layout of ``datatype``."""
    if kind.wire != VARINT and len(pieces) == 1:
        return pieces[0]  # their wire format is the layout
    slices: list[Any] = []
    for piece in pieces:
        at = 0
        while at < len(piece):
            part = piece[at : at + _SLICE_BYTES]
            if kind.wire == VARINT:
                numbers = np.frombuffer(part, np.uint8)
                ends = np.flatnonzero(numbers < 128)
                if not len(ends):
                    raise _malformed(kind)
                numbers = numbers[: ends[-1] + 1]
                at += len(numbers)
                wide = _numbers(numbers, ends, kind)
                slices.append(wide.astype(BY_NAME[datatype].dtype, copy=False))
            else:
                at += len(part)
                slices.append(np.frombuffer(part, np.uint8))
            yield None
    values = np.empty(sum(map(len, slices)), slices[0].dtype)
    at = 0
    for part in slices:
        values[at : at + len(part)] = part
        at += len(part)
        yield None
    return values.view(np.uint8)


def _numbers(data: Any, ends: Any, kind: _Kind) -> Any:
    """Varints, the last bytes of which are at ``ends``."""
    if len(ends) == len(data):
        return data.astype(kind.dtype)
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    lengths = ends - starts + 1
    longest = int(lengths.max())
    if longest > 10:
        raise _malformed(kind)
    values = (data[starts] & 127).astype(np.uint64)
    for index in range(1, longest):
        longer = np.flatnonzero(lengths > index)
        more = (data[starts[longer] + index] & 127).astype(np.uint64)
        values[longer] |= more << np.uint64(7 * index)
    return values != 0 if kind.dtype == "?" else values.astype(kind.dtype)


def _malformed(kind: _Kind) -> InvalidArgument:
    return InvalidArgument(f"failed to parse the ModelInferRequest: a broken {kind.name}")
