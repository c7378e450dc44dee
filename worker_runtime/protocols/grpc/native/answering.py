"""The sending side of one call: messages and a status, within both flow-control windows."""

import asyncio
from collections import deque
from struct import Struct
from typing import Protocol

import msgspec

from worker_runtime.protocols.admission import NO_ROOM, Account
from worker_runtime.protocols.grpc.native.assembler import Assembler
from worker_runtime.protocols.grpc.native.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    ErrorCode,
    head,
)
from worker_runtime.protocols.grpc.native.header_blocks import (
    OK_TRAILERS,
    RESPONSE,
    CallHead,
    response_headers,
    trailers,
)
from worker_runtime.protocols.grpc.native.messages import (
    PREFIX_BYTES,
    RESOURCE_EXHAUSTED,
    Inbox,
    MessageFault,
    Turns,
    encoding_for,
    framed,
    packed,
)
from worker_runtime.protocols.grpc.transport import Handler, Parts
from worker_runtime.types.listening import CompressionLevel

_PLAIN = CompressionLevel.NONE
# Everything in front of a unary answer's message, and everything behind it. Type and flags of DATA
# are 0, and so is the mark of a plain message: three bytes of padding.
_START = Struct(f">5sI{len(RESPONSE)}sHBxxIxI")
_END = Struct(f">5sI{len(OK_TRAILERS)}s")
_START_HEAD = head(len(RESPONSE), HEADERS, END_HEADERS, 0)[:5]  # all but the stream
_END_HEAD = head(len(OK_TRAILERS), HEADERS, END_HEADERS | END_STREAM, 0)[:5]
_FRAME = Struct(">HBBBIBI")  # the head of a DATA frame, and the prefix of the message in it
_QUEUE_BYTES = 4 * 1024 * 1024  # answers kept for a slow reader before its handler is told
_AT_ONCE = 1024 * 1024  # bytes that are handed to the socket before it is asked whether it is full


class Link(Protocol):
    """What a call needs of its connection. Windows and sizes in bytes."""

    account: Account
    closed: bool
    writes_paused: bool
    send_window: int
    peer_max_frame: int
    largest_joined: int  # the largest answer that leaves in one piece
    inflated_limit: int
    turns: Turns
    answered: int  # calls with a good end
    data_frames: int  # that were sent, besides those of unary calls
    blocked: "dict[int, Answering]"  # calls that wait for a window, or for the socket

    def write(self, data: bytes) -> None: ...

    def write_all(self, pieces: Parts) -> None: ...

    def refill(self, call: "Answering") -> None: ...

    def end(self, call: "Answering", last: bytes) -> None: ...

    def reset(self, call: "Answering", code: ErrorCode) -> None: ...


