"""Bytes to frames: the preface, the order of frames, and header blocks made whole (RFC 9113)."""

from collections.abc import Callable
from time import monotonic
from typing import Protocol

from worker_runtime.protocols.grpc.native import frames as h2
from worker_runtime.protocols.grpc.native.frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEAD_BYTES,
    MAX_WINDOW,
    PADDED,
    ConnectionFault,
    ErrorCode,
    StreamFault,
)
from worker_runtime.protocols.grpc.native.header_blocks import MAX_HEADER_BYTES
from worker_runtime.protocols.grpc.transport import Message

MAX_FRAME = 1024 * 1024
# A read of 256 KiB may have 28,000 frames, or open two thousand calls, at some 60 µs each.
_TURN_S = 0.002  # for the frames of one read, in one turn of the loop
_FRAMES_AT_ONCE = 8  # before the clock is looked at: up to 0.3 ms each
_MAX_BLOCK_PARTS = 64
_LARGE = 4 * 1024  # bytes of DATA that are passed on as a view, and as they come
_MUCH = 64 * 1024
_unpack_head = h2.HEAD.unpack_from
_FILLED = h2.PADDED | h2.WITH_PRIORITY  # has more in it than what is said
_KINDS = 10  # frames of other kinds are ignored

OnFrame = Callable[[int, int, bytes], None]  # flags, stream, payload


class FrameHandler(Protocol):
    """Who acts on whole frames; each may raise ConnectionFault or StreamFault."""

    closed: bool

    def on_data(self, flags: int, stream: int, payload: Message) -> None:
        """A whole frame, or a part of one as if it were a frame of its own."""
        ...

    def on_large_frame(self) -> None:
        """Much of a DATA frame is still to come."""
        ...

    def on_header_block(self, flags: int, stream: int, block: bytes) -> None: ...

    def on_reset(self, flags: int, stream: int, payload: bytes) -> None: ...

    def on_settings(self, flags: int, stream: int, payload: bytes) -> None: ...

    def on_ping(self, flags: int, stream: int, payload: bytes) -> None: ...

    def on_window(self, flags: int, stream: int, payload: bytes) -> None: ...

    def on_idle_frame(self) -> None:
        """A frame that changes nothing."""
        ...

    def reset_stream(self, fault: StreamFault) -> None: ...


