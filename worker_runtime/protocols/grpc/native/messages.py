"""gRPC's length-prefixed messages, whole or in pieces, plain or compressed."""

import gzip
import zlib
from struct import Struct
from typing import NamedTuple

from worker_runtime.protocols.grpc.transport import Message, Parts
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
ENCODINGS = ("identity", "deflate", "gzip")


class MessageFault(Exception):
    """A message that cannot be read; ``status`` is gRPC's number for it."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class Packed(NamedTuple):
    """A message that is compressed as the call's ``grpc-encoding`` says."""

    data: Message


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
