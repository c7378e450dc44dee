"""One HTTP/2 connection of a server: frames in order, rules kept, windows refilled (RFC 9113)."""

import asyncio
from collections.abc import Container
from time import monotonic
from typing import Any, Protocol

from worker_runtime.protocols.grpc.native import frames as h2
from worker_runtime.protocols.grpc.native.allowance import Allowance, Youth
from worker_runtime.protocols.grpc.native.call import Call
from worker_runtime.protocols.grpc.native.frames import (
    END_STREAM,
    MAX_WINDOW,
    PADDED,
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
from worker_runtime.protocols.grpc.transport import Handler, Parts
from worker_runtime.protocols.places import Places
from worker_runtime.protocols.sweeping import SWEEP_S
from worker_runtime.types.listening import CompressionLevel, GrpcOptions

_STREAM_WINDOW = 16 * 1024 * 1024
_REFILL_STREAM = _STREAM_WINDOW // 2
_LOW_CONNECTION = MAX_WINDOW - 2**30
# Seconds' worth of resets and control frames that may come at once, and what an answer earns.
_RESETS_AT_ONCE_S, _CONTROL_AT_ONCE_S, _CONTROL_PER_ANSWER = 4, 10, 10
_JOIN_BELOW = 64 * 1024  # smaller answers leave in one piece
_SETTINGS_COST = 10  # control frames, and one more for each ten calls: they touch every one
_MAX_UNREAD = 64 * 1024  # bytes of answers to control frames for who does not read them
_LINGER_S = 5.0  # for the client to read why it is hung up on
_INTERNAL, _UNIMPLEMENTED, _RESOURCE_EXHAUSTED = 13, 12, 8
_UNAVAILABLE = 14


def hello(most_streams: int) -> bytes:
    """What the server says first. ``most_streams`` 0: any number of calls at once."""
    return h2.settings(
        {
            **({h2.MAX_CONCURRENT_STREAMS: most_streams} if most_streams else {}),
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
    options: GrpcOptions
    places: Places

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
        options = owner.options
        self._most_calls = options.max_concurrent_streams or MAX_WINDOW
        resets, control = options.resets_per_second, options.control_frames_per_second
        self._resets = Allowance(resets, resets * _RESETS_AT_ONCE_S)
        self._control_frames = Allowance(control, control * _CONTROL_AT_ONCE_S)
        self._youth = Youth()
        self._unread = 0  # bytes of answers to control frames since the socket is full
        self._full_at = 0.0  # when the socket was last full
        self._sent: tuple[int, float, float] = (0, 0.0, 0.0)  # waits, full at, unchanged since
        self._blocked_seen: dict[int, tuple[int, float]] = {}  # what waits of calls, since when
        self._heard: tuple[Any, ...] = ()  # a frame's beginning, its size, last call, since
        self._closing: asyncio.TimerHandle | None = None
        self._leaving = False
        self._level = options.compression
        self._compressed = () if self._level is CompressionLevel.NONE else owner.compressed
        self._service = owner.service
        self._pings = Pings(options.keepalive, self)
        self.inflated_limit = options.max_inflated_bytes
        self.answered = self.data_frames = 0
        self.peer_max_frame = self.largest_joined = h2.SMALLEST_MAX_FRAME
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
        self._transport.write(hello(self._owner.options.max_concurrent_streams))
        self._pings.start(self._loop)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 # asyncio's
        self.closed = True
        self._owner.left(self)
        self._pings.stop()
        if self._closing is not None:
            self._closing.cancel()
        self._transport = None
        calls, self._calls = list(self._calls.values()), {}
        self.blocked.clear()
        for call in calls:
            call.dropped()

    def pause_writing(self) -> None:
        """The client does not read: let it wait with what it says, which would need answers."""
        self.writes_paused = True
        self._full_at = monotonic()
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        self.writes_paused = False
        self._unread = 0
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
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
        if len(self._calls) >= self._most_calls:
            self._owner.places.refusals.count("grpc", "too many calls at once on a connection")
            raise StreamFault(stream, ErrorCode.REFUSED_STREAM)
        call = Call(self, stream, head, _STREAM_WINDOW, self._peer_window)
        if head.path in self._compressed:
            call.level = self._level
        self._calls[stream] = call
        self._open(call, head)
        if flags & END_STREAM:
            call.end_of_input()

    def _open(self, call: Call, head: CallHead) -> None:
        if head.refusal:
            self._refuse(call, head.refusal)
            return
        if head.encoding not in ENCODINGS:
            text = f"Compression algorithm '{head.encoding}' is not supported"
            call.finish(_UNIMPLEMENTED, text)
            return
        handler = self._service.open(call)
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
        if call.remote_closed or not flags & END_STREAM:
            raise StreamFault(stream, ErrorCode.PROTOCOL_ERROR)
        call.end_of_input()

    def _refuse(self, call: Call, status: int) -> None:
        """An HTTP answer for what is not a gRPC request."""
        text = literal(b"content-type", b"text/plain")
        block = status_line(status) + text + trailers(_INTERNAL, "not a gRPC request")
        flags = h2.END_HEADERS | h2.END_STREAM
        call.finished = True
        self.end(call, h2.head(len(block), h2.HEADERS, flags, call.id) + block)

    def on_data(self, flags: int, stream: int, payload: bytes) -> None:
        size = len(payload)
        self._recv_window -= size
        if self._recv_window <= _LOW_CONNECTION:
            self._refill_connection()
        call = self._calls.get(stream)
        if call is None:
            self._late_data(stream, size)
            return
        if call.remote_closed:
            raise StreamFault(stream, ErrorCode.STREAM_CLOSED)
        call.recv_window -= size
        if call.recv_window < 0:
            raise StreamFault(stream, ErrorCode.FLOW_CONTROL_ERROR)
        if flags & PADDED:
            payload = h2.unpadded(payload, flags & PADDED)
        if flags & END_STREAM:
            # why first: an answer that is given at once need not tell the client to stop sending.
            call.remote_closed = True
        if payload:
            try:
                call.feed(payload)
            except MessageFault as fault:
                call.break_off(fault)
        if call.remote_closed:
            call.end_of_input()
            return
        if not payload:
            self.on_idle_frame()
        call.unacknowledged += size
        if call.unacknowledged >= _REFILL_STREAM and not call.behind:
            self.refill(call)

    def _late_data(self, stream: int, size: int) -> None:
        """Nothing is done about DATA that was on its way when its call ended."""
        if not stream % 2 or stream > self._last_stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"DATA on idle stream {stream}")
        if not size:
            self.on_idle_frame()

    def _refill_connection(self) -> None:
        if self._recv_window < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more DATA than the window allows")
        self.write(h2.window_update(0, MAX_WINDOW - self._recv_window))
        self._recv_window = MAX_WINDOW

    def refill(self, call: Call) -> None:
        """Give a call's client back what was taken from its window."""
        if not call.remote_closed and call.id in self._calls:
            self.write(h2.window_update(call.id, call.unacknowledged))
            call.recv_window += call.unacknowledged
            call.unacknowledged = 0

    def on_window(self, _flags: int, stream: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE of a broken length")
        control = self._control_frames
        control.left -= 1
        if control.left < 0:
            self._weigh_control_frames()
        increment = int.from_bytes(payload, "big") & MAX_WINDOW
        if not stream:
            if not increment:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of 0")
            # why: while there was room in this window, nobody waited for more of it.
            awaited = self.send_window <= 0
            self.send_window += increment
            if self.send_window > MAX_WINDOW:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "the window is too large")
            if awaited:
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
        if stream in self.blocked and call.flush():
            self.blocked.pop(stream, None)

    def on_settings(self, flags: int, stream: int, payload: bytes) -> None:
        if stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "SETTINGS on a stream")
        if flags & h2.ACK:
            if payload:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS ACK with a payload")
            self.on_idle_frame()
            return
        self.on_idle_frame(_SETTINGS_COST + len(self._calls) // 10)
        # why a dict: of what is said twice the last counts, and each may touch every call.
        for key, value in dict(h2.read_settings(payload)).items():
            if key == h2.INITIAL_WINDOW_SIZE:
                change, self._peer_window = value - self._peer_window, value
                for call in self._calls.values():
                    call.send_window += change
                    if call.send_window > MAX_WINDOW:
                        raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")
            elif key == h2.MAX_FRAME_SIZE:
                self.peer_max_frame = value
                self.largest_joined = min(value, _JOIN_BELOW)
        self._control(h2.SETTINGS_ACK)
        self._flush()

    def on_ping(self, flags: int, stream: int, payload: bytes) -> None:
        if stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PING on a stream")
        if len(payload) != 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "PING of a broken length")
        self.on_idle_frame()
        if flags & h2.ACK:
            self._pings.answered()
            return
        self._pings.pinged(calls=bool(self._calls))
        self._control(h2.ping(payload, ack=True))

    def on_reset(self, _flags: int, stream: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM of a broken length")
        if not stream or stream > self._last_stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "RST_STREAM on an idle stream")
        call = self._calls.pop(stream, None)
        self.blocked.pop(stream, None)
        if call is None:
            self.on_idle_frame()
            return
        call.dropped()
        if self._youth.of(stream, self._last_stream):
            self._count_reset()

    # --- patience ----------------------------------------------------------------------------

    def _count_reset(self) -> None:
        """A stream was opened for nothing. Raises ConnectionFault when that happens too often."""
        self._resets.left -= 1
        if self._resets.left < 0 and not self._resets.refilled(self.answered):
            self._owner.places.refusals.count("grpc", "too many streams are reset")
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many streams are reset")

    def on_idle_frame(self, cost: int = 1) -> None:
        """A frame that carries no request. Raises ConnectionFault when there are too many."""
        self._control_frames.left -= cost
        if self._control_frames.left < 0:
            self._weigh_control_frames()

    def _weigh_control_frames(self) -> None:
        earned = (self.answered + self.data_frames) * _CONTROL_PER_ANSWER
        if not self._control_frames.refilled(earned):
            self._owner.places.refusals.count("grpc", "too many control frames")
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many control frames")

    # --- writing -----------------------------------------------------------------------------

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
                self._owner.places.refusals.count("grpc", "answers to control frames are not read")
                transport.abort()

    def _flush(self) -> None:
        """Let every call that waits for a window try again, each in turn."""
        for stream, call in list(self.blocked.items()):
            if self.send_window <= 0 and not call.finished:
                break
            if call.flush():
                self.blocked.pop(stream, None)

    def end(self, call: Call, last: bytes) -> None:
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
            self._control(h2.rst_stream(call.id, ErrorCode.NO_ERROR))
        if self._leaving and not self._calls:
            self.close()

    def reset(self, call: Call, code: ErrorCode) -> None:
        self._control(h2.rst_stream(call.id, code))
        self._calls.pop(call.id, None)
        self.blocked.pop(call.id, None)
        call.dropped()

    def reset_stream(self, fault: StreamFault) -> None:
        """Raises ConnectionFault when the client makes us do so too often."""
        call = self._calls.get(fault.stream)
        if call is not None:
            self.reset(call, fault.code)
        else:
            self._control(h2.rst_stream(fault.stream, fault.code))
        self._count_reset()

    def _fail(self, fault: ConnectionFault) -> None:
        """Say why, then hang up, also on who does not read it."""
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.write(h2.goaway(self._last_stream, fault.code, fault.reason))
            transport.close()
            self._closing = self._loop.call_later(_LINGER_S, transport.abort)

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
        """Hang up once what was written is read; running calls are lost."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Hang up now."""
        if self._transport is not None:
            self._transport.abort()

    def sweep(self, now: float) -> None:
        """Let go of a client that neither reads nor says anything for too long."""
        if self._transport is None:
            return
        patience = self._owner.places.patience
        waiting = self._transport.get_write_buffer_size()
        before, full_at, since = self._sent
        if not waiting or waiting < before or self._full_at != full_at:
            since = now
        self._sent = (waiting, self._full_at, since)
        if waiting:
            if patience.unread_s and now - since >= patience.unread_s:
                self._let_go("answers are not read")
            return
        if patience.unread_s:
            self._end_unread(now, patience.unread_s)
        quiet_s = now - self._heard_at(now)
        if self._reader.rest and quiet_s >= SWEEP_S:
            self._let_go("a frame is not completed")
        elif not self._calls and patience.idle_s and quiet_s >= patience.idle_s:
            self.leave("max_idle")

    def _heard_at(self, now: float) -> float:
        """When it was first seen that what the client said last is as it is now."""
        held = self._reader.rest
        seen = (held, len(held), self._last_stream, bool(self._calls))
        # why ``is``: another frame may begin with the same bytes.
        if not self._heard or self._heard[0] is not held or self._heard[1:4] != seen[1:]:
            self._heard = (*seen, now)
        return float(self._heard[4])

    def _end_unread(self, now: float, most_s: float) -> None:
        """End the calls whose answers wait for a window for too long; others go on."""
        seen, self._blocked_seen = self._blocked_seen, {}
        for call in list(self.blocked.values()):
            queued, since = seen.get(call.id, (0, now))
            if not call.queued or call.queued != queued:
                since = now
            self._blocked_seen[call.id] = (call.queued, since)
            if now - since >= most_s:
                self._owner.places.refusals.count("grpc", "an answer is not read")
                self.reset(call, ErrorCode.ENHANCE_YOUR_CALM)

    def _let_go(self, reason: str) -> None:
        self._owner.places.refusals.count("grpc", reason)
        self.abort()

    def abort_calls(self, text: str) -> None:
        """End every running call with UNAVAILABLE."""
        for call in list(self._calls.values()):
            handler = call.handler
            call.finish(_UNAVAILABLE, text)
            if handler is not None:
                handler.cancel()
