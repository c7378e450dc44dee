"""One call: messages in, messages and a status out, within both flow-control windows."""

import asyncio
from collections import deque
from struct import Struct
from time import monotonic_ns
from typing import Protocol

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
from worker_runtime.protocols.grpc.native.messages import PREFIX, Assembler, encoding_for, framed
from worker_runtime.protocols.grpc.transport import Handler
from worker_runtime.types.listening import CompressionLevel

_DEADLINE_EXCEEDED = 4
# Everything in front of a unary answer's message, and everything behind it.
_START = Struct(f">HBBBI{len(RESPONSE)}sHBBBIBI")
_END = Struct(f">HBBBI{len(OK_TRAILERS)}s")
_QUEUE_BYTES = 4 * 1024 * 1024  # answers kept for a slow reader before its handler is told


class Link(Protocol):
    """What a call needs of its connection. Windows and sizes in bytes."""

    closed: bool
    writes_paused: bool
    send_window: int
    peer_max_frame: int
    blocked: "dict[int, Call]"  # calls that wait for a window, or for the socket

    def write(self, data: bytes) -> None: ...

    def refill(self, call: "Call") -> None: ...

    def ended(self, call: "Call") -> None: ...

    def reset(self, call: "Call", code: ErrorCode) -> None: ...


class Call:
    """``finish`` ends it, exactly once; what is sent after a cancellation is dropped."""

    __slots__ = (
        "_assembler",
        "_connection",
        "_encoding",
        "_outgoing",
        "_queued",
        "_started",
        "_timer",
        "deadline_ns",
        "finished",
        "handler",
        "head",
        "id",
        "level",
        "paused",
        "recv_window",
        "remote_closed",
        "send_window",
        "told_congested",
        "unacknowledged",
    )

    def __init__(self, connection: Link, stream: int, head: CallHead, recv: int, send: int) -> None:
        self.id = stream
        self.head = head
        self.handler: Handler | None = None
        self.level = CompressionLevel.NONE  # of what is sent
        self.finished = False
        self.remote_closed = False
        self.paused = False
        self.told_congested = False
        self.recv_window = recv
        self.send_window = send
        self.unacknowledged = 0  # bytes received and not given back to the client's window
        self.deadline_ns = 0
        self._connection = connection
        self._assembler: Assembler | None = None
        self._encoding = ""
        self._outgoing: deque[tuple[bytes, bool]] | None = None
        self._queued = 0
        self._started = False
        self._timer: asyncio.TimerHandle | None = None

    # --- for the service -----------------------------------------------------------------------

    @property
    def peer_gone(self) -> bool:
        return self._connection.closed

    @property
    def congested(self) -> bool:
        """The client does not read as fast as it is answered; ``drained`` says when it does."""
        if self._queued > _QUEUE_BYTES or self._connection.writes_paused:
            self.told_congested = True
            self._connection.blocked[self.id] = self
            return True
        return False

    def answer(self, message: bytes) -> None:
        """The one answer of a unary call, and its good end."""
        size = len(message) + 5
        connection = self._connection
        if (
            self._outgoing is not None
            or self._started
            or self.level is not CompressionLevel.NONE
            or size > self.send_window
            or size > connection.send_window
            or size > connection.peer_max_frame
        ):
            self.send(message)
            self.finish(0)
            return
        if self.finished:
            return
        self.send_window -= size
        connection.send_window -= size
        stream = self.id
        start = _START.pack(
            0, len(RESPONSE), HEADERS, END_HEADERS, stream, RESPONSE,
            size >> 8, size & 0xFF, DATA, 0, stream,
            0, size - 5,
        )  # fmt: skip
        end = _END.pack(0, len(OK_TRAILERS), HEADERS, END_HEADERS | END_STREAM, stream, OK_TRAILERS)
        connection.write(b"".join((start, message, end)))
        self._end()

    def send(self, message: bytes) -> None:
        """One message of a streaming answer."""
        if self.finished:
            return
        self._start()
        self._enqueue(
            framed(message, self._encoding, self.level),
            last=False,
        )

    def finish(self, status: int, message: str = "", *, late: bool = False) -> None:
        """End the call with gRPC's ``status``; queued messages leave first."""
        if self.finished:
            return
        if late:
            self._start()
        frame = self._trailer_frame(status, message)
        if self._outgoing:
            self.finished = True
            self._outgoing.append((frame, True))
            self._cancel_timer()
            return
        self._connection.write(frame)
        self._end()

    def pause(self) -> None:
        """Let the client wait: its window is not refilled until ``resume``."""
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        if self.unacknowledged:
            self._connection.refill(self)

    # --- for the connection --------------------------------------------------------------------

    def set_deadline(self, loop: asyncio.AbstractEventLoop) -> None:
        timeout = self.head.timeout_ns
        self.deadline_ns = monotonic_ns() + timeout
        self._timer = loop.call_later(timeout / 1e9, self._expire)

    def feed(self, data: bytes) -> None:
        """Raises MessageFault."""
        handler = self.handler
        if handler is None or self.finished:
            return
        if self._assembler is None:
            compressed, size = PREFIX.unpack_from(data) if len(data) >= 5 else (1, 0)
            if not compressed and size == len(data) - 5:
                handler.message(data[5:])  # the usual case: one message, one frame
                return
            self._assembler = Assembler(self.head.encoding)
        for message in self._assembler.feed(data):
            handler.message(message)

    def end_of_input(self) -> None:
        self.remote_closed = True
        if self.handler is None or self.finished:
            return
        if self._assembler is not None and not self._assembler.empty:
            self.finish(13, "the last message is cut off")
            return
        self.handler.half_close()

    def dropped(self) -> None:
        """The stream is gone: tell the handler, keep nothing."""
        was_finished, self.finished = self.finished, True
        self._outgoing = None
        self._queued = 0
        self._cancel_timer()
        handler, self.handler = self.handler, None
        if handler is not None and not was_finished:
            handler.cancel()

    def flush(self) -> bool:
        """Send what the windows allow; True when nothing is left to send."""
        connection, outgoing = self._connection, self._outgoing
        while outgoing:
            data, trailer = outgoing[0]
            if trailer:
                outgoing.popleft()
                connection.write(data)
                self._end()
                return True
            room = min(self.send_window, connection.send_window, connection.peer_max_frame)
            if room <= 0 or connection.writes_paused:
                return False
            piece = data[:room]
            if len(piece) == len(data):
                outgoing.popleft()
            else:
                outgoing[0] = (data[room:], False)
            self.send_window -= len(piece)
            connection.send_window -= len(piece)
            self._queued -= len(piece)
            connection.write(head(len(piece), DATA, 0, self.id) + piece)
        if self.told_congested and self.handler is not None:
            self.told_congested = False
            self.handler.drained()
        return True

    def _start(self) -> None:
        if self._started:
            return
        self._started = True
        self._encoding = encoding_for(self.level, self.head.accept_encoding)
        block = response_headers(self._encoding)
        self._connection.write(head(len(block), HEADERS, END_HEADERS, self.id) + block)

    def _enqueue(self, data: bytes, *, last: bool) -> None:
        if self._outgoing is None:
            self._outgoing = deque()
        self._outgoing.append((data, last))
        self._queued += len(data)
        if len(self._outgoing) > 1 or not self.flush():
            self._connection.blocked[self.id] = self

    def _trailer_frame(self, status: int, message: str) -> bytes:
        block = OK_TRAILERS if not status else trailers(status, message)
        if not self._started:
            block = RESPONSE + block  # trailers only: one block says it all
        return head(len(block), HEADERS, END_HEADERS | END_STREAM, self.id) + block

    def _end(self) -> None:
        self.finished = True
        self.handler = None
        if self._timer is not None:
            self._cancel_timer()
        self._connection.ended(self)

    def _expire(self) -> None:
        self._timer = None
        handler = self.handler
        self._outgoing = None
        self.finish(_DEADLINE_EXCEEDED, "Deadline Exceeded")
        if handler is not None:
            handler.cancel()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def reset(self, code: ErrorCode) -> None:
        """End the stream without a status."""
        self._connection.reset(self, code)
