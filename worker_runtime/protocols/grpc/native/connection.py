"""One HTTP/2 connection of a server: frames in order, rules kept, windows refilled (RFC 9113)."""

import asyncio
from collections.abc import Container
from typing import Any, Protocol

from worker_runtime.protocols.grpc.native import frames as h2
from worker_runtime.protocols.grpc.native.call import Call
from worker_runtime.protocols.grpc.native.frames import (
    MAX_WINDOW,
    ConnectionFault,
    ErrorCode,
    StreamFault,
)
from worker_runtime.protocols.grpc.native.header_blocks import (
    MAX_HEADER_BYTES,
    CallHead,
    HeaderDecoder,
    literal,
    status_line,
    trailers,
)
from worker_runtime.protocols.grpc.native.keepalive import Pings
from worker_runtime.protocols.grpc.native.messages import ENCODINGS, MessageFault
from worker_runtime.protocols.grpc.native.reader import MAX_FRAME, FrameReader
from worker_runtime.protocols.grpc.transport import Handler
from worker_runtime.types.listening import CompressionLevel, Keepalive

_STREAM_WINDOW = 16 * 1024 * 1024
_REFILL_STREAM = _STREAM_WINDOW // 2
_REFILL_CONNECTION = 2**30
_MAX_RESETS = 10_000  # streams that a client may open and throw away between two answers
_INTERNAL, _UNIMPLEMENTED, _RESOURCE_EXHAUSTED = 13, 12, 8
_UNAVAILABLE = 14

_HELLO = h2.settings(
    {
        h2.INITIAL_WINDOW_SIZE: _STREAM_WINDOW,
        h2.MAX_FRAME_SIZE: MAX_FRAME,
        h2.MAX_HEADER_LIST_SIZE: MAX_HEADER_BYTES,
    }
) + h2.window_update(0, MAX_WINDOW - h2.DEFAULT_WINDOW)


class Service(Protocol):
    def open(self, call: Call) -> Handler | None:
        """The handler of ``call.head.path``; None when there is no such method."""
        ...


class Owner(Protocol):
    """The server that a connection belongs to."""

    service: Service
    keepalive: Keepalive
    compression: CompressionLevel

    @property
    def compressed(self) -> Container[str]:
        """The paths of the calls whose answers are compressed."""
        ...

    def joined(self, connection: "Connection") -> None: ...

    def left(self, connection: "Connection") -> None: ...


