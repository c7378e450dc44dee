"""Clients that cost a server more than they pay, and those that only look like it (RFC 9113, 10.5).

Every attack is counted in frames and bytes, never in seconds.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import hpack
import pytest

from tests.support.http2_peer import HEADERS
from tests.support.http2_raw import Raw, resets
from worker_runtime.protocols.grpc.native import frames as f
from worker_runtime.protocols.grpc.native import reader
from worker_runtime.protocols.grpc.native.frames import ErrorCode
from worker_runtime.types.listening import Keepalive

MESSAGE = b"\0\0\0\0\5hello"

pytestmark = pytest.mark.usefixtures("clock")


# --- calls at once -----------------------------------------------------------------------------


async def test_calls_at_once_are_told_and_enforced() -> None:
    raw = Raw(max_concurrent_streams=100)
    assert f.settings({f.MAX_CONCURRENT_STREAMS: 100})[9:] in raw.said
    for _ in range(100):
        raw.send(raw.headers()[1])
    assert raw.connection.calls == 100
    extra, data = raw.headers()
    raw.send(data)
    assert f.rst_stream(extra, ErrorCode.REFUSED_STREAM) in raw.said
    assert len(raw.owner.handlers) == raw.connection.calls == 100
    assert raw.owner.admission.refusals.counts.total() == 1
    raw.owner.handlers[0].call.finish(0)
    raw.send(raw.headers()[1])
    assert len(raw.owner.handlers) == 101


async def test_twenty_thousand_open_calls_are_not_kept() -> None:
    raw = Raw()
    for _ in range(20_000):
        if not raw.transport.closed:
            raw.send(raw.headers()[1])
    assert raw.connection.calls == 1000
    assert raw.bye == (ErrorCode.ENHANCE_YOUR_CALM, b"too many streams are reset")


async def test_refused_calls_leave_the_headers_of_the_next_readable() -> None:
    raw = Raw(max_concurrent_streams=1)
    raw.send(raw.headers()[1])
    raw.send(raw.headers("/a-name-that-enters-the-table")[1])
    raw.owner.handlers[0].call.finish(0)
    raw.send(raw.headers("/a-name-that-enters-the-table")[1])
    assert b"Method not found: /a-name-that-enters-the-table" in raw.said


# --- resets ------------------------------------------------------------------------------------


async def test_rapid_resets_end_the_connection() -> None:
    raw = Raw()

    def one(_: int) -> bytes:
        stream, data = raw.headers()
        return data + f.rst_stream(stream, ErrorCode.CANCEL)

    assert resets(raw, 25_000, one) == 4000
    assert raw.bye == (ErrorCode.ENHANCE_YOUR_CALM, b"too many streams are reset")
    assert [handler.cancelled for handler in raw.owner.handlers] == [1] * 4001
    assert raw.owner.admission.refusals.counts["grpc", "too many streams are reset"] == 1


@pytest.mark.parametrize("refused", ["/nope", "not gRPC"])
async def test_a_refused_call_forgives_nothing(refused: str) -> None:
    raw = Raw()

    def one(number: int) -> bytes:
        stream, data = raw.headers()
        data += f.rst_stream(stream, ErrorCode.CANCEL)
        if number % 10 == 0 and refused == "/nope":
            data += raw.headers(refused, f.END_HEADERS | f.END_STREAM)[1]
        elif number % 10 == 0:
            block = hpack.Encoder().encode(
                [(":method", "GET"), (":scheme", "http"), (":path", "/")]
            )
            flags = f.END_HEADERS | f.END_STREAM
            data += f.head(len(block), f.HEADERS, flags, raw.headers()[0]) + block
        return data

    assert resets(raw, 25_000, one) == 4000


MADE: list[tuple[str, Callable[[int], bytes]]] = [
    ("a window update of 0", lambda s: f.window_update(s, 0)),
    ("a window that overflows", lambda s: f.window_update(s, f.MAX_WINDOW)),
    ("PRIORITY of a broken length", lambda s: f.head(1, f.PRIORITY, 0, s) + b"x"),
    (
        "DATA behind the end",
        lambda s: f.head(0, f.DATA, f.END_STREAM, s) + f.head(1, f.DATA, 0, s) + b"x",
    ),
    ("HEADERS behind the end", lambda s: f.head(0, f.DATA, f.END_STREAM, s) + trailers(s)),
    ("trailers that do not end", lambda s: trailers(s)),
]


def trailers(stream: int) -> bytes:
    block = b"\x00\x01a\x01b"
    return f.head(len(block), f.HEADERS, f.END_HEADERS, stream) + block


@pytest.mark.parametrize(("name", "fault"), MADE, ids=[name for name, _ in MADE])
async def test_resets_that_a_client_makes_us_send_count(
    name: str, fault: Callable[[int], bytes]
) -> None:
    raw = Raw()

    def one(_: int) -> bytes:
        stream, data = raw.headers()
        return data + fault(stream)

    assert resets(raw, 15_000, one) == 4000, name
    assert raw.bye == (ErrorCode.ENHANCE_YOUR_CALM, b"too many streams are reset")
    assert raw.connection.calls == 0


async def test_data_on_streams_that_are_closed_counts() -> None:
    raw = Raw()
    stream, data = raw.headers()
    raw.send(data + f.rst_stream(stream, ErrorCode.CANCEL))
    late = f.head(1, f.DATA, 0, stream) + b"x"
    assert resets(raw, 15_000, lambda _: late) == 3999
    assert raw.bye == (ErrorCode.ENHANCE_YOUR_CALM, b"too many streams are reset")


async def test_what_was_on_its_way_when_we_ended_its_call_is_no_mistake() -> None:
    """A refused call of 64 MB: the client had sent much of it before it heard."""
    raw = Raw(max_concurrent_streams=1)
    raw.send(raw.headers()[1])
    refused, data = raw.headers()
    unknown, more = raw.headers("/nope")
    raw.send(data + more)
    for stream in (refused, unknown):
        for _ in range(5000):
            raw.send(f.head(100, f.DATA, 0, stream) + bytes(100))
        raw.send(f.head(1, f.DATA, f.END_STREAM, stream) + b"x")
    assert raw.sent(f.RST_STREAM) == 2
    assert not raw.transport.closed
    assert not raw.connection._ended_first


async def test_calls_that_we_ended_are_not_remembered_without_end() -> None:
    raw = Raw(resets_per_second=0)
    for _ in range(10_000):
        raw.connection.data_received(raw.headers("/nope")[1])
    assert len(raw.connection._ended_first) == 4096


async def test_an_impatient_client_may_give_up_hundreds_of_calls_at_once(
    clock: Callable[[float], None],
) -> None:
    """As Envoy does when its clients' time-outs pass, or somebody stops a notebook."""
    raw = Raw()
    for _ in range(60):
        streams = []
        for _ in range(1000):
            stream, data = raw.headers()
            streams.append(stream)
            raw.send(data)
        clock(2.0)
        raw.send(b"".join(f.rst_stream(stream, ErrorCode.CANCEL) for stream in streams))
        assert raw.connection.calls == 0
    assert not raw.transport.closed
    assert all(handler.cancelled == 1 for handler in raw.owner.handlers)
    stream, data = raw.headers("/echo")
    raw.send(data + f.head(len(MESSAGE), f.DATA, f.END_STREAM, stream) + MESSAGE)
    assert MESSAGE in raw.said


