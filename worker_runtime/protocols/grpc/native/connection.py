"""One HTTP/2 connection of a server: frames come, rules are kept, windows refilled (RFC 9113)."""

import asyncio

from worker_runtime.protocols.grpc.native import frames as h2
from worker_runtime.protocols.grpc.native.allowance import Allowance, StreamAges
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
    MALFORMED,
    CallHead,
    HeaderDecoder,
    literal,
    status_line,
    trailers,
)
from worker_runtime.protocols.grpc.native.large_frames import LargeFrames
from worker_runtime.protocols.grpc.native.messages import ENCODINGS, MessageFault
from worker_runtime.protocols.grpc.native.outgoing import STREAM_WINDOW, Outgoing, hello
from worker_runtime.protocols.grpc.native.owner import Owner
from worker_runtime.protocols.grpc.native.reader import FrameReader
from worker_runtime.protocols.grpc.native.standstill import Standstill
from worker_runtime.protocols.grpc.transport import Message
from worker_runtime.types.listening import CompressionLevel

_REFILL_STREAM = STREAM_WINDOW // 2
_LOW_CONNECTION = MAX_WINDOW - 2**30
# Seconds' worth of resets and control frames that may come at once, and what an answer earns.
_RESETS_AT_ONCE_S, _CONTROL_AT_ONCE_S, _CONTROL_PER_ANSWER = 4, 10, 10
_JOIN_BELOW = 64 * 1024  # smaller answers leave in one piece
_SETTINGS_COST = 10  # control frames, and one more for each ten calls: they touch every one
_INTERNAL, _UNIMPLEMENTED, _DEADLINE_EXCEEDED = 13, 12, 4