class Connection(asyncio.Protocol):
    """Everything runs in the event loop."""

    def __init__(self, owner: Owner) -> None:
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._reader = FrameReader(self)
        self._decoder = HeaderDecoder()
        self._last_stream = 0
        self._calls: dict[int, Call] = {}
        self._recv_window = MAX_WINDOW
        self._peer_window = h2.DEFAULT_WINDOW
        self._resets = 0
        self._leaving = False
        self._level = owner.compression
        self._pings = Pings(owner.keepalive, self)
        self.peer_max_frame = h2.SMALLEST_MAX_FRAME
        self.send_window = h2.DEFAULT_WINDOW
        self.blocked: dict[int, Call] = {}
        self.writes_paused = False
        self.closed = False

    # --- transport callbacks -----------------------------------------------------------------

    @property
    def calls(self) -> int:
        """How many are under way."""
        return len(self._calls)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._owner.joined(self)
        self._transport.write(_HELLO)
        self._pings.start(self._loop)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 # asyncio's
        self.closed = True
        self._owner.left(self)
        self._pings.stop()
        self._transport = None
        calls, self._calls = list(self._calls.values()), {}
        self.blocked.clear()
        for call in calls:
            call.dropped()

    def pause_writing(self) -> None:
        self.writes_paused = True

    def resume_writing(self) -> None:
        self.writes_paused = False
        self._flush()

    def data_received(self, data: bytes) -> None:
        try:
            self._reader.feed(data)
        except ConnectionFault as fault:
            self._fail(fault)

    # --- frames ------------------------------------------------------------------------------

    def on_header_block(self, flags: int, stream: int, block: bytes) -> None:
        if stream <= self._last_stream:
            self._late_block(stream, flags, block)
            return
        head = self._decoder.head(block)
        self._last_stream = stream
        if self._leaving:
            raise StreamFault(stream, ErrorCode.REFUSED_STREAM)
        call = Call(self, stream, head, _STREAM_WINDOW, self._peer_window)
        if self._level is not CompressionLevel.NONE and head.path in self._owner.compressed:
            call.level = self._level
        self._calls[stream] = call
        self._open(call, head)
        if flags & h2.END_STREAM:
            call.end_of_input()

    def _open(self, call: Call, head: CallHead) -> None:
        if head.refusal:
            self._refuse(call, head.refusal)
            return
        if head.encoding not in ENCODINGS:
            text = f"Compression algorithm '{head.encoding}' is not supported"
            call.finish(_UNIMPLEMENTED, text)
            return
        handler = self._owner.service.open(call)
        if handler is None:
            call.finish(_UNIMPLEMENTED, f"Method not found: {head.path}")
        elif not call.finished:
            call.handler = handler
            if head.timeout_ns:
                call.set_deadline(self._loop)

    def _late_block(self, stream: int, flags: int, block: bytes) -> None:
        """Headers on a known stream are the trailers of a request; on a closed one a mistake."""
        self._decoder.skip(block)
        call = self._calls.get(stream)
        if call is None:
            raise StreamFault(stream, ErrorCode.STREAM_CLOSED)
        if call.remote_closed or not flags & h2.END_STREAM:
            raise StreamFault(stream, ErrorCode.PROTOCOL_ERROR)
        call.end_of_input()

    def _refuse(self, call: Call, status: int) -> None:
        """An HTTP answer for what is not a gRPC request."""
        text = literal(b"content-type", b"text/plain")
        block = status_line(status) + text + trailers(_INTERNAL, "not a gRPC request")
        flags = h2.END_HEADERS | h2.END_STREAM
        self.write(h2.head(len(block), h2.HEADERS, flags, call.id) + block)
        call.finished = True
        self.ended(call)

    def on_data(self, flags: int, stream: int, payload: bytes) -> None:
        size = len(payload)
        self._take_from_window(size)
        call = self._calls.get(stream)
        if call is None:
            if not stream % 2 or stream > self._last_stream:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"DATA on idle stream {stream}")
            return  # why silent: it was on its way when the call ended
        if call.remote_closed:
            raise StreamFault(stream, ErrorCode.STREAM_CLOSED)
        call.recv_window -= size
        if call.recv_window < 0:
            raise StreamFault(stream, ErrorCode.FLOW_CONTROL_ERROR)
        if flags & h2.PADDED:
            payload = h2.unpadded(payload, flags & h2.PADDED)
        if flags & h2.END_STREAM:
            # why first: an answer that is given at once need not tell the client to stop sending.
            call.remote_closed = True
            if payload:
                self._feed(call, payload)
            call.end_of_input()
            return
        if payload:
            self._feed(call, payload)
        call.unacknowledged += size
        if call.unacknowledged >= _REFILL_STREAM and not call.paused:
            self.refill(call)

    def _take_from_window(self, size: int) -> None:
        self._recv_window -= size
        if self._recv_window < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more DATA than the window allows")
        if MAX_WINDOW - self._recv_window >= _REFILL_CONNECTION:
            self.write(h2.window_update(0, MAX_WINDOW - self._recv_window))
            self._recv_window = MAX_WINDOW

    def _feed(self, call: Call, payload: bytes) -> None:
        try:
            call.feed(payload)
        except MessageFault as fault:
            handler = call.handler
            call.finish(fault.status, str(fault))
            if handler is not None:
                handler.cancel()

    def refill(self, call: Call) -> None:
        """Give a call's client back what was taken from its window."""
        if not call.remote_closed and call.id in self._calls:
            self.write(h2.window_update(call.id, call.unacknowledged))
            call.recv_window += call.unacknowledged
            call.unacknowledged = 0

    def on_window(self, _flags: int, stream: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE of a broken length")
        increment = h2.number(payload)
        if not stream:
            if not increment:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0")
            self.send_window += increment
            if self.send_window > MAX_WINDOW:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "the window is too large")
            self._flush()
            return
        if stream > self._last_stream or not stream % 2:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE on an idle stream")
        call = self._calls.get(stream)
        if call is None:
            return
        if not increment:
            raise StreamFault(stream, ErrorCode.PROTOCOL_ERROR)
        call.send_window += increment
        if call.send_window > MAX_WINDOW:
            raise StreamFault(stream, ErrorCode.FLOW_CONTROL_ERROR)
        if stream in self.blocked:
            self._flush()

    def on_settings(self, flags: int, stream: int, payload: bytes) -> None:
        if stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "SETTINGS on a stream")
        if flags & h2.ACK:
            if payload:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS ACK with a payload")
            return
        for key, value in h2.read_settings(payload):
            if key == h2.INITIAL_WINDOW_SIZE:
                change, self._peer_window = value - self._peer_window, value
                for call in self._calls.values():
                    call.send_window += change
                    if call.send_window > MAX_WINDOW:
                        raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")
            elif key == h2.MAX_FRAME_SIZE:
                self.peer_max_frame = value
        self.write(h2.SETTINGS_ACK)
        self._flush()

    def on_ping(self, flags: int, stream: int, payload: bytes) -> None:
        if stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
        if len(payload) != 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "PING of a broken length")
        if flags & h2.ACK:
            self._pings.answered()
            return
        self._pings.pinged(calls=bool(self._calls))
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(h2.ping(payload, ack=True))

    def on_reset(self, _flags: int, stream: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM of a broken length")
        if not stream or stream > self._last_stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "RST_STREAM on an idle stream")
        call = self._calls.pop(stream, None)
        self.blocked.pop(stream, None)
        if call is None:
            return
        self._resets += 1
        if self._resets > _MAX_RESETS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many streams are reset")
        call.dropped()

    # --- writing -----------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        transport = self._transport
        # why: uvloop raises on a closed transport instead of ignoring the write.
        if transport is not None and not transport.is_closing():
            transport.write(data)
            self._pings.strikes = 0

    def _flush(self) -> None:
        """Let every call that waits for a window try again, each in turn."""
        for stream, call in list(self.blocked.items()):
            if self.send_window <= 0 and not call.finished:
                break
            if call.flush():
                self.blocked.pop(stream, None)

    def ended(self, call: Call) -> None:
        """The last frame of a call is on its way."""
        self._resets = 0
        self._calls.pop(call.id, None)
        if self.blocked:
            self.blocked.pop(call.id, None)
        if not call.remote_closed:
            # why: the client may still be sending; it is told that nobody listens any more.
            self.write(h2.rst_stream(call.id, ErrorCode.NO_ERROR))
        if self._leaving and not self._calls:
            self.close()

    def reset(self, call: Call, code: ErrorCode) -> None:
        self.write(h2.rst_stream(call.id, code))
        self._calls.pop(call.id, None)
        self.blocked.pop(call.id, None)
        call.dropped()

    def reset_stream(self, fault: StreamFault) -> None:
        call = self._calls.get(fault.stream)
        if call is not None:
            self.reset(call, fault.code)
        else:
            self.write(h2.rst_stream(fault.stream, fault.code))

    def _fail(self, fault: ConnectionFault) -> None:
        """Say why, then hang up."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(h2.goaway(self._last_stream, fault.code, fault.reason))
            self._transport.close()

    # --- ends --------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        return not self._calls

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
        """Hang up; running calls are lost."""
        if self._transport is not None:
            self._transport.close()

    def abort_calls(self, text: str) -> None:
        """End every running call with UNAVAILABLE."""
        for call in list(self._calls.values()):
            handler = call.handler
            call.finish(_UNAVAILABLE, text)
            if handler is not None:
                handler.cancel()
