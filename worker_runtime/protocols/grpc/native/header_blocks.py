"""Header blocks: HPACK in with a cache of whole blocks, constant blocks out (RFC 7541).

Clients repeat themselves: once their table has settled, call after call has the very same bytes.
A block that leaves the table as it was means the same as long as the table stays, so its decoded
form is kept by its bytes. What we send uses no table at all, so it can be made once.
"""

import hpack

from worker_runtime.protocols.grpc.native.frames import ConnectionFault, ErrorCode
from worker_runtime.protocols.grpc.native.request_heads import CallHead, is_field, read_head

MAX_HEADER_BYTES = 64 * 1024
_MAX_CACHED = 256
_MAX_CACHED_BYTES = 64 * 1024  # decoded: a byte of a block may stand for thousands of them
_FIELD_COST = 32  # what HPACK counts for a field besides its bytes
_MAX_UPDATES = 2  # of the table's size in a block: its smallest, and the one that holds (RFC 7541)


class HeaderDecoder:
    """The receiving side of one connection's header compression."""

    def __init__(self) -> None:
        self._decoder = hpack.Decoder(max_header_list_size=MAX_HEADER_BYTES)
        self._cache: dict[bytes, CallHead] = {}
        self._cached_bytes = 0

    def head(self, block: bytes) -> CallHead:
        """The headers in ``block``. Raises ConnectionFault when it cannot be decoded."""
        known = self._cache.get(block)
        if known is not None:
            return known
        entries = self._decoder.header_table.dynamic_entries
        before = (len(entries), entries[0] if entries else None)
        headers = self._decoded(block)
        after = (len(entries), entries[0] if entries else None)
        found = read_head(headers)
        if before[0] != after[0] or before[1] is not after[1]:
            self._forget()  # the table moved: indices mean something else now
        else:
            size = len(block) + sum(len(name) + len(value) + _FIELD_COST for name, value in headers)
            if len(self._cache) >= _MAX_CACHED or self._cached_bytes + size > _MAX_CACHED_BYTES:
                self._forget()
            if size <= _MAX_CACHED_BYTES:
                self._cache[block] = found
                self._cached_bytes += size
        return found

    def trailers(self, block: bytes) -> bool:
        """Keep the table in step with what nobody reads; whether it may stand behind a request."""
        self._forget()
        return all(is_field(name) for name, _ in self._decoded(block))

    def _forget(self) -> None:
        self._cache.clear()
        self._cached_bytes = 0

    def _decoded(self, block: bytes) -> list[tuple[bytes, bytes]]:
        if len(block) > MAX_HEADER_BYTES:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "the header block is too large")
        _check_updates(block)
        try:
            return [
                (bytes(name), bytes(value)) for name, value in self._decoder.decode(block, raw=True)
            ]
        except hpack.OversizedHeaderListError as error:
            raise ConnectionFault(
                ErrorCode.ENHANCE_YOUR_CALM, "the header list is too large"
            ) from error
        # why IndexError: hpack reads behind the end of a block that was cut off.
        except (hpack.HPACKError, IndexError) as error:
            raise ConnectionFault(ErrorCode.COMPRESSION_ERROR, str(error)) from error


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
    return block + literal(b"grpc-message", percent_encoded(message)) if message else block