class Connection(Outgoing):
    """Its receiving side. Everything runs in the event loop."""

    __slots__ = (
        "_compressed",
        "_control_frames",
        "_decoder",
        "_large",
        "_level",
        "_most_calls",
        "_owner",
        "_peer_window",
        "_reader",
        "_recv_window",
        "_resets",
        "_service",
        "_standstill",
        "_stream_ages",
        "turns",
    )

    def __init__(self, owner: Owner) -> None:
        options = owner.options
        super().__init__(options, owner.admission.buffers)
        self._owner = owner
        self._service = owner.service
        self.turns = owner.turns
        self._reader = FrameReader(self)
        self._large: LargeFrames | None = None
        self._decoder = HeaderDecoder()
        self._recv_window = MAX_WINDOW
        self._peer_window = h2.DEFAULT_WINDOW
        self._most_calls = options.max_concurrent_streams or MAX_WINDOW
        self._level = options.compression
        self._compressed = () if self._level is CompressionLevel.NONE else owner.compressed
        resets, control = options.resets_per_second, options.control_frames_per_second
        self._resets = Allowance(resets, resets * _RESETS_AT_ONCE_S, "too many streams are reset")
        self._control_frames = Allowance(
            control, control * _CONTROL_AT_ONCE_S, "too many control frames"
        )
        self._stream_ages = StreamAges()
        self._standstill = Standstill()

    # --- transport callbacks -----------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._large = LargeFrames(self, self._reader, transport)
        self._owner.joined(self)
        self._transport.write(hello(self._owner.options.max_concurrent_streams))
        self._pings.start(self._loop)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 # asyncio's
        self.closed = True
        self._owner.left(self)
        self._pings.stop()
        if self._closing is not None:
            self._closing.cancel()
        self._transport = self._large = None
        calls, self._calls = list(self._calls.values()), {}
        self.blocked.clear()
        for call in calls:
            call.dropped()
        self.account.close()
        self._unread_bytes = 0

    def data_received(self, data: bytes) -> None:
        try:
            self.backlog = self._reader.feed(data)
        except ConnectionFault as fault:
            self._fail(fault)
            return
        if self.backlog and self._transport is not None:
            self._transport.pause_reading()
            self._loop.call_soon(self.go_on)

    def go_on(self) -> None:
        """Act on what was left of the last read."""
        data, self.backlog = self.backlog, b""
        if self._transport is None or self._transport.is_closing() or not data:
            return
        if not self.writes_paused:
            self._transport.resume_reading()
        self.data_received(data)

    def large_data_received(self, data: memoryview) -> None:
        """A part of a large DATA frame, where ``message_room`` said."""
        try:
            self._reader.pass_on(data, 0)
        except ConnectionFault as fault:
            self._fail(fault)

    def message_room(self, stream: int, size: int) -> memoryview | None:
        """Memory for the next ``size`` bytes of DATA, if they are of a message under way."""
        call = self._calls.get(stream)
        return call.room(size) if call is not None else None

    def on_large_frame(self) -> None:
        if self._large is not None:
            self._large.begin()

    # --- frames ------------------------------------------------------------------------------

    def on_header_block(self, flags: int, stream: int, block: bytes) -> None:
        if stream <= self._last_stream:
            self._late_block(stream, flags, block)
            return
        head = self._decoder.head(block)
        self._last_stream = stream
        if self._leaving or len(self._calls) >= self._most_calls:
            if not self._leaving:
                self._refusals.count("grpc", "too many calls at once on a connection")
            if not flags & END_STREAM:
                self.ended_first(stream)
            raise StreamFault(stream, ErrorCode.REFUSED_STREAM)
        call = Call(self, stream, head, STREAM_WINDOW, self._peer_window)
        if head.path in self._compressed:
            call.level = self._level
        self._calls[stream] = call
        if flags & END_STREAM:
            call.remote_closed = True  # first, as below
            self._open(call, head)
            call.end_of_input()
        else:
            self._open(call, head)

    def _open(self, call: Call, head: CallHead) -> None:
        """Raises StreamFault for what is no HTTP request."""
        if head.refusal == MALFORMED:
            raise StreamFault(call.id, ErrorCode.PROTOCOL_ERROR)
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
            if head.content_length >= 0:
                call.expect(head.content_length)

    def _late_block(self, stream: int, flags: int, block: bytes) -> None:
        """Headers on a known stream are the trailers of a request; on a closed one a mistake."""
        sound = self._decoder.trailers(block)
        call = self._calls.get(stream)
        if call is None:
            if stream not in self._ended_first:
                raise ConnectionFault(ErrorCode.STREAM_CLOSED, f"HEADERS on stream {stream}")
            self.on_idle_frame()
            return
        if call.remote_closed:
            raise StreamFault(stream, ErrorCode.STREAM_CLOSED)
        if not sound or not flags & END_STREAM:
            raise StreamFault(stream, ErrorCode.PROTOCOL_ERROR)
        call.end_of_input()

    def _refuse(self, call: Call, status: int) -> None:
        """An HTTP answer for what is not a gRPC request."""
        text = literal(b"content-type", b"text/plain")
        block = status_line(status) + text + trailers(_INTERNAL, "not a gRPC request")
        flags = h2.END_HEADERS | h2.END_STREAM
        call.finished = True
        self.end(call, h2.head(len(block), h2.HEADERS, flags, call.id) + block)

    def on_data(self, flags: int, stream: int, payload: Message) -> None:
        size = len(payload)
        self._recv_window -= size
        if self._recv_window <= _LOW_CONNECTION:
            self._refill_connection()
        call = self._calls.get(stream)
        if call is None:
            self._late_data(stream, flags, size)
            return
        if call.remote_closed:
            raise StreamFault(stream, ErrorCode.STREAM_CLOSED)
        call.recv_window -= size
        if call.recv_window < 0:
            raise StreamFault(stream, ErrorCode.FLOW_CONTROL_ERROR)
        if flags & PADDED:
            payload = h2.unpadded(bytes(payload), flags & PADDED)
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

    def _late_data(self, stream: int, flags: int, size: int) -> None:
        """Nothing is done about DATA that was on its way when we ended its call."""
        if not stream % 2 or stream > self._last_stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"DATA on idle stream {stream}")
        if stream not in self._ended_first:
            raise StreamFault(stream, ErrorCode.STREAM_CLOSED)
        if flags & END_STREAM:
            del self._ended_first[stream]
        if not size:
            self.on_idle_frame()

    def _refill_connection(self) -> None:
        if self._recv_window < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more DATA than the window allows")
        self.write(h2.window_update(0, MAX_WINDOW - self._recv_window))
        self._recv_window = MAX_WINDOW

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
            self._ended_first.pop(stream, None)
            self.on_idle_frame()
            return
        call.dropped()
        if self._stream_ages.is_young(stream, self._last_stream):
            self._count_reset()

    # --- timeouts ----------------------------------------------------------------------------

    def reset_stream(self, fault: StreamFault) -> None:
        """Raises ConnectionFault when the client makes us do so too often."""
        call = self._calls.get(fault.stream)
        if call is not None:
            self.reset(call, fault.code)
        else:
            self._control(h2.rst_stream(fault.stream, fault.code))
        self._count_reset()

    def _count_reset(self) -> None:
        """A stream was opened for nothing. Raises ConnectionFault when that happens too often."""
        self._resets.left -= 1
        if self._resets.left < 0:
            self._resets.refill(self.answered)

    def on_idle_frame(self, cost: int = 1) -> None:
        """A frame that carries no request. Raises ConnectionFault when there are too many."""
        self._control_frames.left -= cost
        if self._control_frames.left < 0:
            self._weigh_control_frames()

    def _weigh_control_frames(self) -> None:
        self._control_frames.refill((self.answered + self.data_frames) * _CONTROL_PER_ANSWER)

    def sweep(self, now: float) -> None:
        """Let go of a client that neither reads nor says what it has begun to say."""
        if self._transport is None:
            return
        limits, still = self._owner.admission.limits, self._standstill
        waiting = self._transport.get_write_buffer_size()
        unread_s = still.unread_s(now, waiting, self._full_at)
        if waiting:
            if limits.unread_s and unread_s >= limits.unread_s:
                self._let_go("answers are not read")
            return
        if limits.unread_s:
            for call in still.unread_calls(now, self.blocked.values(), limits.unread_s):
                self._refusals.count("grpc", "an answer is not read")
                self.reset(call, ErrorCode.ENHANCE_YOUR_CALM)
        head_s, body_s = limits.head_s, limits.body_s
        for call in still.late_calls(now, self._calls.values(), head_s, body_s):
            self._refusals.count("grpc", "a message is not completed")
            call.break_off(MessageFault(_DEADLINE_EXCEEDED, "the message is not completed in time"))
        quiet_s = still.quiet_s(now, self._last_stream, calls=bool(self._calls))
        if head_s and still.opening_s(now, self._reader.opening) >= head_s:
            self._let_go("a head is not completed")
        elif body_s and still.held_s(now, self._reader.rest, self._reader.left) >= body_s:
            self._let_go("a frame is not completed")
        elif not self._calls and limits.idle_s and quiet_s >= limits.idle_s:
            self.leave("max_idle")

    def _let_go(self, reason: str) -> None:
        self._refusals.count("grpc", reason)
        self.abort()