# why a Struct: it is made without a step of Python, and there is one for each call.
class Answering(msgspec.Struct, eq=False):
    """The sending side of a call: ``finish`` ends it, exactly once; what comes later is dropped."""

    _connection: Link
    id: int
    head: CallHead
    recv_window: int
    send_window: int
    handler: Handler | None = None
    level: CompressionLevel = CompressionLevel.NONE  # of what is sent
    finished: bool = False
    remote_closed: bool = False
    paused: bool = False
    reported_congested: bool = False
    unacknowledged: int = 0  # bytes received and not given back to the client's window
    deadline_ns: int = 0
    held: int = 0  # bytes of it on the connection's account
    _assembler: Assembler | None = None
    _encoding: str = ""
    _outgoing: deque[memoryview | bytes] | None = None  # messages, trailers last
    _queued: int = 0
    _started: bool = False
    _timer: asyncio.TimerHandle | None = None

    # --- for the service -----------------------------------------------------------------------

    @property
    def peer_gone(self) -> bool:
        return self._connection.closed

    @property
    def congested(self) -> bool:
        """The client does not read as fast as it is answered; ``drained`` says when it does."""
        if self._queued > _QUEUE_BYTES or self._connection.writes_paused:
            self.reported_congested = True
            self._connection.blocked[self.id] = self
            return True
        return False

    def answer(self, parts: Parts, size: int) -> None:
        """The one answer of a unary call, and its good end."""
        connection = self._connection
        whole = size + PREFIX_BYTES
        if (
            self._started
            or self.level is not _PLAIN
            or whole > self.send_window
            or whole > connection.send_window
            or whole > connection.largest_joined
            or connection.writes_paused
        ):
            self.send(parts, size)
            self.finish(0)
            return
        if self.finished:
            return
        connection.send_window -= whole
        connection.answered += 1
        stream = self.id
        start = _START.pack(_START_HEAD, stream, RESPONSE, whole >> 8, whole & 0xFF, stream, size)
        end = _END.pack(_END_HEAD, stream, OK_TRAILERS)
        self._end(b"".join([start, *parts, end]))

    def send(self, parts: Parts, size: int) -> None:
        """One message of a streaming answer."""
        if self.finished:
            return
        self._start()
        connection = self._connection
        if self._encoding:
            data = packed(b"".join(parts), self._encoding, self.level)
            self._enqueue([data], len(data))
            return
        room = min(self.send_window, connection.send_window, connection.largest_joined)
        if self._queued or size + 5 > room or connection.writes_paused:
            self._enqueue(framed(parts, size), size + 5)
            return
        size += 5
        self.send_window -= size
        connection.send_window -= size
        connection.data_frames += 1
        start = _FRAME.pack(size >> 8, size & 0xFF, DATA, 0, self.id, 0, size - 5)
        connection.write(b"".join((start, *parts)))

    def finish(self, status: int, message: str = "", *, late: bool = False) -> None:
        """End the call with gRPC's ``status``; queued messages leave first."""
        if self.finished:
            return
        if not status:
            self._connection.answered += 1
        if late:
            self._start()
        frame = self._trailer_frame(status, message)
        if self._queued and self._outgoing is not None:
            self.finished = True
            self._outgoing.append(frame)
            self._cancel_timer()
            return
        self._end(frame)

    # --- for the connection --------------------------------------------------------------------

    @property
    def _inbox(self) -> Inbox | None:
        return self._assembler.inbox if self._assembler is not None else None

    def release(self, size: int) -> None:
        """So many bytes of its messages are answered."""
        size = min(size, self.held)
        self.held -= size
        self._connection.account.give(size)

    def break_off(self, fault: MessageFault) -> None:
        """End the call because of what the client sent."""
        handler = self.handler
        self.finish(fault.status, str(fault))
        if handler is not None:
            handler.cancel()

    def dropped(self) -> None:
        """The stream is gone: tell the handler, keep nothing."""
        was_finished, self.finished = self.finished, True
        self._forget()
        self.release(self.held)
        self._cancel_timer()
        handler, self.handler = self.handler, None
        if handler is not None and not was_finished:
            handler.cancel()

    def flush(self) -> bool:
        """Send what the windows and the socket allow; True when nothing is left to send."""
        connection = self._connection
        while self._queued:
            room = min(self.send_window, connection.send_window, self._queued, _AT_ONCE)
            if room <= 0 or connection.writes_paused:
                return False
            self.send_window -= room
            connection.send_window -= room
            self._queued -= room
            self.release(room)
            connection.write_all(self._frames(room))
        if self._outgoing:
            self._end(bytes(self._outgoing.popleft()))
        elif self.reported_congested and self.handler is not None:
            self.reported_congested = False
            self.handler.drained()
        return True

    def _frames(self, room: int) -> Parts:
        """The next ``room`` queued bytes as DATA frames; views of them, no copies."""
        connection, outgoing = self._connection, self._outgoing
        found: Parts = []
        assert outgoing is not None  # noqa: S101
        while room:
            size = left = min(room, connection.peer_max_frame)
            room -= size
            found.append(head(size, DATA, 0, self.id))
            connection.data_frames += 1
            while left:
                view = outgoing[0]
                if len(view) <= left:
                    outgoing.popleft()
                else:
                    outgoing[0] = view[left:]
                    view = view[:left]
                left -= len(view)
                found.append(view)
        return found

    @property
    def queued(self) -> int:
        """Bytes that wait for a window, or for the socket."""
        return self._queued

    def _start(self) -> None:
        if self._started:
            return
        self._started = True
        self._encoding = encoding_for(self.level, self.head.accept_encoding)
        block = response_headers(self._encoding)
        self._connection.write(head(len(block), HEADERS, END_HEADERS, self.id) + block)

    def _enqueue(self, parts: Parts, size: int) -> None:
        if self._outgoing is None:
            self._outgoing = deque()
        if not self._connection.account.take(size):
            self._overflow()
            return
        self.held += size
        waited = self._queued
        self._queued += size
        # why not all of them: memory without a byte in it cannot be cast.
        views = [memoryview(part) for part in parts]
        self._outgoing.extend([view.cast("B") for view in views if view.nbytes])
        if waited or not self.flush():
            self._connection.blocked[self.id] = self

    def _overflow(self) -> None:
        """There is no room for what the client does not read."""
        self._forget()
        self.break_off(MessageFault(RESOURCE_EXHAUSTED, NO_ROOM))

    def _forget(self) -> None:
        """Drop what is neither sent nor read yet."""
        self._outgoing = None
        self._queued = 0
        if (inbox := self._inbox) is not None:
            inbox.drop()

    def _trailer_frame(self, status: int, message: str) -> bytes:
        block = OK_TRAILERS if not status else trailers(status, message)
        if not self._started:
            block = RESPONSE + block  # trailers only: one block says it all
        return head(len(block), HEADERS, END_HEADERS | END_STREAM, self.id) + block

    def _end(self, last: bytes) -> None:
        """``last``: the frames that the client still gets."""
        self.finished = True
        self.handler = None
        if self.held:
            self.release(self.held)
        if self._assembler is not None and self._assembler.inbox is not None:
            self._assembler.inbox.drop()
        if self._timer is not None:
            self._cancel_timer()
        self._connection.end(self, last)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
