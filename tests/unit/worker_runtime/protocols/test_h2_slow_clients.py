"""Clients that do not read what they are answered, or never finish what they begin."""

import asyncio

import pytest

from tests.support.http2_peer import Owner, Peer
from tests.support.http2_raw import Raw, resets
from worker_runtime.protocols.grpc.native import frames as f
from worker_runtime.protocols.grpc.native.frames import ErrorCode
from worker_runtime.types.listening import ConnectionLimits

pytestmark = pytest.mark.usefixtures("clock")
MESSAGE = b"\0\0\0\0\5hello"


async def test_who_does_not_read_is_not_read_from() -> None:
    raw = Raw()
    raw.connection.pause_writing()
    assert not raw.transport.reading
    raw.connection.resume_writing()
    assert raw.transport.reading


async def test_unread_answers_to_control_frames_are_bounded() -> None:
    raw = Raw(control_frames_per_second=0)
    raw.connection.pause_writing()
    raw.said = b""
    assert resets(raw, 100_000, lambda _: f.settings({}) * 100) < 100
    assert raw.transport.aborted
    assert len(raw.said) <= 64 * 1024 + 9
    assert raw.owner.admission.refusals.counts.total() == 1


async def test_no_answer_is_written_while_the_socket_is_full() -> None:
    raw = Raw()
    streams = [raw.headers() for _ in range(200)]
    raw.send(b"".join(data for _, data in streams))
    raw.connection.pause_writing()
    raw.said = b""
    for handler in raw.owner.handlers:
        handler.call.answer([b"z" * 1000], 1000)
    raw.said += raw.transport.taken()
    assert len(raw.said) < 200 * 200  # heads only
    assert raw.connection.calls == 200
    raw.connection.resume_writing()
    raw.said += raw.transport.taken()
    assert raw.said.count(b"z" * 1000) == 65  # the window of the connection
    raw.send(f.window_update(0, 1_000_000))
    assert raw.said.replace(b"gzip", b"").count(b"z") == 200_000
    assert raw.connection.calls == 0


async def test_whoever_broke_the_rules_and_does_not_read_is_hung_up_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from worker_runtime.protocols.grpc.native import outgoing

    monkeypatch.setattr(outgoing, "_LINGER_S", 0.0)
    raw = Raw()
    raw.send(f.head(0, f.DATA, 0, 0))
    assert not raw.transport.aborted
    for _ in range(3):
        await asyncio.sleep(0)
    assert raw.transport.aborted


SLOW = ConnectionLimits(unread_s=300.0, idle_s=7200.0)


async def test_a_client_that_never_reads_is_let_go() -> None:
    raw = Raw(limits=SLOW)
    raw.transport.unread = 70_000
    raw.connection.pause_writing()
    for now in range(0, 300, 30):
        raw.connection.sweep(float(now))
    raw.transport.unread = 80_000  # more is no progress
    raw.connection.sweep(299.0)
    assert not raw.transport.aborted
    raw.connection.sweep(300.0)
    assert raw.transport.aborted


async def test_a_client_that_reads_slowly_is_kept() -> None:
    raw = Raw(limits=SLOW)
    raw.transport.unread = 10_000_000
    for now in range(0, 100_000, 30):
        raw.transport.unread -= 1
        raw.connection.sweep(float(now))
    assert not raw.transport.aborted


async def test_a_call_without_room_for_its_answer_ends_and_others_go_on() -> None:
    raw = Raw(limits=SLOW)
    stuck, first = raw.headers()
    other, second = raw.headers()
    raw.send(first + second)
    for stream in (stuck, other):
        raw.send(f.head(len(MESSAGE), f.DATA, f.END_STREAM, stream) + MESSAGE)
    raw.owner.handlers[0].call.answer([b"z" * 100_000], 100_000)
    for now in range(0, 301, 30):
        raw.connection.sweep(float(now))
    raw.said += raw.transport.taken()
    assert f.rst_stream(stuck, ErrorCode.ENHANCE_YOUR_CALM) in raw.said
    assert raw.connection.calls == 1
    assert not raw.transport.closed


async def test_a_stream_that_is_read_now_and_then_goes_on() -> None:
    raw = Raw(limits=SLOW)
    stream, data = raw.headers()
    raw.send(data + f.head(len(MESSAGE), f.DATA, 0, stream) + MESSAGE)
    raw.owner.handlers[0].call.send([b"z" * 10_000_000], 10_000_000)
    for now in range(0, 20_000, 250):
        raw.connection.sweep(float(now))
        raw.send(f.window_update(0, 100) + f.window_update(stream, 100))
    assert raw.connection.calls == 1


async def test_a_frame_comes_in_pieces_of_16_kib_each_in_its_time() -> None:
    raw = Raw(limits=SLOW)
    # why padded: else it is passed on as it comes, and its call's message has its time.
    raw.send(f.head(100_000, f.DATA, f.PADDED, 1) + b"x" * 10)
    for now in (0.0, 29.0):
        raw.connection.sweep(now)
        raw.send(b"x" * 16_384)
    raw.connection.sweep(30.0)
    raw.send(b"x")
    raw.connection.sweep(59.0)
    assert not raw.transport.aborted
    raw.connection.sweep(60.0)
    assert raw.transport.aborted
    assert raw.owner.admission.refusals.counts == {("grpc", "a frame is not completed"): 1}


