"""The sending side of one HTTP/2 connection: its calls' frames, the windows, and its end."""

import asyncio
from time import monotonic
from typing import Any

from worker_runtime.protocols.admission import Account, Buffers
from worker_runtime.protocols.grpc.native import frames as h2
from worker_runtime.protocols.grpc.native.answering import Answering
from worker_runtime.protocols.grpc.native.call import Call
from worker_runtime.protocols.grpc.native.frames import MAX_WINDOW, ConnectionFault, ErrorCode
from worker_runtime.protocols.grpc.native.header_blocks import MAX_HEADER_BYTES
from worker_runtime.protocols.grpc.native.keepalive import Pings
from worker_runtime.protocols.grpc.native.reader import MAX_FRAME
from worker_runtime.protocols.grpc.transport import Parts
from worker_runtime.types.listening import GrpcOptions

STREAM_WINDOW = 16 * 1024 * 1024
_MAX_UNREAD = 64 * 1024  # bytes of answers to control frames for who does not read them
_LINGER_S = 5.0  # for the client to read why it is hung up on
_MOST_ENDED_FIRST = 4096  # calls that are remembered so: what is older has long arrived
_UNAVAILABLE = 14


def hello(most_streams: int) -> bytes:
    """What the server says first. ``most_streams`` 0: any number of calls at once."""
    return h2.settings(
        {
            **({h2.MAX_CONCURRENT_STREAMS: most_streams} if most_streams else {}),
            h2.INITIAL_WINDOW_SIZE: STREAM_WINDOW,
            h2.MAX_FRAME_SIZE: MAX_FRAME,
            h2.MAX_HEADER_LIST_SIZE: MAX_HEADER_BYTES,
        }
    ) + h2.window_update(0, MAX_WINDOW - h2.DEFAULT_WINDOW)


