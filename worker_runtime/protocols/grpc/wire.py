"""Just enough of protobuf's wire format to leave most of a message alone.

Two calls of the same form differ in their id and their tensors only. So a request is cut into what
it has in common with the last one (its head), its id and its raw tensors, and an answer is put
together from a head that was serialised once and the raw tensors behind it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.grpc.transport import Message

VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5  # kinds of fields
WIDTHS = {FIXED32: 4, FIXED64: 8}
_BEFORE_FIRST, _ID, _RAW = 0x09, 0x1A, 0x3A  # tags of ModelInferRequest
_ANSWER_ID, _ANSWER_RAW = b"\x1a", b"\x32"  # tags of ModelInferResponse
_EMPTY_RAW = b"\x32\x00"
# To look at more fields takes longer than a millisecond, and so does what protobuf makes of more
# bytes.
_MOST_FIELDS, _MOST_HEAD = 1024, 32 * 1024
_STREAMED = b"\x12"  # ModelStreamInferResponse.infer_response


class Cut(NamedTuple):
    """A ModelInferRequest in parts. ``head`` is all of it but the id and the raw tensors."""

    head: bytes
    name: str
    version: str
    id: str
    raw: list[memoryview]


def cut(data: Message) -> Cut | None:
    """The parts of a message with a small head in order; None when it is not of that kind.

    None is no verdict: protobuf may know better what the message means.
    """
    end, at, last = len(data), 0, _BEFORE_FIRST
    texts: list[Any] = [b"", b"", b""]  # name, version, id
    id_from = id_to = 0
    raw_from = end
    raw: list[memoryview] = []
    view = memoryview(data)
    left = _MOST_FIELDS
    while at < end and (left := left - 1):
        start, tag = at, data[at]
        # why no tag above the raw tensors': there is no such field.
        if tag < last or tag > _RAW or tag & 7 != LENGTH_DELIMITED or at + 1 >= end:
            return None
        size = data[at + 1]
        at += 2
        if size > 127:
            size, at = long_size(data, at - 1)
        stop = at + size
        if size < 0 or stop > end:
            return None
        if tag == _RAW:
            raw_from = min(raw_from, start)
            raw.append(view[at:stop])
        elif tag <= _ID:
            if tag == last:
                return None  # twice: the later one would count
            texts[(tag >> 3) - 1] = data[at:stop]
            if tag == _ID:
                id_from, id_to = start, stop
        last, at = tag, stop
    if at < end or raw_from > _MOST_HEAD:
        return None
    if isinstance(data, memoryview):
        texts = [bytes(text) for text in texts]
        head = b"".join((data[:id_from], data[id_to:raw_from]))
    else:
        head = data[:id_from] + data[id_to:raw_from] if id_to else data[:raw_from]
    try:
        return Cut(head, texts[0].decode(), texts[1].decode(), texts[2].decode(), raw)
    except UnicodeDecodeError:
        return None


def long_size(data: Message, at: int) -> tuple[int, int]:
    """A varint at ``at`` and where it ends; (-1, 0) when it is cut off or too long."""
    size = shift = 0
    for position in range(at, min(at + 5, len(data))):
        byte = data[position]
        size |= (byte & 0x7F) << shift
        if byte < 128:
            return size, position + 1
        shift += 7
    return -1, 0


def fields(view: memoryview, message: str, at: int = 0) -> Iterator[tuple[int, int, int, int]]:
    """Each field from ``at`` on: its tag, where it starts, where its value does, where it ends.

    Raises InvalidArgument naming ``message`` when one is cut off, or of a kind that proto3 has not.
    """
    end = len(view)
    while at < end:
        start, tag = at, view[at]
        at += 1
        if tag > 127:
            tag, at = long_size(view, start)
        wire = tag & 7
        if wire == LENGTH_DELIMITED:
            size, at = long_size(view, at)
            stop = at + size if size >= 0 else -1
        elif wire == VARINT:
            stop = at + 1
            while stop <= end and view[stop - 1] > 127 and stop - at < 10:
                stop += 1
            if stop <= end and view[stop - 1] > 127:
                stop = -1
        elif wire in WIDTHS:
            stop = at + WIDTHS[wire]
        else:
            stop = -1
        if tag < 8 or not start < stop <= end:
            raise InvalidArgument(f"failed to parse the {message}: a field is cut off or broken")
        yield tag, start, at, stop
        at = stop


def varint(value: int) -> bytes:
    if value < 128:
        return bytes((value,))
    parts = bytearray()
    while value > 127:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def answer_id(request_id: str) -> bytes:
    """The id field of a ModelInferResponse, nothing when there is no id."""
    if not request_id:
        return b""
    text = request_id.encode()
    return _ANSWER_ID + varint(len(text)) + text


def raw_field(size: int) -> bytes:
    """What stands in front of ``size`` bytes of a tensor in a ModelInferResponse."""
    return _ANSWER_RAW + varint(size) if size else _EMPTY_RAW


def streamed_head(size: int) -> bytes:
    """What stands in front of a ModelInferResponse of ``size`` bytes in a stream's answer."""
    return _STREAMED + varint(size)
