"""gRPC's length-prefixed messages, whole or in pieces, plain or compressed."""

import gzip
import zlib
from struct import Struct
from typing import NamedTuple

from worker_runtime.protocols.grpc.transport import Parts
from worker_runtime.protocols.inflating import InflateFault
from worker_runtime.types.listening import CompressionLevel

INTERNAL, RESOURCE_EXHAUSTED = 13, 8

PREFIX = Struct(">BI")
PREFIX_BYTES = 5
MAX_MESSAGE_BYTES = 2**31 - 1
_LEVELS = {CompressionLevel.LOW: 1, CompressionLevel.MEDIUM: 6, CompressionLevel.HIGH: 9}
# As in gRPC: the quicker levels take the first of its ranking, the others a later one.
_RANKING = {CompressionLevel.LOW: ("gzip", "deflate")}
_LATER = ("deflate", "gzip")
_SMALL_PIECE = 1024
ENCODINGS = ("identity", "deflate", "gzip")


class MessageFault(Exception):
    """A message that cannot be read; ``status`` is gRPC's number for it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Packed(NamedTuple):
    """A message that is compressed as the call's ``grpc-encoding`` says."""

    data: bytes


class Assembler:
    """Turns the DATA of one stream into messages. ``limit``: of what they may unpack to."""

    __slots__ = ("_encoding", "_have", "_limit", "_packed", "_parts", "_prefix", "_want")

    def __init__(self, encoding: str, limit: int) -> None:
        self._encoding = encoding
        self._limit = limit
        self._prefix = b""
        self._parts: list[bytes | bytearray] = []
        self._have = 0
        self._want = -1  # bytes of the message, once its prefix is there
        self._packed = False

    @property
    def empty(self) -> bool:
        """Nothing of a further message has arrived."""
        return self._want < 0 and not self._prefix

    def feed(self, data: bytes) -> list[bytes | Packed]:
        """The messages that ``data`` completes. Raises MessageFault."""
        found: list[bytes | Packed] = []
        at = 0
        while True:
            if self._want < 0:
                at = self._look(data, at)
                if self._want < 0:
                    return found
            stop = at + self._want - self._have
            piece = data[at:stop]
            self._have += len(piece)
            if self._have < self._want:
                self._keep(piece)
                return found
            message = b"".join((*self._parts, piece)) if self._parts else piece
            found.append(Packed(message) if self._packed else message)
            self._parts = []
            self._have, self._want, at = 0, -1, stop

    def _look(self, data: bytes, at: int) -> int:
        """Read a prefix at ``at``, as far as it is there; where the message begins."""
        taken = at + PREFIX_BYTES - len(self._prefix)
        prefix = self._prefix + data[at:taken]
        if len(prefix) < PREFIX_BYTES:
            self._prefix = prefix
            return len(data)
        self._prefix = b""
        compressed, size = PREFIX.unpack(prefix)
        if compressed > 1:
            raise MessageFault(INTERNAL, f"the message has the unknown flag {compressed}")
        if compressed and self._encoding == "identity":
            raise MessageFault(INTERNAL, "a compressed message, but no grpc-encoding says how")
        # why a little more: what cannot be compressed grows by a few bytes in each 16 KiB.
        most = self._limit + self._limit // 1024 + 64 if compressed else MAX_MESSAGE_BYTES
        if size > most:
            raise MessageFault(
                RESOURCE_EXHAUSTED, f"Received message larger than max ({size} vs. {most})"
            )
        self._want, self._packed = size, bool(compressed)
        return taken

    def _keep(self, piece: bytes) -> None:
        """Hold a piece; small ones together, as an object of its own is larger than they are."""
        if len(piece) >= _SMALL_PIECE:
            self._parts.append(piece)
        elif self._parts and isinstance(tail := self._parts[-1], bytearray):
            tail += piece
        else:
            self._parts.append(bytearray(piece))


def unreadable(fault: InflateFault, encoding: str, limit: int) -> MessageFault:
    """What a call ends with whose message could not be unpacked."""
    if fault.too_large:
        return MessageFault(
            RESOURCE_EXHAUSTED,
            f"Received message after decompression larger than max ({limit}). "
            "Use --grpc-max-inflated-size to increase the limit.",
        )
    return MessageFault(INTERNAL, f"the {encoding} message cannot be read: {fault}")


def framed(parts: Parts, size: int) -> Parts:
    """A plain message of ``size`` bytes behind its prefix."""
    return [PREFIX.pack(0, size), *parts]


def packed(message: bytes, encoding: str, level: CompressionLevel) -> bytes:
    """A compressed message behind its prefix."""
    number = _LEVELS.get(level, 6)
    data = (
        gzip.compress(message, number, mtime=0)
        if encoding == "gzip"
        else zlib.compress(message, number)
    )
    return PREFIX.pack(1, len(data)) + data


def encoding_for(level: CompressionLevel, accepted: str) -> str:
    """How to compress answers for a client that accepts ``accepted``; "" for not at all."""
    if level is CompressionLevel.NONE:
        return ""
    offered = {item.strip() for item in accepted.split(",")}
    return next((item for item in _RANKING.get(level, _LATER) if item in offered), "")
