"""gRPC's length-prefixed messages, whole or in pieces, plain or compressed."""

import asyncio
import gzip
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from struct import Struct
from typing import NamedTuple, Protocol

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
# Messages that are cut out of what has come, and handed on, in one turn of the loop: at some 3 µs
# each, and 10 to 60.
AT_ONCE = 32
_FIRST = 4  # of a call that has more, as they come: a read may have frames of many calls


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


class Source(Protocol):
    """What cuts messages out of the DATA of a call."""

    @property
    def uncut(self) -> bool:
        """Something has come in which ``more`` has not looked for messages yet."""
        ...

    def more(self) -> list[Message | Packed]:
        """The next ones, ``AT_ONCE`` at most. Raises MessageFault."""
        ...

    def drop(self) -> None:
        """Nobody wants them."""
        ...


class Turns:
    """Of the inboxes of a server's calls, one in each turn of the loop, however many there are."""

    def __init__(self) -> None:
        self._waiting: deque[Inbox] = deque()
        self._planned = False

    def wait(self, inbox: "Inbox") -> None:
        """Call its ``turn`` when it is due."""
        self._waiting.append(inbox)
        self._plan()

    def _plan(self) -> None:
        if self._waiting and not self._planned:
            self._planned = True
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        self._planned = False
        try:
            self._waiting.popleft().turn()
        finally:
            self._plan()


class Inbox:
    """Messages of one call that are compressed, or many: unpacked one after another, handed on in
    their order, so many in a turn of the loop.

    ``source`` has those that are not cut out of what has come. ``deliver`` gets the messages,
    ``caught_up`` is told when none waits any more.

    ``broken`` is told why the call must end. ``held``: the handler wants no more for now.
    """

    __slots__ = (
        "_broken",
        "_caught_up",
        "_deliver",
        "_encoding",
        "_left",
        "_limit",
        "_source",
        "_turns",
        "_unpacking",
        "_waiting",
        "_waits",
        "held",
    )

    def __init__(
        self,
        encoding: str,
        limit: int,
        deliver: Callable[[Message], None],
        caught_up: Callable[[], None],
        broken: Callable[[MessageFault], None],
        source: Source,
        turns: Turns,
    ) -> None:
        self._source = source
        self._turns = turns
        self._encoding = encoding
        self._limit = limit
        self._deliver = deliver
        self._caught_up = caught_up
        self._broken = broken
        self._waiting: deque[Message | Packed] = deque()
        self._unpacking: asyncio.Future[bytes] | None = None
        self._left = _FIRST
        self._waits = False  # for its turn
        self.held = False

    @property
    def behind(self) -> bool:
        """Something has arrived that is not handed on yet."""
        return self._unpacking is not None or bool(self._waiting) or self._source.uncut

    def put(self, messages: Sequence[Message | Packed]) -> None:
        if len(self._waiting) + len(messages) > _MOST_WAITING:
            self.drop()
            self._broken(MessageFault(RESOURCE_EXHAUSTED, "too many messages wait to be read"))
            return
        self._waiting.extend(messages)
        self.go_on()

    def drop(self) -> None:
        """Nobody listens any more."""
        self._waiting.clear()
        self._source.drop()
        if self._unpacking is not None:
            self._unpacking.cancel()
            self._unpacking = None

    def go_on(self) -> None:
        """Hand on what can be handed on at once; a thread, or another turn, has the rest."""
        while (self._waiting or self._source.uncut) and self._unpacking is None and not self.held:
            if not self._left:
                if not self._waits:
                    self._waits = True
                    self._turns.wait(self)
                return
            if not self._waiting:
                self._cut()
                continue
            self._left -= 1
            message = self._waiting.popleft()
            if isinstance(message, Packed):
                # why this suffices: what is small is delivered before ``inflate`` returns None.
                self._unpacking = inflate(
                    message.data, self._encoding, self._limit, self._unpacked, self._failed
                )
            else:
                self._deliver(message)

    def _cut(self) -> None:
        try:
            self._waiting.extend(self._source.more())
        except MessageFault as fault:
            self.drop()
            self._broken(fault)

    def turn(self) -> None:
        """Hand on some more, if there are any."""
        self._left, self._waits = AT_ONCE, False
        waited = self.behind
        self.go_on()
        if waited and not self.behind:
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