async def test_calls_that_last_are_given_up_at_any_rate(clock: Callable[[float], None]) -> None:
    """A model that hangs behind a gateway with a time-out of a second, for two minutes."""
    raw = Raw()
    open_now: list[int] = []
    for _ in range(240):
        clock(0.5)
        for stream in open_now[:500] if len(open_now) >= 1000 else []:
            raw.send(f.rst_stream(stream, ErrorCode.CANCEL))
        open_now = open_now[500:] if len(open_now) >= 1000 else open_now
        for _ in range(500):
            stream, data = raw.headers()
            open_now.append(stream)
            raw.send(data)
        assert not raw.transport.closed


async def test_answers_earn_resets() -> None:
    """One call in two is given up at once: two copies of each, and the slower one loses."""
    raw = Raw()
    for _ in range(10_000):
        lost, first = raw.headers()
        won, second = raw.headers("/echo")
        data = f.head(len(MESSAGE), f.DATA, f.END_STREAM, won) + MESSAGE
        data += f.window_update(0, len(MESSAGE))
        raw.send(first + second + data + f.rst_stream(lost, ErrorCode.CANCEL))
        raw.said = b""
    assert not raw.transport.closed


async def test_no_limits_when_they_are_turned_off() -> None:
    raw = Raw(max_concurrent_streams=0, resets_per_second=0, control_frames_per_second=0)
    for _ in range(3000):
        raw.send(raw.headers()[1] + f.settings({}) + f.window_update(0, 1))
    for _ in range(3000):
        stream, data = raw.headers()
        raw.send(data + f.rst_stream(stream, ErrorCode.CANCEL))
    assert raw.connection.calls == 3000
    assert not raw.transport.closed


