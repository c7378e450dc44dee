"""Header blocks: HPACK to checked request heads, with a cache of whole blocks; constant blocks out.

Clients repeat themselves: once their table has settled, call after call has the very same bytes.
A block that leaves the table as it was means the same as long as the table stays, so its decoded
form is kept by its bytes. Gateways put a new id into the table with each call; there all fields but
that one repeat themselves, so the decoded form is kept by those. What we send uses no table at all,
so it can be made once. (RFC 7541 has the compression, RFC 9113 what is malformed.)
"""

import re

import hpack
import msgspec
from hpack.table import HeaderTable

from worker_runtime.observability.requests.watched import X_REQUEST_ID, id_in, id_of
from worker_runtime.protocols.forms import remember
from worker_runtime.protocols.grpc.native import huffman
from worker_runtime.protocols.grpc.native.frames import ConnectionFault, ErrorCode
from worker_runtime.protocols.grpc.transport import fitting

_MAX_TIMEOUT_NS = 2**62
_UNIT_NS = {
    "H": 3_600_000_000_000,
    "M": 60_000_000_000,
    "S": 1_000_000_000,
    "m": 1_000_000,
    "u": 1000,
    "n": 1,
}
# What sections 8.2 and 8.3 let stand.
_is_name = re.compile(rb":?[-!#$%&'*+.^_`|~0-9a-z]+").fullmatch
_breaks_lines = re.compile(rb"[\0\r\n]").search
_is_length = re.compile("[0-9]{1,18}").fullmatch
_PSEUDO = frozenset((":method", ":scheme", ":path", ":authority"))
_OF_CONNECTIONS = frozenset(
    ("connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade")
)
_READ_HERE = frozenset(
    ("content-type", "te", "grpc-timeout", "grpc-encoding", "grpc-accept-encoding")
)
_COLON = ord(":")
MALFORMED = 400

RawField = tuple[bytes, bytes]
Field = tuple[str, str]
Metadata = tuple[Field, ...]
MAX_HEADER_BYTES = 64 * 1024
_MAX_CACHED = 256
_MAX_CACHED_BYTES = 64 * 1024  # decoded: a byte of a block may stand for thousands of them
_FIELD_COST = 32  # what HPACK counts for a field besides its bytes
_SHORT = 256  # bytes of a field that is remembered, and of a text in Huffman's code
_MAX_KNOWN = 128  # of each
_MAX_APART, _MAX_APART_BYTES = 16, 4096  # heads without their ids, and decoded bytes of each
_ID = X_REQUEST_ID.encode()
_STATIC = HeaderTable.STATIC_TABLE
_FIRST_DYNAMIC = len(_STATIC) + 1
# What the first byte of a field says (RFC 7541, section 6), and of its numbers and texts (5).
_INDEXED, _INCREMENTAL, _UPDATE, _HUFFMAN, _MORE = 0x80, 0x40, 0x20, 0x80, 0x80
_LONG = 0x7F  # of a length: it goes on
_MAX_UPDATES = 2  # of the table's size in a block: its smallest, and the one that holds (RFC 7541)


class CallHead(msgspec.Struct, frozen=True):
    """What a request's headers say. ``refusal`` is an HTTP status when they are not gRPC's.

    ``timeout_ns`` is 0 without a deadline, ``content_length`` -1 where it is not said.
    ``metadata`` has the client's own headers, in order, and ``request_id`` what ``id_of`` finds
    there.
    """

    path: str
    metadata: Metadata
    timeout_ns: int = 0
    encoding: str = "identity"
    accept_encoding: str = ""
    refusal: int = 0
    content_length: int = -1
    request_id: bytes = b""


class _Malformed(Exception):
    """Not a request of HTTP/2."""


def is_field(name: bytes) -> bool:
    """Whether it names a field, of a request or behind one, and no pseudo-header."""
    return _is_name(name) is not None and name[0] != _COLON


def read_head(headers: list[RawField], known: dict[RawField, Field] | None = None) -> CallHead:
    """Sort a request's headers by who reads them; a malformed one has MALFORMED as its refusal.

    ``known`` remembers short fields from call to call.
    """
    try:
        pseudo, fields = _parted(headers, {} if known is None else known)
        content_length = _content_length(fields)
    except _Malformed:
        return CallHead("", (), refusal=MALFORMED)
    read = {name: value for name, value in fields if name in _READ_HERE}
    refusal = 0
    if not read.get("content-type", "").startswith("application/grpc"):
        refusal = 415
    elif pseudo[":method"] != "POST":
        refusal = 405
    metadata = tuple(field for field in fields if field[0] not in _READ_HERE)
    return CallHead(
        pseudo[":path"],
        metadata,
        read_timeout(read.get("grpc-timeout", "")),
        read.get("grpc-encoding", "identity"),
        read.get("grpc-accept-encoding", ""),
        refusal,
        content_length,
        id_of(metadata),
    )


