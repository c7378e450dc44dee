"""gRPC's length-prefixed messages, whole or in pieces, plain or compressed."""

import asyncio
import gzip
import zlib
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import NamedTuple

from worker_runtime.protocols.grpc.transport import Message, Parts
from worker_runtime.protocols.inflating import InflateFault, inflate
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
# why: a message of five bytes takes a hundred here, and a window has room for millions of them.
_MOST_WAITING = 2**18
AT_ONCE = 32  # messages that are handed on in one turn of the loop, at some 10 to 60 µs each


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


class Inbox:
    """Messages of one call that are compressed, or many: unpacked one after another, handed on in
    their order, so many in a turn of the loop.

    ``deliver`` gets the messages, ``caught_up`` is told when none waits any more.

    ``broken`` is told why the call must end. ``held``: the handler wants no more for now.
    """

    __slots__ = (
        "_broken",
        "_caught_up",
        "_deliver",
        "_encoding",
        "_left",
        "_limit",
        "_next_turn",
        "_unpacking",
        "_waiting",
        "held",
    )

    def __init__(
        self,
        encoding: str,
        limit: int,
        deliver: Callable[[Message], None],
        caught_up: Callable[[], None],
        broken: Callable[[MessageFault], None],
    ) -> None:
        self._encoding = encoding
        self._limit = limit
        self._deliver = deliver
        self._caught_up = caught_up
        self._broken = broken
        self._waiting: deque[Message | Packed] = deque()
        self._unpacking: asyncio.Future[bytes] | None = None
        self._left = AT_ONCE
        self._next_turn: asyncio.Handle | None = None
        self.held = False

    @property
    def behind(self) -> bool:
        """Something has arrived that is not handed on yet."""
        return self._unpacking is not None or bool(self._waiting)

    def put(self, message: Message | Packed) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self.drop()
            self._broken(MessageFault(RESOURCE_EXHAUSTED, "too many messages wait to be read"))
            return
        self._waiting.append(message)
        self.go_on()

    def drop(self) -> None:
        """Nobody listens any more."""
        self._waiting.clear()
        if self._unpacking is not None:
            self._unpacking.cancel()
            self._unpacking = None
        if self._next_turn is not None:
            self._next_turn.cancel()
            self._next_turn = None

    def go_on(self) -> None:
        """Hand on what can be handed on at once; a thread, or another turn, has the rest."""
        while self._waiting and self._unpacking is None and not self.held:
            if not self._left:
                if self._next_turn is None:
                    self._next_turn = asyncio.get_running_loop().call_soon(self._turn)
                return
            self._left -= 1
            message = self._waiting.popleft()
            if isinstance(message, Packed):
                # why this suffices: what is small is delivered before ``inflate`` returns None.
                self._unpacking = inflate(
                    message.data, self._encoding, self._limit, self._unpacked, self._failed
                )
            else:
                self._deliver(message)

    def _turn(self) -> None:
        self._left, self._next_turn = AT_ONCE, None
        self.go_on()
        if not self.behind:
            self._caught_up()

    def _unpacked(self, plain: bytes) -> None:
        from_thread, self._unpacking = self._unpacking is not None, None
        self._deliver(plain)
        if from_thread:
            self.go_on()
            if not self.behind:
                self._caught_up()

    def _failed(self, fault: InflateFault) -> None:
        self.drop()
        self._broken(unreadable(fault, self._encoding, self._limit))
