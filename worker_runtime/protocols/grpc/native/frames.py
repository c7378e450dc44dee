"""HTTP/2 frames as bytes: numbers, limits, and the few shapes a server sends (RFC 9113)."""

from enum import IntEnum
from struct import Struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
HEAD = Struct(">HBBBI")  # length (high 16 and low 8 bits), type, flags, stream
HEAD_BYTES = 9
_SETTING = Struct(">HI")
_MAX_SETTINGS = 64  # in one frame; seven are known, and clients make up a few
_NUMBER = Struct(">I")
_PAIR = Struct(">II")

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9

END_STREAM, END_HEADERS, PADDED, WITH_PRIORITY, ACK = 0x1, 0x4, 0x8, 0x20, 0x1

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS = 1, 2, 3
INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = 4, 5, 6

MAX_WINDOW = 2**31 - 1
DEFAULT_WINDOW = 65_535
SMALLEST_MAX_FRAME, LARGEST_MAX_FRAME = 16_384, 2**24 - 1


class ErrorCode(IntEnum):
    """The error codes of RFC 9113, section 7."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    SETTINGS_TIMEOUT = 4
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11


class ConnectionFault(Exception):
    """The peer broke a rule that ends the connection; ``code`` goes into the GOAWAY frame."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class StreamFault(Exception):
    """The peer broke a rule that ends one stream; ``code`` goes into the RST_STREAM frame."""

    def __init__(self, stream: int, code: ErrorCode) -> None:
        super().__init__(code.name)
        self.stream = stream
        self.code = code


def head(length: int, kind: int, flags: int, stream: int) -> bytes:
    """The nine bytes in front of a payload of ``length`` bytes."""
    return HEAD.pack(length >> 8, length & 0xFF, kind, flags, stream)


def settings(values: dict[int, int]) -> bytes:
    payload = b"".join(_SETTING.pack(key, value) for key, value in values.items())
    return head(len(payload), SETTINGS, 0, 0) + payload


SETTINGS_ACK = head(0, SETTINGS, ACK, 0)


def read_settings(payload: bytes) -> list[tuple[int, int]]:
    """Identifier and value pairs, checked. Raises ConnectionFault."""
    if len(payload) % _SETTING.size:
        raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS of a broken length")
    if len(payload) > _MAX_SETTINGS * _SETTING.size:
        raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "too many settings in a frame")
    found = list(_SETTING.iter_unpack(payload))
    for key, value in found:
        if key == ENABLE_PUSH and value > 1:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"ENABLE_PUSH is {value}")
        if key == INITIAL_WINDOW_SIZE and value > MAX_WINDOW:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, f"INITIAL_WINDOW_SIZE is {value}")
        if key == MAX_FRAME_SIZE and not SMALLEST_MAX_FRAME <= value <= LARGEST_MAX_FRAME:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, f"MAX_FRAME_SIZE is {value}")
    return found


def window_update(stream: int, increment: int) -> bytes:
    return head(4, WINDOW_UPDATE, 0, stream) + _NUMBER.pack(increment)


def rst_stream(stream: int, code: ErrorCode) -> bytes:
    return head(4, RST_STREAM, 0, stream) + _NUMBER.pack(code)


def ping(payload: bytes, *, ack: bool = False) -> bytes:
    return head(8, PING, ACK if ack else 0, 0) + payload


def goaway(last_stream: int, code: ErrorCode, reason: str = "") -> bytes:
    debug = reason.encode()[:1024]
    return head(8 + len(debug), GOAWAY, 0, 0) + _PAIR.pack(last_stream, code) + debug


def unpadded(payload: bytes, flags: int) -> bytes:
    """A DATA or HEADERS payload without padding and priority. Raises ConnectionFault."""
    start, stop = 0, len(payload)
    if flags & PADDED:
        if not payload:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "padded frame without a pad length")
        start, stop = 1, stop - payload[0]
    if flags & WITH_PRIORITY:
        start += 5
    if start > stop:
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "padding is longer than the frame")
    return payload[start:stop]