@pytest.mark.parametrize("greeting", [b"", f.PREFACE[:10], f.PREFACE, f.PREFACE + b"\0\0"])
async def test_who_connects_has_a_time_to_speak_http2(greeting: bytes) -> None:
    peer = Peer(Owner(limits=SLOW), greet=False)
    peer.connection.data_received(greeting)
    for now in (0.0, 29.0):
        peer.connection.sweep(now)
        assert not peer.transport.aborted
    peer.connection.sweep(30.0)
    assert peer.transport.aborted


async def test_a_header_block_has_its_time_however_it_is_cut() -> None:
    raw = Raw(limits=SLOW)
    raw.send(raw.headers(flags=0)[1])
    for now in range(0, 30, 5):
        raw.connection.sweep(float(now))
        raw.send(f.head(0, f.CONTINUATION, 0, 1))
    assert not raw.transport.aborted
    raw.connection.sweep(30.0)
    assert raw.transport.aborted
    assert raw.owner.admission.refusals.counts == {("grpc", "a head is not completed"): 1}


async def test_a_call_without_its_message_ends_and_others_go_on() -> None:
    raw = Raw(limits=SLOW)
    (_, silent), (slow, begun), (quick, whole) = (raw.headers() for _ in range(3))
    raw.send(silent + begun + whole)
    body = b"\0" + (100_000).to_bytes(4, "big")
    raw.send(f.head(len(MESSAGE), f.DATA, 0, quick) + MESSAGE)
    raw.send(f.head(5, f.DATA, 0, slow) + body)
    for now in range(0, 90, 29):
        raw.connection.sweep(float(now))
        raw.send(f.head(16_384, f.DATA, 0, slow) + bytes(16_384))
    assert raw.connection.calls == 2
    for now in (117.0, 147.0):
        raw.connection.sweep(now)
    raw.said += raw.transport.taken()
    assert raw.said.count(b"the message is not completed in time") == 2
    assert raw.connection.calls == 1
    assert [handler.cancelled for handler in raw.owner.handlers] == [1, 1, 0]
    assert raw.owner.admission.refusals.counts == {("grpc", "a message is not completed"): 2}


async def test_bytes_that_are_held_are_counted_and_bounded() -> None:
    raw = Raw(limits=ConnectionLimits(buffered_bytes=100_000))
    buffers = raw.owner.admission.buffers

    def post(size: int, sent: int) -> int:
        stream, data = raw.headers()
        body = b"\0" + size.to_bytes(4, "big") + bytes(sent)
        raw.send(data + f.head(len(body), f.DATA, 0, stream) + body)
        return stream

    post(4096, 4096)
    assert buffers.held == 0  # what is small is always served
    post(50_000, 50_000)
    assert buffers.held == 50_000
    part = post(60_000, 39_995)
    assert buffers.held == 90_000
    raw.send(f.head(10_001, f.DATA, 0, part) + bytes(10_001))
    assert b"grpc-status\x018" in raw.said
    assert b"--max-buffered-bytes" in raw.said
    assert [handler.cancelled for handler in raw.owner.handlers] == [0, 0, 1]
    assert buffers.held == 50_000
    raw.owner.handlers[1].call.answer([b"x"], 1)
    assert buffers.held == 0
    raw.owner.handlers[0].call.answer([bytes(100_001)], 100_001)  # nobody has made room for it
    assert buffers.held == 0
    assert raw.said.count(b"grpc-status\x018") == 1
    assert buffers.refusals.counts == {("grpc", "too many bytes are held in all"): 2}
    raw.connection.connection_lost(None)
    assert buffers.held == 0


async def test_answers_are_no_longer_counted_once_they_have_left() -> None:
    raw = Raw()
    buffers = raw.owner.admission.buffers
    stream, data = raw.headers()
    raw.send(data)
    call = raw.owner.handlers[0].call
    call.send([bytes(200_000)], 200_000)
    assert buffers.held == 200_005 - f.DEFAULT_WINDOW
    raw.send(f.window_update(0, 2**30) + f.window_update(stream, 2**30))
    assert (buffers.held, call.held) == (0, 0)
    raw.transport.unread = 70_000
    raw.connection.pause_writing()
    assert buffers.held == 70_000
    call.send([bytes(1000)], 1000)
    assert buffers.held == 71_005
    raw.connection.connection_lost(None)
    assert buffers.held == 0


async def test_who_asks_nothing_for_hours_is_told_to_come_again() -> None:
    raw = Raw(limits=SLOW)
    stream, data = raw.headers()
    raw.send(data + f.head(len(MESSAGE), f.DATA, 0, stream) + MESSAGE)
    for now in (0.0, 7200.0, 14_400.0):
        raw.connection.sweep(now)
    assert not raw.transport.closed  # a call that lasts is not idle
    raw.owner.handlers[0].call.finish(0)
    for now in (14_430.0, 21_600.0):
        raw.connection.sweep(now)
    assert not raw.transport.closed
    raw.connection.sweep(21_630.0)
    raw.said += raw.transport.taken()
    assert raw.bye == (ErrorCode.NO_ERROR, b"max_idle")
    assert raw.transport.closed