class FrameReader:
    """The receiving side of one connection, up to whole frames."""

    def __init__(self, handler: FrameHandler) -> None:
        self._handler = handler
        self.rest = bytearray()  # of a frame that is not whole yet, or of the preface
        self.left = 0  # bytes to come of a DATA frame whose front is passed on
        self.stream = self._flags = 0  # of that frame
        self._preface_read = False
        self._settled = False  # the client's first SETTINGS frame is there
        self._plain = False  # any frame may come: settled, and no header block is open
        self._block: tuple[int, int, list[bytes]] | None = None  # stream, flags, parts
        self._by_kind: tuple[OnFrame, ...] = (
            handler.on_data,
            self._on_headers,
            self._on_priority,
            handler.on_reset,
            handler.on_settings,
            self._on_push,
            handler.on_ping,
            self._on_goaway,
            handler.on_window,
            self._on_continuation,
        )

    @property
    def opening(self) -> object | None:
        """What must come before anything else can: the first SETTINGS, or the rest of a block."""
        return self._block if self._settled else self

    def feed(self, data: bytes) -> bytes:
        """Act on whole frames for a while; what is left for another turn of the loop.

        Raises ConnectionFault.
        """
        at, end = 0, len(data)
        if not self._preface_read:
            data, at, end = self._read_preface(data)
        elif self.rest:
            at = self._complete(data)
        handler, by_kind, turn, began = self._handler, self._by_kind, _FRAMES_AT_ONCE, 0.0
        while (start := at + HEAD_BYTES) <= end and not handler.closed:
            high, low, kind, flags, stream = _unpack_head(data, at)
            length = high << 8 | low
            stop = start + length
            if not turn:
                now = monotonic()
                if began and now - began > _TURN_S:
                    return data[at:]
                began, turn = began or now, _FRAMES_AT_ONCE
            if length >= _LARGE and self._begins(kind, flags, stream, length):
                # why the clock each time: there may be thousands of messages in it.
                began, turn = began or monotonic(), 0
                at = self.pass_on(data, start)
                continue
            if stop > end:
                break
            turn -= 1
            payload = data[start:stop]
            at = stop
            try:
                if self._plain and kind < _KINDS:
                    by_kind[kind](flags, stream & MAX_WINDOW, payload)
                else:
                    self._frame(kind, flags, stream & MAX_WINDOW, payload)
            except StreamFault as fault:
                handler.reset_stream(fault)
        if at < end:
            self.rest = bytearray(memoryview(data)[at:])
        return b""

    def _read_preface(self, data: bytes) -> tuple[bytes, int, int]:
        """What has come, where the frames in it begin, and where they end: nowhere yet, at first.

        Raises ConnectionFault when it is not HTTP/2.
        """
        if self.rest:
            data = bytes(self.rest + data)
            self.rest = bytearray()
        size = len(h2.PREFACE)
        if not h2.PREFACE.startswith(data[:size]):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "not an HTTP/2 preface")
        self._preface_read = len(data) >= size
        if not self._preface_read:
            self.rest = bytearray(data)
            return data, len(data), len(data)
        return data, size, len(data)

    def _complete(self, data: bytes) -> int:
        """Add to the frame that is held, and act on it when it is whole; where the next begins.

        What is held is never copied again, however small the pieces are.
        """
        if self.left:
            return self.pass_on(data, 0)
        rest = self.rest
        at = max(0, min(HEAD_BYTES - len(rest), len(data)))
        rest += memoryview(data)[:at]
        if len(rest) < HEAD_BYTES:
            return at
        high, low, kind, flags, stream = h2.HEAD.unpack_from(rest)
        length: int = high << 8 | low
        if length >= _LARGE and self._begins(kind, flags, stream, length):
            return self.pass_on(data, at)
        stop = min(at + HEAD_BYTES + length - len(rest), len(data))
        rest += memoryview(data)[at:stop]
        if len(rest) == HEAD_BYTES + length:
            self.rest = bytearray()
            payload = bytes(memoryview(rest)[HEAD_BYTES:])
            try:
                self._frame(kind, flags, stream & MAX_WINDOW, payload)
            except StreamFault as fault:
                self._handler.reset_stream(fault)
        return stop

    def _begins(self, kind: int, flags: int, stream: int, length: int) -> bool:
        """Whether this is a frame that can be passed on as it comes. Raises ConnectionFault."""
        if length > MAX_FRAME:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {length} bytes")
        if kind != DATA or flags & PADDED or not self._plain:
            return False
        self.rest = bytearray(HEAD_BYTES)  # in place of its head, until it has come
        self.left, self._flags, self.stream = length, flags, stream & MAX_WINDOW
        return True

    def pass_on(self, data: Message, at: int) -> int:
        """Give on what there is of a large DATA frame; where it ends.

        To HTTP/2 that is as if the client had sent more and smaller frames. Raises ConnectionFault.
        """
        stop = min(at + self.left, len(data))
        if at < stop:
            self.left -= stop - at
            if not self.left:
                self.rest = bytearray()
            flags = self._flags & ~END_STREAM if self.left else self._flags
            try:
                self._handler.on_data(flags, self.stream, memoryview(data)[at:stop])
            except StreamFault as fault:
                self._handler.reset_stream(fault)
        if self.left >= _MUCH:
            self._handler.on_large_frame()
        return stop

    def _frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        """Frames that come first, between HEADERS and CONTINUATION, or of a kind unknown."""
        if self._block is not None and kind != h2.CONTINUATION:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a header block was interrupted")
        if not self._settled:
            if kind != h2.SETTINGS:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "SETTINGS must come first")
            self._settled = self._plain = True
        if kind < _KINDS:  # unknown kinds are ignored, as the RFC wants
            self._by_kind[kind](flags, stream, payload)
        else:
            self._handler.on_idle_frame()

    def _on_headers(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & _FILLED:
            if flags & h2.WITH_PRIORITY and _depends_on(payload, flags & h2.PADDED) == stream:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a stream depends on itself")
            payload = h2.unpadded(payload, flags)
        if not stream % 2:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"HEADERS on stream {stream}")
        if flags & END_HEADERS:
            self._handler.on_header_block(flags, stream, payload)
        else:
            self._block = (stream, flags, [payload])
            self._plain = False

    def _on_continuation(self, flags: int, stream: int, payload: bytes) -> None:
        if self._block is None or self._block[0] != stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "CONTINUATION without HEADERS")
        self._handler.on_idle_frame()
        _, first_flags, parts = self._block
        parts.append(payload)
        if sum(map(len, parts)) > MAX_HEADER_BYTES or len(parts) > _MAX_BLOCK_PARTS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "the header block is too large")
        if flags & h2.END_HEADERS:
            self._block = None
            self._plain = True
            self._handler.on_header_block(first_flags, stream, b"".join(parts))

    def _on_priority(self, _flags: int, stream: int, payload: bytes) -> None:
        if not stream:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PRIORITY on stream 0")
        if len(payload) != 5:
            raise StreamFault(stream, ErrorCode.FRAME_SIZE_ERROR)
        if _depends_on(payload, 0) == stream:
            raise StreamFault(stream, ErrorCode.PROTOCOL_ERROR)
        self._handler.on_idle_frame()

    def _on_push(self, _flags: int, _stream: int, _payload: bytes) -> None:
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a client cannot push")

    def _on_goaway(self, _flags: int, stream: int, payload: bytes) -> None:
        if stream or len(payload) < 8:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a broken GOAWAY")
        # The client opens no more streams; the running ones end as ever.
        self._handler.on_idle_frame()


def _depends_on(payload: bytes, padded: int) -> int:
    """The stream that the fields of a priority name."""
    start = 1 if padded else 0
    return int.from_bytes(payload[start : start + 4], "big") & MAX_WINDOW