class Outgoing(asyncio.Protocol):
    """What a call needs of its connection, and what ends it.

    why the receiving side is a subclass and no second object: calls and frames ask for both.
    """

    # why slots: of an object with more than thirty attributes Python looks each up by its name.
    __slots__ = (
        "_calls",
        "_closing",
        "_ended_first",
        "_full_at",
        "_last_stream",
        "_leaving",
        "_loop",
        "_pings",
        "_refusals",
        "_transport",
        "_unread",
        "_unread_bytes",
        "account",
        "answered",
        "backlog",
        "blocked",
        "closed",
        "data_frames",
        "inflated_limit",
        "largest_joined",
        "peer_max_frame",
        "send_window",
        "writes_paused",
    )

    def __init__(self, options: GrpcOptions, buffers: Buffers) -> None:
        self._loop = asyncio.get_running_loop()
        self._refusals = buffers.refusals
        self.account = Account(buffers, "grpc")
        self._unread_bytes = 0  # of it: in the full socket
        self._transport: Any = None
        self._last_stream = 0
        self._calls: dict[int, Call] = {}
        self._ended_first: dict[int, None] = {}  # by us, while their clients may still be sending
        self._pings = Pings(options.keepalive, self)
        self._unread = 0  # bytes of answers to control frames since the socket is full
        self._full_at = 0.0  # when the socket was last full
        self._closing: asyncio.TimerHandle | None = None
        self._leaving = False
        self.inflated_limit = options.max_inflated_bytes
        self.answered = self.data_frames = 0
        self.backlog = b""  # what has come and waits for the next turn of the loop
        self.peer_max_frame = self.largest_joined = h2.SMALLEST_MAX_FRAME
        self.send_window = h2.DEFAULT_WINDOW
        self.blocked: dict[int, Answering] = {}
        self.writes_paused = False
        self.closed = False

    @property
    def calls(self) -> int:
        """How many are under way."""
        return len(self._calls)

    @property
    def idle(self) -> bool:
        return not self._calls

    def pause_writing(self) -> None:
        """The client does not read: let it wait with what it says, which would need answers."""
        self.writes_paused = True
        self._full_at = monotonic()
        if self._transport is None:
            return
        self._transport.pause_reading()
        waiting = self._transport.get_write_buffer_size()
        if self.account.take(waiting):
            self._unread_bytes = waiting
        else:
            self.abort()

    def resume_writing(self) -> None:
        self.writes_paused = False
        self._unread = 0
        self.account.give(self._unread_bytes)
        self._unread_bytes = 0
        # why not with a backlog: what comes now is to be read behind it.
        if self._transport is not None and not self._transport.is_closing() and not self.backlog:
            self._transport.resume_reading()
        self._flush()

    # --- frames ------------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        transport = self._transport
        # why: uvloop raises on a closed transport instead of ignoring the write.
        if transport is not None and not transport.is_closing():
            transport.write(data)
            self._pings.strikes = 0

    def write_all(self, pieces: Parts) -> None:
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.writelines(pieces)
            self._pings.strikes = 0

    def _control(self, data: bytes) -> None:
        """Answer what is no request: that is no reason for pings, and not kept without end."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.write(data)
        if self.writes_paused:
            self._unread += len(data)
            if self._unread > _MAX_UNREAD:
                self._refusals.count("grpc", "answers to control frames are not read")
                transport.abort()

    def _flush(self) -> None:
        """Let every call that waits for a window try again, each in turn."""
        for stream, call in list(self.blocked.items()):
            if self.send_window <= 0 and not call.finished:
                break
            if call.flush():
                self.blocked.pop(stream, None)

    def end(self, call: Answering, last: bytes) -> None:
        """Write the ``last`` frames of a call, and forget it."""
        transport = self._transport
        # why asked: uvloop raises on a closed transport instead of ignoring the write.
        if transport is not None and not transport.is_closing():
            transport.write(last)
            self._pings.strikes = 0
        self._calls.pop(call.id, None)
        if self.blocked:
            self.blocked.pop(call.id, None)
        if not call.remote_closed:
            # why: the client may still be sending; it is told that nobody listens any more.
            self.ended_first(call.id)
            self._control(h2.rst_stream(call.id, ErrorCode.NO_ERROR))
        if self._leaving and not self._calls:
            self.close()

    def ended_first(self, stream: int) -> None:
        """What the client sends on this stream by and by is no mistake of it."""
        self._ended_first[stream] = None
        if len(self._ended_first) > _MOST_ENDED_FIRST:
            del self._ended_first[next(iter(self._ended_first))]

    def reset(self, call: Answering, code: ErrorCode) -> None:
        if not call.remote_closed:
            self.ended_first(call.id)
        self._control(h2.rst_stream(call.id, code))
        self._calls.pop(call.id, None)
        self.blocked.pop(call.id, None)
        call.dropped()

    def refill(self, call: Answering) -> None:
        """Give a call's client back what was taken from its window."""
        if not call.remote_closed and call.id in self._calls:
            self.write(h2.window_update(call.id, call.unacknowledged))
            call.recv_window += call.unacknowledged
            call.unacknowledged = 0

    # --- ends --------------------------------------------------------------------------------

    def ping(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(h2.ping(b"shoal-ka"))

    def leave(self, reason: str = "") -> None:
        """Take no further calls; the connection ends with the last running one."""
        if self._leaving or self.closed:
            return
        self._leaving = True
        self.write(h2.goaway(self._last_stream, ErrorCode.NO_ERROR, reason))
        if not self._calls:
            self.close()

    def close(self) -> None:
        """Hang up once what was written is read; running calls are lost."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Hang up now."""
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, fault: ConnectionFault) -> None:
        """Say why, then hang up, also on who does not read it."""
        # why two ways: other reasons name streams, and each would be a series of its own.
        calm = fault.code is ErrorCode.ENHANCE_YOUR_CALM
        self._refusals.count("grpc", fault.reason if calm else fault.code.name)
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.write(h2.goaway(self._last_stream, fault.code, fault.reason))
            transport.close()
            self._closing = self._loop.call_later(_LINGER_S, transport.abort)

    def abort_calls(self, text: str) -> None:
        """End every running call with UNAVAILABLE."""
        for call in list(self._calls.values()):
            handler = call.handler
            call.finish(_UNAVAILABLE, text)
            if handler is not None:
                handler.cancel()
