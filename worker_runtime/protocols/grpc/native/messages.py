"""gRPC's length-prefixed messages, whole or in pieces, plain or compressed."""

import gzip
import zlib
from struct import Struct

from worker_runtime.types.listening import CompressionLevel

PREFIX = Struct(">BI")
PREFIX_BYTES = 5
MAX_MESSAGE_BYTES = 2**31 - 1
_LEVELS = {CompressionLevel.LOW: 1, CompressionLevel.MEDIUM: 6, CompressionLevel.HIGH: 9}
# As in gRPC: the quicker levels take the first of its ranking, the others a later one.
_RANKING = {CompressionLevel.LOW: ("gzip", "deflate")}
_LATER = ("deflate", "gzip")
ENCODINGS = ("identity", "deflate", "gzip")


class MessageFault(Exception):
    """A message that cannot be read; ``status`` is gRPC's number for it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Assembler:
    """Turns the DATA of one stream into messages."""

    __slots__ = ("_encoding", "_have", "_parts", "_want")

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        self._parts: list[bytes] = []
        self._have = 0
        self._want = -1  # bytes of prefix and message, once the prefix is there

    @property
    def empty(self) -> bool:
        """Nothing of a further message has arrived."""
        return not self._have

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that ``data`` completes. Raises MessageFault."""
        if not self._have and len(data) >= PREFIX_BYTES:
            compressed, size = PREFIX.unpack_from(data)
            if len(data) == PREFIX_BYTES + size and not compressed:
                return [data[PREFIX_BYTES:]]
        self._parts.append(data)
        self._have += len(data)
        if self._want < 0 and self._have >= PREFIX_BYTES:
            self._look()
        if self._want < 0 or self._have < self._want:
            return []
        return self._cut()

    def _look(self) -> None:
        data = self._parts[0] if len(self._parts[0]) >= PREFIX_BYTES else b"".join(self._parts)
        compressed, size = PREFIX.unpack_from(data)
        if compressed > 1:
            raise MessageFault(13, f"the message has the unknown flag {compressed}")
        if size > MAX_MESSAGE_BYTES:
            raise MessageFault(
                8, f"Received message larger than max ({size} vs. {MAX_MESSAGE_BYTES})"
            )
        self._want = PREFIX_BYTES + size

    def _cut(self) -> list[bytes]:
        data = b"".join(self._parts) if len(self._parts) > 1 else self._parts[0]
        found: list[bytes] = []
        start = 0
        self._parts = []
        self._have = 0
        self._want = -1
        while len(data) - start >= PREFIX_BYTES:
            compressed, size = PREFIX.unpack_from(data, start)
            stop = start + PREFIX_BYTES + size
            if stop > len(data):
                break
            message = data[start + PREFIX_BYTES : stop]
            found.append(decompressed(message, self._encoding) if compressed else message)
            start = stop
        if start < len(data):
            self._parts = [data[start:]]
            self._have = len(data) - start
            if self._have >= PREFIX_BYTES:
                self._look()
        return found


def decompressed(message: bytes, encoding: str) -> bytes:
    """Raises MessageFault for broken data, or data that unpacks to more than is allowed."""
    if encoding == "identity":
        raise MessageFault(13, "a compressed message, but no grpc-encoding says how")
    reader = zlib.decompressobj(31 if encoding == "gzip" else 15)
    try:
        data = reader.decompress(message, MAX_MESSAGE_BYTES)
    except zlib.error as error:
        raise MessageFault(13, f"the {encoding} message cannot be read: {error}") from error
    if reader.unconsumed_tail:
        raise MessageFault(8, f"Received message larger than max ({MAX_MESSAGE_BYTES})")
    if not reader.eof:
        raise MessageFault(13, f"the {encoding} message is cut off")
    return data


def framed(
    message: bytes, encoding: str = "", level: CompressionLevel = CompressionLevel.NONE
) -> bytes:
    """``message`` behind its prefix, compressed where ``encoding`` says so."""
    if not encoding:
        return PREFIX.pack(0, len(message)) + message
    number = _LEVELS.get(level, 6)
    packed = (
        gzip.compress(message, number, mtime=0)
        if encoding == "gzip"
        else zlib.compress(message, number)
    )
    return PREFIX.pack(1, len(packed)) + packed


def encoding_for(level: CompressionLevel, accepted: str) -> str:
    """How to compress answers for a client that accepts ``accepted``; "" for not at all."""
    if level is CompressionLevel.NONE:
        return ""
    offered = {item.strip() for item in accepted.split(",")}
    return next((item for item in _RANKING.get(level, _LATER) if item in offered), "")