def _parted(
    headers: list[RawField], known: dict[RawField, Field]
) -> tuple[dict[str, str], Metadata]:
    """Pseudo-headers, each given once and before all others, and fields. Raises _Malformed."""
    pseudo: dict[str, str] = {}
    fields: list[Field] = []
    for raw in headers:
        field = known.get(raw) or _checked(raw, known)
        name, value = field
        if name[0] != ":":
            fields.append(field)
        elif fields or name in pseudo or name not in _PSEUDO:
            raise _Malformed
        else:
            pseudo[name] = value
    if not (pseudo.get(":method") and pseudo.get(":scheme") and pseudo.get(":path")):
        raise _Malformed
    return pseudo, tuple(fields)


def _checked(raw: RawField, known: dict[RawField, Field]) -> Field:
    """Its texts. Raises _Malformed."""
    raw_name, raw_value = raw
    if not _is_name(raw_name) or _breaks_lines(raw_value):
        raise _Malformed
    name, value = field = raw_name.decode("latin-1"), raw_value.decode("latin-1")
    if name in _OF_CONNECTIONS or (name == "te" and value != "trailers"):
        raise _Malformed
    if len(name) + len(value) <= _SHORT:
        remember(known, raw, field, _MAX_KNOWN)
    return field


def _content_length(fields: Metadata) -> int:
    """-1 where it is not said. Raises _Malformed."""
    found = {value for name, value in fields if name == "content-length"}
    if not found:
        return -1
    (value, *others) = found
    if others or not _is_length(value):
        raise _Malformed
    return int(value)


def read_timeout(text: str) -> int:
    """``grpc-timeout`` in nanoseconds; 0 (no deadline) for what is not one."""
    digits, unit = text[:-1], text[-1:]
    if not digits.isascii() or not digits.isdigit() or len(digits) > 8 or unit not in _UNIT_NS:
        return 0
    # why at least 1: a deadline that is already over is still a deadline.
    return min(max(int(digits) * _UNIT_NS[unit], 1), _MAX_TIMEOUT_NS)


class HeaderDecoder:
    """The receiving side of one connection's header compression."""

    def __init__(self) -> None:
        self._decoder = hpack.Decoder(max_header_list_size=MAX_HEADER_BYTES)
        self._cache: dict[bytes, CallHead] = {}
        self._cached_bytes = 0
        self._fields: dict[RawField, Field] = {}
        self._apart: dict[tuple[int, tuple[RawField, ...]], tuple[CallHead, int]] = {}
        self._id_at = -1  # where the last block spelled an id
        self._texts: dict[bytes, bytes] = {}  # by Huffman's code, of those that enter no table

    def head(self, block: bytes) -> CallHead:
        """The headers in ``block``. Raises ConnectionFault when it cannot be decoded."""
        known = self._cache.get(block)
        if known is not None:
            return known
        table = self._decoder.header_table
        entries = table.dynamic_entries
        before = (len(entries), table.maxsize, entries[0] if entries else None)
        headers = self._decoded(block)
        after = (len(entries), table.maxsize, entries[0] if entries else None)
        found = read_head(headers, self._fields) if self._id_at < 0 else self._with_id(headers)
        if before[:2] != after[:2] or before[2] is not after[2]:
            # The table moved: indices mean something else now. Or it got another size: who is
            # answered from here does not set that again, and what enters later throws out others.
            self._forget()
        else:
            size = len(block) + _list_size(headers)
            if len(self._cache) >= _MAX_CACHED or self._cached_bytes + size > _MAX_CACHED_BYTES:
                self._forget()
            if size <= _MAX_CACHED_BYTES:
                self._cache[block] = found
                self._cached_bytes += size
        return found

    def _with_id(self, headers: list[RawField]) -> CallHead:
        """The same as ``read_head``; kept without the id that gateways change with each call."""
        at = self._id_at
        _, value = headers[at]
        key = at, (*headers[:at], *headers[at + 1 :])
        known = self._apart.get(key)
        if known is None or _breaks_lines(value):
            found = read_head(headers, self._fields)
            places = [n for n, (name, _) in enumerate(found.metadata) if name == X_REQUEST_ID]
            if len(places) == 1 and _list_size(headers) <= _MAX_APART_BYTES:
                remember(self._apart, key, (found, places[0]), _MAX_APART)
            return found
        like, place = known
        text = value.decode("latin-1")
        metadata = list(like.metadata)
        metadata[place] = X_REQUEST_ID, text
        return CallHead(
            like.path, tuple(metadata), like.timeout_ns, like.encoding, like.accept_encoding,
            like.refusal, like.content_length, id_in(text),
        )  # fmt: skip

    def trailers(self, block: bytes) -> bool:
        """Keep the table in step with what nobody reads; whether it may stand behind a request."""
        self._forget()
        return all(is_field(name) for name, _ in self._decoded(block))

    def _forget(self) -> None:
        self._cache.clear()
        self._cached_bytes = 0

    def _decoded(self, block: bytes) -> list[RawField]:
        if len(block) > MAX_HEADER_BYTES:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "the header block is too large")
        _check_updates(block)
        try:
            headers, at = self._plain(block)
            if at == len(block):
                return headers
            if at and block[at] & 0xE0 == _UPDATE:
                raise hpack.HPACKDecodingError("Table size update not at the start of the block")
            rest = self._decoder.decode(block[at:], raw=True)
            headers += [(bytes(name), bytes(value)) for name, value in rest]
            if _list_size(headers) > MAX_HEADER_BYTES:
                raise hpack.OversizedHeaderListError("the header list is too large")
        except hpack.OversizedHeaderListError as error:
            raise ConnectionFault(
                ErrorCode.ENHANCE_YOUR_CALM, "the header list is too large"
            ) from error
        # why IndexError: hpack reads behind the end of a block that was cut off.
        except (hpack.HPACKError, IndexError) as error:
            raise ConnectionFault(ErrorCode.COMPRESSION_ERROR, str(error)) from error
        return headers

    def _plain(self, block: bytes) -> tuple[list[RawField], int]:
        """The fields that ``block`` begins with, as far as each is in the table or has a name that
        is, by short numbers; and where the others begin, which hpack reads five times as slowly.

        Raises hpack's errors.
        """
        table, headers = self._decoder.header_table, list[RawField]()
        self._id_at = -1
        entries = table.dynamic_entries
        at, end, size = 0, len(block), 0
        while at < end:
            first = block[at]
            indexed, kept = first & _INDEXED, first & _INCREMENTAL
            if not indexed and not kept and first & _UPDATE:
                break
            most = 0x7F if indexed else 0x3F if kept else 0x0F
            index, stop = first & most, at + 1
            if index == most:
                if stop == end or block[stop] & _MORE:
                    break
                index += block[stop]
                stop += 1
            if not 0 < index < _FIRST_DYNAMIC + len(entries):
                break  # a name that is in no table, or no field at all
            dynamic = index - _FIRST_DYNAMIC
            field = _STATIC[index - 1] if dynamic < 0 else entries[dynamic]
            if not indexed:
                if stop == end:
                    break
                length, begin = block[stop], stop + 1
                stop = begin + (length & _LONG)
                if length & _LONG == _LONG or stop > end:
                    break
                value = block[begin:stop]
                if length & _HUFFMAN:
                    value = huffman.decoded(value) if kept else self._text(value)
                field = (field[0], value)
                self._id_at = len(headers) if field[0] == _ID else self._id_at
                if kept:
                    table.add(*field)
            headers.append(field)
            size += len(field[0]) + len(field[1]) + _FIELD_COST
            if size > MAX_HEADER_BYTES:
                raise hpack.OversizedHeaderListError("the header list is too large")
            at = stop
        return headers, at

    def _text(self, code: bytes) -> bytes:
        """What stands in Huffman's code. Raises HPACKDecodingError."""
        found = self._texts.get(code)
        if found is None:
            found = huffman.decoded(code)
            remember(self._texts, code, found, _MAX_KNOWN)
        return found


