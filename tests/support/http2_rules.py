"""The rules of RFC 9113 and RFC 7541 as cases: what a client sends, and what a server makes of it.

The list is that of h2spec, made anew. ``tests/unit`` asks a connection with a fake transport,
``tests/hostile`` the listener of a running server.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from worker_runtime.protocols.grpc.native import frames as f
from worker_runtime.protocols.grpc.native.frames import ErrorCode as Code
from worker_runtime.protocols.grpc.native.header_blocks import literal

END, WHOLE, ACK = f.END_STREAM, f.END_HEADERS, f.ACK
PING = f.ping(b"are you?")
PONG = f.ping(b"are you?", ack=True)
STATUS = [(":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "x")]
GRPC = [("te", "trailers"), ("content-type", "application/grpc")]
Fields = Sequence[tuple[str, str]]


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes


def frames_in(data: bytes) -> list[Frame]:
    """The whole frames at the front of ``data``."""
    found, at = [], 0
    while at + f.HEAD_BYTES <= len(data):
        high, low, kind, flags, stream = f.HEAD.unpack_from(data, at)
        stop = at + f.HEAD_BYTES + (high << 8 | low)
        if stop > len(data):
            break
        found.append(Frame(kind, flags, stream, data[at + f.HEAD_BYTES : stop]))
        at = stop
    return found


def block(fields: Fields) -> bytes:
    """Of fields that enter no table."""
    return b"".join(literal(name.encode(), value.encode()) for name, value in fields)


def frame(kind: int, stream: int, payload: bytes = b"", flags: int = 0) -> bytes:
    return f.head(len(payload), kind, flags, stream) + payload


def headers(stream: int, fields: Fields, flags: int = WHOLE) -> bytes:
    return frame(f.HEADERS, stream, block(fields), flags)


@dataclass(frozen=True)
class Calls:
    """Three methods of the server that is asked, and messages for them, behind their prefixes."""

    streaming: str  # waits for messages
    waiting: str  # is not answered for now
    waiting_message: bytes
    asking: str  # is answered with a message at once
    asking_message: bytes

    def fields(self, path: str = "", **other: str | None) -> list[tuple[str, str]]:
        """``other``: fields that differ (``_`` for each colon and dash), None to leave one out."""
        changed = {name.replace("_", ":", 1): value for name, value in other.items()}
        given = dict([*STATUS, *GRPC]) | {":path": path or self.streaming} | changed
        return [(name, value) for name, value in given.items() if value is not None]

    def open(self, stream: int = 1) -> bytes:
        """A call that is open on both sides."""
        return headers(stream, self.fields())

    def wait(self, stream: int = 1) -> bytes:
        """A call whose client has said everything, and which is not answered yet."""
        message = frame(f.DATA, stream, self.waiting_message, END)
        return headers(stream, self.fields(self.waiting)) + message

    def ask(self, stream: int = 1) -> bytes:
        message = frame(f.DATA, stream, self.asking_message, END)
        return headers(stream, self.fields(self.asking)) + message

    def closed(self, stream: int = 1) -> bytes:
        """A call that both sides have ended."""
        return headers(stream, self.fields("/no.Such/Method"), WHOLE | END)

    def reset(self, stream: int = 1) -> bytes:
        """A call that its client has reset."""
        return self.open(stream) + f.rst_stream(stream, Code.CANCEL)


class Answer(NamedTuple):
    """All that a server said, in frames, and whether it has hung up."""

    frames: list[Frame]
    ended: bool

    def of(self, kind: int) -> list[Frame]:
        return [found for found in self.frames if found.kind == kind]

    @property
    def goaway(self) -> int | None:
        found = self.of(f.GOAWAY)
        return int.from_bytes(found[-1].payload[4:8], "big") if found else None

    @property
    def resets(self) -> dict[int, int]:
        """Code by stream."""
        return {
            found.stream: int.from_bytes(found.payload, "big") for found in self.of(f.RST_STREAM)
        }

    @property
    def pongs(self) -> int:
        return sum(found[:2] == (f.PING, ACK) for found in self.frames)


Judge = Callable[[Answer], bool]


def closes(*codes: Code) -> Judge:
    """A connection error."""
    return lambda answer: answer.goaway in codes and answer.ended


def resets(stream: int, *codes: Code) -> Judge:
    """A stream error: the connection lives on."""
    return lambda answer: (
        answer.resets.get(stream) in codes and answer.pongs > 0 and not answer.ended
    )


def ignored(answer: Answer) -> bool:
    return not answer.resets and answer.goaway is None and answer.pongs == 1 and not answer.ended


def lives(judge: Judge) -> Judge:
    return lambda answer: answer.goaway is None and answer.pongs > 0 and judge(answer)


def sizes(*expected: int) -> Judge:
    """Of the DATA frames."""
    return lives(lambda answer: [len(found.payload) for found in answer.of(f.DATA)] == [*expected])


class Rule(NamedTuple):
    section: str
    sent: str
    send: Callable[[Calls], bytes]
    expected: Judge
    greets: bool = True  # with the preface and SETTINGS

    def __str__(self) -> str:
        return f"{self.section} {self.sent}"


def _malformed(sent: str, section: str = "8.3", **other: str | None) -> Rule:
    return Rule(
        section, sent, lambda c: headers(1, c.fields(**other)), resets(1, Code.PROTOCOL_ERROR)
    )


def _extra(section: str, sent: str, *fields: tuple[str, str]) -> Rule:
    return Rule(
        section,
        sent,
        lambda c: headers(1, [*c.fields(), *fields]),
        resets(1, Code.PROTOCOL_ERROR),
    )


def _broken_block(section: str, sent: str, fragment: bytes) -> Rule:
    return Rule(
        section,
        sent,
        lambda c: frame(f.HEADERS, 1, block(c.fields()) + fragment, WHOLE),
        closes(Code.COMPRESSION_ERROR),
    )


def _size(value: int) -> bytes:
    """An update of the dynamic table's size."""
    rest, out = value - 31, bytearray([0x3F])
    while rest >= 128:
        out.append(rest % 128 + 128)
        rest //= 128
    return bytes([*out, rest])