# --- frames that carry nothing -------------------------------------------------------------------

CONTINUED = hpack.Encoder().encode(HEADERS)
NOTHING: list[tuple[str, Callable[[Raw], bytes], int]] = [
    ("SETTINGS", lambda _: f.settings({}), 1000),
    ("SETTINGS ACK", lambda _: f.SETTINGS_ACK, 10_000),
    ("PING", lambda _: f.ping(b"12345678"), 10_000),
    ("PING ACK", lambda _: f.ping(b"12345678", ack=True), 10_000),
    ("PRIORITY", lambda _: f.head(5, f.PRIORITY, 0, 1) + bytes(5), 10_000),
    ("an unknown kind", lambda _: f.head(3, 77, 0, 1) + b"abc", 10_000),
    ("WINDOW_UPDATE", lambda _: f.window_update(0, 1), 10_000),
    ("WINDOW_UPDATE of a call", lambda _: f.window_update(1, 1), 10_000),
    ("empty DATA", lambda _: f.head(0, f.DATA, 0, 1), 10_000),
    ("DATA of padding", lambda _: f.head(4, f.DATA, f.PADDED, 1) + b"\3abc", 10_000),
    ("RST_STREAM of a closed call", lambda _: f.rst_stream(3, ErrorCode.CANCEL), 10_000),
    ("GOAWAY", lambda _: f.goaway(0, ErrorCode.NO_ERROR), 10_000),
]


@pytest.mark.parametrize(("name", "frame", "most"), NOTHING, ids=[name for name, _, _ in NOTHING])
async def test_floods_of_frames_that_carry_nothing_end_the_connection(
    name: str, frame: Callable[[Raw], bytes], most: int
) -> None:
    raw = Raw(keepalive=Keepalive(max_ping_strikes=0))  # which leaves pings to this limit
    raw.send(raw.headers()[1])
    stream, data = raw.headers()
    raw.send(data + f.rst_stream(stream, ErrorCode.CANCEL))
    raw.said = b""
    seen = resets(raw, 100_000, lambda _: frame(raw))
    assert most * 0.99 <= seen <= most, name
    assert raw.bye == (ErrorCode.ENHANCE_YOUR_CALM, b"too many control frames")
    assert len(raw.said) <= most * 17 + 100


async def test_calls_in_many_pieces_of_headers_count_as_control_frames() -> None:
    raw = Raw()

    def one(_: int) -> bytes:
        stream, _ = raw.headers()
        start = f.head(len(CONTINUED), f.HEADERS, f.END_STREAM, stream) + CONTINUED
        pieces = f.head(0, f.CONTINUATION, 0, stream) * 60
        return start + pieces + f.head(0, f.CONTINUATION, f.END_HEADERS, stream)

    # why not calls that are answered: /echo would earn ten for each.
    assert resets(raw, 2000, one) < 200
    assert raw.bye == (ErrorCode.ENHANCE_YOUR_CALM, b"too many control frames")


async def test_a_frame_with_thousands_of_settings_is_refused() -> None:
    raw = Raw()
    entry = f.settings({f.INITIAL_WINDOW_SIZE: 1})[9:]
    raw.send(f.head(len(entry) * 170_000, f.SETTINGS, 0, 0) + entry * 170_000)
    assert raw.bye is not None
    assert raw.bye[0] == ErrorCode.ENHANCE_YOUR_CALM


async def test_settings_cost_more_with_many_calls() -> None:
    """Each moves the window of every call; of what is said 64 times only the last counts."""
    raw = Raw()
    for _ in range(1000):
        raw.send(raw.headers()[1])
    entries = f.settings({f.INITIAL_WINDOW_SIZE: 1})[9:] * 63
    entries += f.settings({f.INITIAL_WINDOW_SIZE: 2})[9:]
    frame = f.head(len(entries), f.SETTINGS, 0, 0) + entries
    assert resets(raw, 10_000, lambda _: frame) == 90
    assert {handler.call.send_window for handler in raw.owner.handlers} == {2}


async def test_what_calls_bring_along_is_no_flood() -> None:
    """gRPC's clients send window updates, and pings of their own, with almost every answer."""
    raw = Raw()
    for number in range(30_000):
        stream, data = raw.headers("/echo")
        data += f.head(len(MESSAGE), f.DATA, f.END_STREAM, stream) + MESSAGE
        raw.send(data + f.window_update(0, len(MESSAGE)) * 2 + f.ping(b"12345678"))
        if number % 1000 == 0:
            raw.send(f.settings({f.INITIAL_WINDOW_SIZE: 65_535 + number}))
        raw.said = b""
    assert not raw.transport.closed