def _list_size(headers: list[RawField]) -> int:
    return sum([len(name) + len(value) + _FIELD_COST for name, value in headers])


def _check_updates(block: bytes) -> None:
    """Refuse a block of nothing but updates of the table's size, which are slow to read.

    Raises ConnectionFault.
    """
    at = 0
    for _ in range(_MAX_UPDATES + 1):
        if at >= len(block) or block[at] & 0xE0 != 0x20:
            return
        longer = block[at] & 0x1F == 0x1F
        at += 1
        while longer and at < len(block):
            longer = block[at] >= 0x80
            at += 1
    raise ConnectionFault(ErrorCode.COMPRESSION_ERROR, "too many updates of the table's size")


def _length(size: int) -> bytes:
    """An HPACK integer with a prefix of seven bits, without Huffman's flag."""
    if size < 127:
        return bytes([size])
    out, size = bytearray([127]), size - 127
    while size >= 128:
        out.append(size % 128 + 128)
        size //= 128
    out.append(size)
    return bytes(out)


def literal(name: bytes, value: bytes) -> bytes:
    """A field that enters no table: ``name`` in lower case."""
    return b"".join((b"\x00", _length(len(name)), name, _length(len(value)), value))


def status_line(status: int) -> bytes:
    return b"\x88" if status == 200 else literal(b":status", b"%d" % status)


def percent_encoded(text: str) -> bytes:
    """``grpc-message``: printable ASCII as it is, everything else as %XX of its UTF-8."""
    return b"".join(
        bytes([byte]) if 0x20 <= byte <= 0x7E and byte != 0x25 else b"%%%02X" % byte
        for byte in text.encode()
    )


CONTENT_TYPE = literal(b"content-type", b"application/grpc")
ACCEPT_ENCODING = literal(b"grpc-accept-encoding", b"identity,deflate,gzip")
RESPONSE = status_line(200) + CONTENT_TYPE + ACCEPT_ENCODING
OK_TRAILERS = literal(b"grpc-status", b"0")


def response_headers(encoding: str = "") -> bytes:
    """The block in front of a call's first message."""
    return RESPONSE + literal(b"grpc-encoding", encoding.encode()) if encoding else RESPONSE


def trailers(status: int, message: str = "") -> bytes:
    """The block that ends a call; ``status`` is gRPC's number."""
    block = literal(b"grpc-status", b"%d" % status)
    if not message:
        return block
    return block + literal(b"grpc-message", percent_encoded(fitting(message)))
