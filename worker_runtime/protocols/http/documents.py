"""Large JSON documents of what is not ``/infer``, in slices: their members, whatever is in them.

What is no JSON is refused in the words of small ones, with its place in the whole.
"""

import base64
from typing import Any

import msgspec

from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.http.json_parser import Checker, loosely, names_of, read_again
from worker_runtime.protocols.http.json_parts import Parts
from worker_runtime.protocols.http.json_values import as_string, members
from worker_runtime.protocols.http.nested_json import BLANK, Pieces, is_long, member_of
from worker_runtime.protocols.http.tensors import SLICE_BYTES, read_in_slices
from worker_runtime.protocols.slices import Steps
from worker_runtime.types.tensor import BY_NAME

MOST_SHORT = 256 * 1024  # bytes of members without texts and long values
_WHERE = "the JSON"
_BOM = b"\xef\xbb\xbf"
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_NO_BASE64 = bytes({*range(256)} - {*_BASE64})


class Long(msgspec.Struct):
    """A value that is too long to be read in one go: its JSON."""

    raw: bytes


Members = list[tuple[str, Any]]


def large_document(raw: bytes) -> Steps[Members]:
    """The members of an object, in their order. Raises BadJson, InvalidArgument."""
    parts, checker = Parts(raw), Checker(len(raw))
    while (part := (yield from parts.next())) is not None:
        checker.check(part.document, part.place)
        yield None
    return (yield from members_in_slices(raw.removeprefix(_BOM)))


def members_in_slices(raw: bytes) -> Steps[Members]:
    """The same of what is known to be JSON. Of a name given twice the first value comes twice."""
    if not raw.lstrip(BLANK).startswith(b"{"):
        members(None)
    found: Members = []
    first: dict[str, Any] = {}
    pieces, size = Pieces(raw, _WHERE), 0
    while piece := (yield from pieces.next()):
        if is_long(piece):
            name, value = member_of(piece, _WHERE)
            document: dict[str, Any] = {name: Long(value.strip(BLANK))}
            size += len(name)
        else:
            document = _read(b"{%b}" % piece)
            size += len(piece) - sum(len(v) for v in document.values() if isinstance(v, str))
        if size > MOST_SHORT:
            raise InvalidArgument(
                "Request JSON without its texts and long values exceeds the maximum allowed value "
                f"of {MOST_SHORT} bytes"
            )
        for name in names_of(document):
            found.append((name, first.setdefault(name, document[name])))
        yield None
    return found


def _read(raw: bytes) -> Any:
    try:
        return read_again(raw)
    except ValueError:  # a number that no double holds
        return loosely(raw)


def count_in_slices(raw: bytes) -> Steps[int]:
    """How many values a list has, those of lists in it not counted."""
    count = 0
    pieces = Pieces(raw, _WHERE)
    while piece := (yield from pieces.next()):
        if is_long(piece):
            count += 1
        elif piece.strip(BLANK):
            count += len(loosely(b"[%b]" % piece))
        yield None
    return count


def text_in_slices(value: Any) -> Steps[bytes]:
    """A text, in UTF-8. Raises BadJson for what is none."""
    if not isinstance(value, Long) or not value.raw.startswith(b'"'):
        return as_string(None if isinstance(value, Long) else value).encode(
            "utf-8", "surrogateescape"
        )
    found = yield from read_in_slices(b"[%b]" % value.raw, BY_NAME["BYTES"], 1, "")
    text: bytes = found.data[0]  # type: ignore[assignment] # an array of one text
    return text


def base64_in_slices(text: bytes, name: str) -> Steps[bytes]:
    """Padding may be missing, and what is no base64 is passed over. Raises InvalidArgument."""
    parts, left, ended = [], b"", False
    for begin in range(0, len(text), SLICE_BYTES):
        piece = text[begin : begin + SLICE_BYTES].translate(None, _NO_BASE64)
        letters = piece.rstrip(b"=")
        if (ended and letters) or b"=" in letters:
            raise InvalidArgument(f"failed to decode base64 of '{name}': it goes on behind a '='")
        ended = ended or letters != piece
        left += letters
        whole = len(left) // 4 * 4
        parts.append(base64.b64decode(left[:whole]))
        left = left[whole:]
        yield None
    if len(left) == 1:
        raise InvalidArgument(
            f"failed to decode base64 of '{name}': one letter is left over, which is no byte"
        )
    parts.append(base64.b64decode(left + b"=" * (-len(left) % 4)))
    return b"".join(parts)
