"""One call: messages in, as they come; ``answering.py`` has what goes out."""

import asyncio
from collections.abc import Callable
from time import monotonic_ns

from worker_runtime.protocols.admission import NO_ROOM, UNCOUNTED
from worker_runtime.protocols.grpc.native.answering import Answering
from worker_runtime.protocols.grpc.native.assembler import Assembler, MeasuredAssembler
from worker_runtime.protocols.grpc.native.frames import ErrorCode
from worker_runtime.protocols.grpc.native.messages import (
    PREFIX,
    PREFIX_BYTES,
    RESOURCE_EXHAUSTED,
    Inbox,
    MessageFault,
    Packed,
)
from worker_runtime.protocols.grpc.transport import Message

_DEADLINE_EXCEEDED = 4
_FEW = 4  # messages of one frame that are handed on as they come; a read has many frames


class Call(Answering, eq=False):
    """Both sides of it."""

    def pause(self) -> None:
        """Let the client wait: its window is not refilled until ``resume``."""
        self.paused = True
        if (inbox := self._inbox) is not None:
            inbox.held = True

    def resume(self) -> None:
        self.paused = False
        if (inbox := self._inbox) is not None:
            inbox.held, waited = False, inbox.behind
            inbox.go_on()
            if waited and not self.behind:
                self._caught_up()
                return
        if self.unacknowledged and not self.behind:
            self._connection.refill(self)

    def set_deadline(self, loop: asyncio.AbstractEventLoop) -> None:
        timeout = self.head.timeout_ns
        self.deadline_ns = monotonic_ns() + timeout
        self._timer = loop.call_later(timeout / 1e9, self._expire)

    @property
    def behind(self) -> bool:
        """Messages have arrived that its handler has not seen: it wants none for now, or soon."""
        inbox = self._inbox
        return self.paused or (inbox is not None and inbox.behind)

    @property
    def arrived(self) -> int:
        """Bytes of the message that its client has yet to complete, -1 when it need not."""
        handler, assembler = self.handler, self._assembler
        if handler is None or self.remote_closed or self.paused:
            return -1
        if assembler is not None and not assembler.empty:
            return assembler.arrived
        return 0 if handler.expects else -1

    def expect(self, size: int) -> None:
        """The client has said how many bytes its messages have."""
        limit = self._connection.inflated_limit
        self._assemble(MeasuredAssembler(self.head.encoding, limit, self.id, size))

    def _assemble(self, assembler: Assembler) -> None:
        self._assembler = assembler
        if self.head.encoding != "identity":
            assembler.inbox = self._new_inbox(assembler, self._deliver)

    def _new_inbox(self, assembler: Assembler, deliver: Callable[[Message], None]) -> Inbox:
        inbox = Inbox(
            self.head.encoding,
            self._connection.inflated_limit,
            *(deliver, self._caught_up, self.break_off),
            *(assembler, self._connection.turns),
        )
        inbox.held = self.paused
        return inbox

    def feed(self, data: Message) -> None:
        """Raises MessageFault, and StreamFault when it is more than was announced."""
        handler = self.handler
        if handler is None or self.finished:
            return
        if self._assembler is None:
            compressed, size = PREFIX.unpack_from(data) if len(data) >= PREFIX_BYTES else (1, 0)
            if not compressed and size == len(data) - PREFIX_BYTES:
                if size > UNCOUNTED:
                    self._hold(size)
                message = data[PREFIX_BYTES:]  # the usual case: one message, one frame
                # why a copy: a view of what was read would keep all of it.
                handler.message(message if type(message) is bytes else bytes(message))
                return
            self._assemble(Assembler(self.head.encoding, self._connection.inflated_limit))
        assert self._assembler is not None  # noqa: S101
        self._hold(len(data))
        found, inbox = self._assembler.feed(data), self._inbox
        if inbox is None and len(found) > _FEW:
            inbox = self._new_inbox(self._assembler, handler.message)
            self._assembler.inbox = inbox
        if inbox is not None:
            inbox.put(found)
            return
        for whole in found:
            if not isinstance(whole, Packed):  # which only come where there is an inbox
                handler.message(whole)

    def room(self, size: int) -> memoryview | None:
        """Memory for the next ``size`` bytes of DATA, where ``feed`` would put them."""
        if self._assembler is None or self.finished:
            return None
        try:
            return self._assembler.room(size)
        except MessageFault:
            return None  # ``feed`` will tell

    def _hold(self, size: int) -> None:
        """Count so many bytes until the call ends, or releases them. Raises MessageFault."""
        if not self._connection.account.take(size):
            raise MessageFault(RESOURCE_EXHAUSTED, NO_ROOM)
        self.held += size

    def _deliver(self, message: Message) -> None:
        if self.handler is None:
            return
        try:
            self._hold(len(message))
        except MessageFault as fault:
            self.break_off(fault)
        else:
            self.handler.message(message)

    def _caught_up(self) -> None:
        if self.remote_closed:
            self.end_of_input()
        elif not self.paused and self.unacknowledged:
            self._connection.refill(self)

    def end_of_input(self) -> None:
        """Raises StreamFault when less has come than was announced."""
        self.remote_closed = True
        if self.handler is None or self.finished:
            return
        if (assembler := self._assembler) is not None:
            assembler.end()
            if assembler.inbox is not None and assembler.inbox.behind:
                return  # ``_caught_up`` comes back
            if not assembler.empty:
                self.break_off(MessageFault(13, "the last message is cut off"))
                return
        self.handler.half_close()

    def _expire(self) -> None:
        self._timer = None
        handler = self.handler
        self._forget()
        self.finish(_DEADLINE_EXCEEDED, "Deadline Exceeded")
        if handler is not None:
            handler.cancel()

    def reset(self, code: ErrorCode) -> None:
        """End the stream without a status."""
        self._connection.reset(self, code)
