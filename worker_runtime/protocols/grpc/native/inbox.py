"""The compressed messages of one call: unpacked one after another, handed on in their order."""

import asyncio
from collections import deque
from collections.abc import Callable

from worker_runtime.protocols.grpc.native.messages import (
    RESOURCE_EXHAUSTED,
    MessageFault,
    Packed,
    unreadable,
)
from worker_runtime.protocols.grpc.transport import Message
from worker_runtime.protocols.inflating import InflateFault, inflate

# why: a message of five bytes takes a hundred here, and a window has room for millions of them.
_MOST_WAITING = 2**18


class Inbox:
    """``deliver`` gets the messages, ``caught_up`` is told when none waits any more.

    ``broken`` is told why the call must end. ``held``: the handler wants no more for now.
    """

    __slots__ = (
        "_broken",
        "_caught_up",
        "_deliver",
        "_encoding",
        "_limit",
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
        self.held = False

    @property
    def behind(self) -> bool:
        """Something has arrived that is not handed on yet."""
        return self._unpacking is not None or bool(self._waiting)

    def put(self, message: Message | Packed) -> None:
        if len(self._waiting) >= _MOST_WAITING:
            self.drop()
            self._broken(MessageFault(RESOURCE_EXHAUSTED, "too many messages wait to be unpacked"))
            return
        self._waiting.append(message)
        self.go_on()

    def drop(self) -> None:
        """Nobody listens any more."""
        self._waiting.clear()
        if self._unpacking is not None:
            self._unpacking.cancel()
            self._unpacking = None

    def go_on(self) -> None:
        """Hand on what can be handed on at once; a thread has the rest."""
        while self._waiting and self._unpacking is None and not self.held:
            message = self._waiting.popleft()
            if isinstance(message, Packed):
                # why this suffices: what is small is delivered before ``inflate`` returns None.
                self._unpacking = inflate(
                    message.data, self._encoding, self._limit, self._unpacked, self._failed
                )
            else:
                self._deliver(message)

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