def _depends(on: int) -> bytes:
    """The fields of a priority."""
    return on.to_bytes(4, "big") + b"\xff"


_PROTOCOL, _CLOSED = Code.PROTOCOL_ERROR, Code.STREAM_CLOSED
_SIZE_ERROR, _FLOW = Code.FRAME_SIZE_ERROR, Code.FLOW_CONTROL_ERROR
_LITERAL_A = b"\x00\x01a"
_WINDOW = f.INITIAL_WINDOW_SIZE

RULES = [
    # --- the beginning, and frames ---------------------------------------------------------------
    Rule("3.4", "the preface", lambda _: b"", lives(lambda a: a.frames[0].kind == f.SETTINGS)),
    Rule("3.4", "an HTTP/1 request", lambda _: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
         closes(_PROTOCOL), greets=False),
    Rule("3.4", "another preface", lambda _: b"INVALID CONNECTION PREFACE\r\n\r\n",
         closes(_PROTOCOL), greets=False),
    Rule("3.4", "no SETTINGS first", lambda _: f.PREFACE + PING, closes(_PROTOCOL), greets=False),
    Rule("4.1", "an unknown kind of frame", lambda _: frame(22, 0, bytes(8)), ignored),
    Rule("4.1", "undefined flags", lambda _: frame(f.PING, 0, bytes(8), 0x16),
         lives(lambda a: a.pongs == 2)),
    Rule("4.1", "the reserved bit", lambda _: frame(f.PING, 2**31, bytes(8)),
         lives(lambda a: a.pongs == 2)),
    Rule("4.2", "DATA of 2^14 bytes",
         lambda c: c.open() + frame(f.DATA, 1, b"\0" + (2**20).to_bytes(4, "big") + bytes(16_379)),
         ignored),
    Rule("4.2", "DATA larger than SETTINGS_MAX_FRAME_SIZE",
         lambda c: c.open() + f.head(2**20 + 1, f.DATA, 0, 1), closes(_SIZE_ERROR)),
    Rule("4.2", "HEADERS larger than SETTINGS_MAX_FRAME_SIZE",
         lambda _: f.head(2**20 + 1, f.HEADERS, WHOLE, 1), closes(_SIZE_ERROR)),
    Rule("4.3", "a block that cannot be decoded",
         lambda _: frame(f.HEADERS, 1, b"\xff" * 5, WHOLE), closes(Code.COMPRESSION_ERROR)),
    Rule("4.3", "PRIORITY within a block",
         lambda c: headers(1, c.fields(), 0) + frame(f.PRIORITY, 1, bytes(5)), closes(_PROTOCOL)),
    Rule("4.3", "HEADERS of another stream within a block",
         lambda c: headers(1, c.fields(), 0) + c.open(3), closes(_PROTOCOL)),
    # --- streams ---------------------------------------------------------------------------------
    Rule("5.1", "idle: DATA", lambda _: frame(f.DATA, 1, b"x", END), closes(_PROTOCOL, _CLOSED)),
    Rule("5.1", "idle: RST_STREAM", lambda _: f.rst_stream(1, Code.CANCEL), closes(_PROTOCOL)),
    Rule("5.1", "idle: WINDOW_UPDATE", lambda _: f.window_update(1, 100), closes(_PROTOCOL)),
    Rule("5.1", "idle: CONTINUATION", lambda _: frame(f.CONTINUATION, 1, b"", WHOLE),
         closes(_PROTOCOL)),
    Rule("5.1", "idle: PRIORITY", lambda _: frame(f.PRIORITY, 9, bytes(5)), ignored),
    Rule("5.1", "half closed (remote): DATA", lambda c: c.wait() + frame(f.DATA, 1, b"x", END),
         resets(1, _CLOSED)),
    Rule("5.1", "half closed (remote): HEADERS",
         lambda c: c.wait() + headers(1, [("a", "b")], WHOLE | END), resets(1, _CLOSED)),
    Rule("5.1", "half closed (remote): CONTINUATION",
         lambda c: c.wait() + frame(f.CONTINUATION, 1, b"", WHOLE), closes(_PROTOCOL, _CLOSED)),
    Rule("5.1", "half closed (remote): WINDOW_UPDATE and PRIORITY",
         lambda c: c.wait() + f.window_update(1, 1) + frame(f.PRIORITY, 1, bytes(5)), ignored),
    Rule("5.1", "reset: DATA", lambda c: c.reset() + frame(f.DATA, 1, b"x", END),
         resets(1, _CLOSED)),
    Rule("5.1", "reset: HEADERS", lambda c: c.reset() + c.open(), closes(_CLOSED)),
    Rule("5.1", "reset: CONTINUATION",
         lambda c: c.reset() + frame(f.CONTINUATION, 1, b"", WHOLE), closes(_PROTOCOL)),
    Rule("5.1", "closed: DATA", lambda c: c.closed() + frame(f.DATA, 1, b"x", END),
         resets(1, _CLOSED)),
    Rule("5.1", "closed: HEADERS", lambda c: c.closed() + c.open(), closes(_CLOSED)),
    Rule("5.1", "closed: CONTINUATION",
         lambda c: c.closed() + frame(f.CONTINUATION, 1, b"", WHOLE), closes(_PROTOCOL)),
    Rule("5.1", "closed: WINDOW_UPDATE, PRIORITY and RST_STREAM",
         lambda c: c.closed() + f.window_update(1, 1) + frame(f.PRIORITY, 1, bytes(5))
         + f.rst_stream(1, Code.CANCEL), ignored),
    Rule("5.1", "ended early by the server: DATA that was on its way",
         lambda c: headers(1, c.fields("/no.Such/Method")) + frame(f.DATA, 1, b"x")
         + frame(f.DATA, 1, b"x", END),
         lives(lambda a: a.resets == {1: Code.NO_ERROR})),
    Rule("5.1.1", "an even stream", lambda c: c.open(2), closes(_PROTOCOL)),
    Rule("5.1.1", "a stream lower than the last one", lambda c: c.wait(5) + c.open(3),
         closes(_PROTOCOL, _CLOSED)),
    Rule("5.1.2", "one call more than MAX_CONCURRENT_STREAMS",
         lambda c: b"".join(c.open(stream) for stream in range(1, 2003, 2)),
         resets(2001, Code.REFUSED_STREAM, _PROTOCOL)),
    Rule("5.3", "HEADERS that depend on themselves",
         lambda c: frame(f.HEADERS, 1, _depends(1) + block(c.fields()),
                         WHOLE | f.WITH_PRIORITY), closes(_PROTOCOL)),
    Rule("5.3", "PRIORITY that depends on itself",
         lambda c: c.open() + frame(f.PRIORITY, 1, _depends(1)), resets(1, _PROTOCOL)),
    Rule("5.3", "HEADERS with a priority",
         lambda c: frame(f.HEADERS, 1, _depends(3) + block(c.fields()),
                         WHOLE | f.WITH_PRIORITY), ignored),
    Rule("5.4.1", "anything behind a connection error", lambda _: frame(f.PING, 0, b"") + PING,
         lambda a: closes(_SIZE_ERROR)(a) and not a.pongs),
    Rule("5.5", "an unknown kind within a block",
         lambda c: headers(1, c.fields(), 0) + frame(22, 1, bytes(8)), closes(_PROTOCOL)),
    # --- each kind of frame ----------------------------------------------------------------------
    Rule("6.1", "DATA on stream 0", lambda _: frame(f.DATA, 0, b"x"), closes(_PROTOCOL)),
    Rule("6.1", "padding longer than the frame",
         lambda c: c.open() + frame(f.DATA, 1, b"\x09x", f.PADDED), closes(_PROTOCOL)),
    Rule("6.1", "DATA of padding only",
         lambda c: c.open() + frame(f.DATA, 1, b"\x03abc", f.PADDED), ignored),
    Rule("6.2", "HEADERS on stream 0", lambda c: c.open(0), closes(_PROTOCOL)),
    Rule("6.2", "HEADERS with padding longer than the frame",
         lambda c: frame(f.HEADERS, 1, b"\xff" + block(c.fields()), WHOLE | f.PADDED),
         closes(_PROTOCOL)),
    Rule("6.3", "PRIORITY on stream 0", lambda _: frame(f.PRIORITY, 0, bytes(5)),
         closes(_PROTOCOL)),
    Rule("6.3", "PRIORITY of four bytes", lambda c: c.open() + frame(f.PRIORITY, 1, bytes(4)),
         resets(1, _SIZE_ERROR)),
    Rule("6.4", "RST_STREAM on stream 0", lambda _: f.rst_stream(0, Code.CANCEL),
         closes(_PROTOCOL)),
    Rule("6.4", "RST_STREAM of three bytes", lambda c: c.open() + frame(f.RST_STREAM, 1, bytes(3)),
         closes(_SIZE_ERROR)),
    Rule("6.5", "SETTINGS ACK with a payload", lambda _: frame(f.SETTINGS, 0, bytes(6), ACK),
         closes(_SIZE_ERROR)),
    Rule("6.5", "SETTINGS on a stream", lambda _: frame(f.SETTINGS, 1), closes(_PROTOCOL)),
    Rule("6.5", "SETTINGS of five bytes", lambda _: frame(f.SETTINGS, 0, bytes(5)),
         closes(_SIZE_ERROR)),
    Rule("6.5.2", "ENABLE_PUSH of 2", lambda _: f.settings({f.ENABLE_PUSH: 2}), closes(_PROTOCOL)),
    Rule("6.5.2", "INITIAL_WINDOW_SIZE of 2^31", lambda _: f.settings({_WINDOW: 2**31}),
         closes(_FLOW)),
    Rule("6.5.2", "MAX_FRAME_SIZE below 2^14", lambda _: f.settings({f.MAX_FRAME_SIZE: 16_383}),
         closes(_PROTOCOL)),
    Rule("6.5.2", "MAX_FRAME_SIZE of 2^24", lambda _: f.settings({f.MAX_FRAME_SIZE: 2**24}),
         closes(_PROTOCOL)),
    Rule("6.5.2", "an unknown setting", lambda _: f.settings({0xFF: 1}), ignored),
    Rule("6.5.3", "SETTINGS", lambda _: f.settings({_WINDOW: 100}),
         lives(lambda a: [found.flags for found in a.of(f.SETTINGS)] == [0, ACK, ACK])),
    Rule("6.5.3", "INITIAL_WINDOW_SIZE twice: the last one counts",
         lambda c: frame(f.SETTINGS, 0,
                         f.settings({_WINDOW: 100})[9:] + f.settings({_WINDOW: 1})[9:]) + c.ask(),
         sizes(1)),
    Rule("6.6", "PUSH_PROMISE", lambda c: c.open() + frame(f.PUSH_PROMISE, 1, bytes(4), WHOLE),
         closes(_PROTOCOL)),
    Rule("6.7", "PING", lambda _: f.ping(b"h2spec.."),
         lives(lambda a: a.of(f.PING)[0].payload == b"h2spec..")),
    Rule("6.7", "PING ACK", lambda _: f.ping(b"invalid.", ack=True), ignored),
    Rule("6.7", "PING on a stream", lambda _: frame(f.PING, 1, bytes(8)), closes(_PROTOCOL)),
    Rule("6.7", "PING of six bytes", lambda _: frame(f.PING, 0, bytes(6)), closes(_SIZE_ERROR)),
    Rule("6.8", "GOAWAY on a stream", lambda _: frame(f.GOAWAY, 1, bytes(8)), closes(_PROTOCOL)),
    Rule("6.9", "WINDOW_UPDATE of 0", lambda _: f.window_update(0, 0), closes(_PROTOCOL)),
    Rule("6.9", "WINDOW_UPDATE of 0 for a call", lambda c: c.open() + f.window_update(1, 0),
         resets(1, _PROTOCOL)),
    Rule("6.9", "WINDOW_UPDATE of three bytes", lambda _: frame(f.WINDOW_UPDATE, 0, bytes(3)),
         closes(_SIZE_ERROR)),
    Rule("6.9.1", "a window of one byte", lambda c: f.settings({_WINDOW: 1}) + c.ask(), sizes(1)),
    Rule("6.9.1", "a window of the connection beyond 2^31 - 1",
         lambda _: f.window_update(0, 2**31 - 1) * 2, closes(_FLOW)),
    Rule("6.9.1", "a window of a call beyond 2^31 - 1",
         lambda c: c.open() + f.window_update(1, 2**31 - 1) * 2, resets(1, _FLOW)),
    Rule("6.9.2", "a window that grows by SETTINGS behind HEADERS",
         lambda c: f.settings({_WINDOW: 0}) + c.ask() + f.settings({_WINDOW: 1}), sizes(1)),
    Rule("6.9.2", "a window below 0",
         lambda c: f.settings({_WINDOW: 3}) + c.ask() + f.settings({_WINDOW: 2})
         + f.window_update(1, 2), sizes(3, 1)),
    Rule("6.9.2", "windows that SETTINGS make too large",
         lambda c: c.open() + f.window_update(1, f.MAX_WINDOW - f.DEFAULT_WINDOW)
         + f.settings({_WINDOW: f.DEFAULT_WINDOW + 1}), closes(_FLOW)),
    Rule("6.10", "a block in many pieces",
         lambda c: frame(f.HEADERS, 1, block(c.fields()), 0) + frame(f.CONTINUATION, 1) * 3
         + frame(f.CONTINUATION, 1, block([("a", "b")]), WHOLE), ignored),
    Rule("6.10", "DATA within a block",
         lambda c: headers(1, c.fields(), 0) + frame(f.CONTINUATION, 1) + frame(f.DATA, 1, b"x"),
         closes(_PROTOCOL)),
    Rule("6.10", "CONTINUATION on stream 0",
         lambda c: headers(1, c.fields(), 0) + frame(f.CONTINUATION, 0, b"", WHOLE),
         closes(_PROTOCOL)),
    Rule("6.10", "CONTINUATION behind a whole block",
         lambda c: c.open() + frame(f.CONTINUATION, 1, b"", WHOLE), closes(_PROTOCOL)),
    Rule("6.10", "CONTINUATION behind the last one",
         lambda c: headers(1, c.fields(), 0) + frame(f.CONTINUATION, 1, b"", WHOLE) * 2,
         closes(_PROTOCOL)),
    Rule("6.10", "CONTINUATION behind DATA",
         lambda c: c.open() + frame(f.DATA, 1, b"\0") + frame(f.CONTINUATION, 1, b"", WHOLE),
         closes(_PROTOCOL)),
    Rule("6.10", "a flood of CONTINUATION",
         lambda c: headers(1, c.fields(), 0) + frame(f.CONTINUATION, 1) * 80,
         closes(Code.ENHANCE_YOUR_CALM)),
    Rule("7", "GOAWAY with an unknown code",
         lambda _: frame(f.GOAWAY, 0, bytes(4) + b"\0\0\0\xff"), ignored),
    Rule("7", "RST_STREAM with an unknown code",
         lambda c: c.open() + frame(f.RST_STREAM, 1, b"\0\0\0\xff"), ignored),
    # --- requests --------------------------------------------------------------------------------
    Rule("8.1", "a second block that does not end the request",
         lambda c: c.open() + headers(1, [("a", "b")]), resets(1, _PROTOCOL)),
    Rule("8.1", "a pseudo-header in trailers",
         lambda c: c.open() + headers(1, [(":method", "POST")], WHOLE | END), resets(1, _PROTOCOL)),
    Rule("8.1.1", "more DATA than Content-Length",
         lambda c: headers(1, [*c.fields(c.asking), ("content-length", "1")])
         + frame(f.DATA, 1, c.asking_message, END), resets(1, _PROTOCOL)),
    Rule("8.1.1", "less DATA than Content-Length",
         lambda c: headers(1, [*c.fields(c.waiting), ("content-length", "1000")])
         + frame(f.DATA, 1, c.waiting_message, END), resets(1, _PROTOCOL)),
    Rule("8.1.1", "more DATA than Content-Length, in several frames",
         lambda c: headers(1, [*c.fields(c.asking), ("content-length", "1")])
         + frame(f.DATA, 1, c.asking_message[:1]) + frame(f.DATA, 1, c.asking_message[1:], END),
         resets(1, _PROTOCOL)),
    Rule("8.1.1", "as much DATA as Content-Length",
         lambda c: headers(1, [*c.fields(c.asking), ("content-length", str(len(c.asking_message)))])
         + frame(f.DATA, 1, c.asking_message, END),
         lives(lambda a: not a.resets and bool(a.of(f.DATA)))),
    _extra("8.1.1", "a Content-Length that is no number", ("content-length", "-1")),
    _extra("8.2.1", "a name with a capital", ("X-Test", "ok")),
    _extra("8.2.1", "a name with a space", ("x test", "ok")),
    _extra("8.2.1", "a name without a letter", ("", "ok")),
    _extra("8.2.1", "a value with a line break", ("x-test", "a\r\nb: c")),
    _extra("8.2.1", "a value with NUL", ("x-test", "a\0b")),
    _extra("8.2.2", "Connection", ("connection", "keep-alive")),
    _extra("8.2.2", "Transfer-Encoding", ("transfer-encoding", "chunked")),
    _extra("8.2.2", "Upgrade", ("upgrade", "h2c")),
    _malformed("TE of something else than trailers", "8.2.2", te="trailers, deflate"),
    _extra("8.3", "a pseudo-header behind a field", (":authority", "y")),
    _malformed("an unknown pseudo-header", _test="ok"),
    _malformed("a pseudo-header of answers", _status="200"),
    _malformed("no path", _path=None),
    _malformed("an empty path", "8.3.1", _path=""),
    _malformed("no method", "8.3.1", _method=None),
    _malformed("no scheme", "8.3.1", _scheme=None),
    *(
        Rule("8.3.1", f"{name} twice",
             lambda c, name=name: headers(1, [(name, "POST"), *c.fields()]), resets(1, _PROTOCOL))
        for name in (":method", ":scheme", ":path")
    ),
    Rule("8.4", "a push of the client", lambda _: frame(f.PUSH_PROMISE, 1, bytes(4)),
         closes(_PROTOCOL)),
    # --- HPACK (RFC 7541) ------------------------------------------------------------------------
    _broken_block("HPACK 2.3.3", "an index behind the table", b"\xc6"),
    _broken_block("HPACK 2.3.3", "a name of an index behind the table", b"\x7f\x50\x01a"),
    _broken_block("HPACK 4.2", "an update of the table's size at the end", b"\x21"),
    _broken_block("HPACK 5.1", "a number without end", b"\xff" + b"\x80" * 40 + b"\x01"),
    _broken_block("HPACK 5.2", "Huffman: padding of more than seven bits",
                  _LITERAL_A + b"\x82\x1f\xff"),
    _broken_block("HPACK 5.2", "Huffman: padding of zeros", _LITERAL_A + b"\x81\x18"),
    _broken_block("HPACK 5.2", "Huffman: the end of strings",
                  _LITERAL_A + b"\x85\x1f\xff\xff\xff\xff"),
    _broken_block("HPACK 5.2", "a text behind the block's end", b"\x00\x05ab"),
    _broken_block("HPACK 6.1", "index 0", b"\x80"),
    Rule("HPACK 6.3", "a table larger than SETTINGS_HEADER_TABLE_SIZE",
         lambda c: frame(f.HEADERS, 1, _size(4097) + block(c.fields()), WHOLE),
         closes(Code.COMPRESSION_ERROR)),
    Rule("HPACK 6.3", "a table of SETTINGS_HEADER_TABLE_SIZE",
         lambda c: frame(f.HEADERS, 1, _size(4096) + block(c.fields()), WHOLE), ignored),
]  # fmt: skip