async def test_a_stream_of_answers_earns_its_window_updates() -> None:
    raw = Raw()
    stream, data = raw.headers()
    raw.send(data)
    call = raw.owner.handlers[0].call
    for _ in range(50_000):
        call.send([b"x" * 100], 100)
        raw.send(f.window_update(0, 105) + f.window_update(stream, 105))
        raw.said = b""
    assert not raw.transport.closed


async def test_a_day_of_slow_control_frames_is_no_flood(clock: Callable[[float], None]) -> None:
    raw = Raw(keepalive=Keepalive(max_ping_strikes=0))
    for _ in range(100_000):
        clock(0.5)
        raw.send(f.ping(b"12345678") + f.settings({}))
        raw.said = b""
    assert not raw.transport.closed


async def test_settings_do_not_excuse_pings() -> None:
    raw = Raw()
    for _ in range(4):
        raw.send(f.ping(b"12345678") + f.settings({}))
    assert raw.bye == (ErrorCode.ENHANCE_YOUR_CALM, b"too_many_pings")


async def test_a_read_full_of_frames_takes_several_turns_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What a loop is held up by is a part of it, and nothing is lost or put in another order."""
    now = count(1000, 2)
    monkeypatch.setattr(reader, "monotonic", lambda: next(now))
    raw = Raw()
    data = b"".join(raw.headers()[1] for _ in range(700))
    turns: list[int] = []
    raw.connection.data_received(data)
    assert not raw.transport.reading
    while not raw.transport.reading:
        turns.append(len(raw.owner.handlers))
        raw.connection.pause_writing()
        raw.connection.resume_writing()
        assert not raw.transport.reading, "what follows is behind the rest"
        await asyncio.sleep(0)
    assert turns == [*range(16, 700, 16)]
    assert [handler.call.id for handler in raw.owner.handlers] == list(range(1, 1400, 2))


async def test_a_read_full_of_large_frames_takes_several_turns_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of five bytes each there are 50,000 messages in a read."""
    now = count(1000, 2)
    monkeypatch.setattr(reader, "monotonic", lambda: next(now))
    raw = Raw()
    stream, data = raw.headers()
    raw.send(data)
    messages = b"\0\0\0\0\0" * 1000
    frame = f.head(len(messages), f.DATA, 0, stream) + messages
    raw.connection.data_received(frame * 8)
    turns = 0
    while not raw.transport.reading:
        turns += 1
        await asyncio.sleep(0)
    assert turns > 4
    (handler,) = raw.owner.handlers
    while len(handler.messages) < 8000:
        await asyncio.sleep(0)
    assert set(handler.messages) == {b""}


# --- pieces --------------------------------------------------------------------------------------


async def test_a_frame_in_tiny_pieces_is_not_joined_again_and_again() -> None:
    raw = Raw()
    stream, data = raw.headers("/echo")
    raw.send(data)
    body = b"\0" + (1_000_000).to_bytes(4, "big") + bytes(range(250)) * 4000
    frame = f.head(len(body), f.DATA, f.END_STREAM, stream) + body
    begun = 70_000  # its memory is the second and last one by then
    raw.send(frame[:begun])
    memory = raw.connection._calls[stream]._assembler._memory  # type: ignore[union-attr] # made
    for at in range(begun, len(frame) - 1):
        raw.connection.data_received(frame[at : at + 1])
    assert raw.connection._calls[stream]._assembler._memory is memory  # type: ignore[union-attr]
    assert len(raw.connection._reader.rest) == f.HEAD_BYTES
    raw.send(frame[-1:])
    assert raw.owner.handlers[0].messages == [body[5:]]


async def test_a_large_answer_leaves_as_views_of_itself() -> None:
    """Nothing of it is copied, into however many frames it is cut."""
    raw = Raw()
    stream, data = raw.headers()
    raw.send(data + f.window_update(0, 2**30) + f.window_update(stream, 2**30))
    message = bytes(16_000_000)
    pieces: list[Any] = []
    raw.transport.writelines = pieces.extend  # type: ignore[method-assign] # a probe
    raw.owner.handlers[0].call.answer([b"head", message], len(message) + 4)
    views = [piece for piece in pieces if isinstance(piece, memoryview)]
    assert sum(view.nbytes for view in views if view.obj is message) == len(message)
    assert sum(len(piece) for piece in pieces if not isinstance(piece, memoryview)) < 10_000
    assert len(pieces) < 2.1 * (len(message) / 16_384)
