"""The rules of HTTP/2 and of gRPC on it, with a client that keeps them and one that does not."""

import asyncio
from collections.abc import Callable

import h2.errors
import h2.events
import h2.settings
import hpack
import pytest

from tests.support.http2_peer import HEADERS, Owner, Peer, framed
from worker_runtime.protocols.grpc.native import frames as f
from worker_runtime.protocols.grpc.native.frames import ErrorCode
from worker_runtime.protocols.grpc.native.messages import AT_ONCE
from worker_runtime.types.listening import CompressionLevel, Keepalive

Step = Callable[[Peer], None]


def in_loop(step: Callable[[], None]) -> None:
    """Connections need a running loop for their timers."""

    async def main() -> None:
        step()

    asyncio.run(main())


def test_a_call_is_answered_with_message_and_status() -> None:
    def step() -> None:
        peer = Peer()
        stream = peer.call(framed(b"hello"))
        peer.exchange()
        assert peer.data(stream) == framed(b"hello")
        assert peer.trailers(stream) == {"grpc-status": "0"}
        assert peer.connection.idle

    in_loop(step)


def test_calls_interleave_and_messages_come_in_pieces() -> None:
    def step() -> None:
        peer = Peer()
        one, two = peer.call(b"", end=False), peer.call(b"", end=False)
        for byte in framed(b"abcdef"):
            peer.send(one, bytes([byte]), end=False)
            peer.send(two, bytes([byte]), end=False)
        peer.client.end_stream(two)
        peer.client.end_stream(one)
        peer.exchange()
        assert peer.data(one) == peer.data(two) == framed(b"abcdef")

    in_loop(step)


def test_a_large_answer_waits_for_the_window_and_goes_on() -> None:
    def step() -> None:
        peer = Peer()
        big = framed(b"z" * 300_000)
        stream = peer.call(big)
        peer.exchange()
        assert len(peer.data(stream)) == f.DEFAULT_WINDOW  # the client has not read yet
        assert not peer.trailers(stream) or "grpc-status" not in peer.trailers(stream)
        while len(peer.data(stream)) < len(big):
            peer.client.increment_flow_control_window(50_000)
            peer.client.increment_flow_control_window(50_000, stream)
            peer.exchange()
        assert peer.data(stream) == big
        assert peer.trailers(stream)["grpc-status"] == "0"

    in_loop(step)


def test_a_larger_initial_window_frees_what_waits() -> None:
    def step() -> None:
        peer = Peer()
        peer.client.increment_flow_control_window(10**6)
        stream = peer.call(framed(b"z" * 200_000))
        peer.exchange()
        assert len(peer.data(stream)) == f.DEFAULT_WINDOW
        peer.client.update_settings({h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 10**6})
        peer.exchange()
        assert peer.data(stream) == framed(b"z" * 200_000)

    in_loop(step)


def test_a_request_larger_than_the_stream_window_gets_through() -> None:
    def step() -> None:
        peer = Peer()
        body = framed(b"q" * 20_000_000)
        stream = peer.call(b"", "/silent", end=False)
        at = 0
        while at < len(body):
            room = min(peer.client.local_flow_control_window(stream), len(body) - at)
            assert room > 0
            peer.send(stream, body[at : at + room], end=False)
            at += room
        assert [len(m) for m in peer.owner.handlers[0].messages] == [20_000_000]

    in_loop(step)


def test_a_paused_call_makes_its_client_wait() -> None:
    def step() -> None:
        peer = Peer()
        stream = peer.call(b"", "/silent", end=False)
        peer.exchange()
        call = peer.owner.handlers[0].call
        call.pause()
        message = framed(b"m" * 999_995)
        for _ in range(16):
            peer.send(stream, message, end=False)
        assert peer.client.local_flow_control_window(stream) < len(message)
        call.resume()
        peer.exchange()
        assert peer.client.local_flow_control_window(stream) > 8 * len(message)

    in_loop(step)


async def test_many_messages_of_one_frame_come_in_turns_and_the_end_behind_them() -> None:
    peer = Peer()
    stream = peer.call(b"", "/silent", end=False)
    peer.exchange()
    (handler,) = peer.owner.handlers
    peer.send(stream, framed(b"m") * 1000, end=True)
    assert 0 < len(handler.messages) <= AT_ONCE
    turns = 0
    while not handler.half_closed:
        await asyncio.sleep(0)
        turns += 1
    assert (len(handler.messages), turns) == (1000, 1000 // AT_ONCE + 1)


async def test_what_waited_while_a_call_was_paused_is_followed_by_its_end() -> None:
    peer = Peer()
    stream = peer.call(b"", "/silent", end=False)
    peer.exchange()
    (handler,) = peer.owner.handlers
    handler.call.pause()
    peer.send(stream, framed(b"m") * 100, end=True)
    await asyncio.sleep(0)
    assert (handler.messages, handler.half_closed) == ([], False)
    handler.call.resume()
    while len(handler.messages) < 100:
        assert not handler.half_closed
        await asyncio.sleep(0)
    assert (len(handler.messages), handler.half_closed) == (100, True)


def test_a_slow_reader_is_noticed_and_its_handler_told_when_it_catches_up() -> None:
    def step() -> None:
        peer = Peer()
        stream = peer.call(framed(b"x"), "/silent", end=False)
        handler = peer.owner.handlers[0]
        handler.call.send([b"y" * 5_000_000], 5_000_000)
        assert handler.call.congested
        while peer.exchange() or len(peer.data(stream)) < 5_000_005:
            peer.client.increment_flow_control_window(10**6)
            peer.client.increment_flow_control_window(10**6, stream)
        assert handler.drains == 1
        assert not handler.call.congested

    in_loop(step)


def test_a_reset_cancels_and_later_answers_are_dropped() -> None:
    def step() -> None:
        peer = Peer()
        stream = peer.call(framed(b"x"), "/silent")
        peer.exchange()
        handler = peer.owner.handlers[0]
        peer.client.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
        peer.exchange()
        assert handler.cancelled == 1
        handler.call.answer([b"late"], 4)
        handler.call.send([b"later"], 5)
        handler.call.finish(0)
        assert peer.transport.taken() == b""

    in_loop(step)


def test_a_lost_connection_cancels_every_call() -> None:
    def step() -> None:
        peer = Peer()
        for _ in range(3):
            peer.call(framed(b"x"), "/silent")
        peer.exchange()
        peer.connection.connection_lost(None)
        assert [handler.cancelled for handler in peer.owner.handlers] == [1, 1, 1]
        assert not peer.owner.members

    in_loop(step)


async def test_a_deadline_ends_the_call_and_tells_the_handler() -> None:
    peer = Peer()
    stream = peer.call(framed(b"x"), "/silent", [("grpc-timeout", "1m")])
    peer.exchange()
    gone = asyncio.Event()
    peer.owner.handlers[0].cancel = gone.set  # type: ignore[method-assign] # a probe
    await asyncio.wait_for(gone.wait(), 10)
    peer.exchange()
    assert peer.trailers(stream)["grpc-status"] == "4"
    assert peer.connection.idle


@pytest.mark.parametrize(
    ("path", "extra", "want"),
    [
        ("/nope", [], {"grpc-status": "12", "grpc-message": "Method not found: /nope"}),
        ("/echo", [("grpc-encoding", "br")], {"grpc-status": "12"}),
    ],
)
def test_what_is_not_offered_says_so(
    path: str, extra: list[tuple[str, str]], want: dict[str, str]
) -> None:
    def step() -> None:
        peer = Peer()
        stream = peer.call(framed(b"x"), path, extra)
        peer.exchange()
        assert want.items() <= peer.trailers(stream).items()

    in_loop(step)


def test_other_http_requests_get_an_http_status() -> None:
    def step() -> None:
        peer = Peer()
        headers = [(k, "text/plain" if k == "content-type" else v) for k, v in HEADERS]
        peer.client.send_headers(1, headers, end_stream=True)
        peer.exchange()
        assert peer.trailers(1)[":status"] == "415"

    in_loop(step)


def test_a_message_that_is_cut_off_is_an_error_not_a_message() -> None:
    def step() -> None:
        peer = Peer()
        stream = peer.call(framed(b"hello")[:-1])
        peer.exchange()
        assert peer.trailers(stream)["grpc-status"] == "13"
        assert peer.owner.handlers[0].messages == []

    in_loop(step)


def test_answers_are_compressed_when_the_server_is_told_to() -> None:
    def step() -> None:
        peer = Peer(Owner(level=CompressionLevel.LOW))
        stream = peer.call(framed(b"a" * 5000), extra=[("grpc-accept-encoding", "gzip")])
        peer.exchange()
        data = peer.data(stream)
        assert data[0] == 1
        assert len(data) < 200

    in_loop(step)


def raw_headers(stream: int, flags: int = f.END_HEADERS) -> bytes:

    block = hpack.Encoder().encode(HEADERS)
    return f.head(len(block), f.HEADERS, flags, stream) + block


GREETING = f.PREFACE + f.settings({})


def test_pings_are_answered_and_too_many_of_them_end_the_connection() -> None:
    def step() -> None:
        peer = Peer(Owner(Keepalive(max_ping_strikes=2)))
        for _ in range(3):
            peer.client.ping(b"12345678")
            assert any(isinstance(e, h2.events.PingAckReceived) for e in peer.exchange())
        peer.client.ping(b"12345678")
        events = peer.exchange()
        (bye,) = [e for e in events if isinstance(e, h2.events.ConnectionTerminated)]
        assert bye.error_code == ErrorCode.ENHANCE_YOUR_CALM
        assert bye.additional_data == b"too_many_pings"
        assert peer.transport.closed

    in_loop(step)


def test_a_server_that_leaves_lets_running_calls_end_and_refuses_new_ones() -> None:
    def step() -> None:
        peer = Peer()
        stream = peer.call(framed(b"x"), "/silent")
        peer.exchange()
        peer.connection.leave("bye")
        peer.connection.data_received(raw_headers(stream + 2, f.END_HEADERS | f.END_STREAM))
        assert f.rst_stream(stream + 2, ErrorCode.REFUSED_STREAM) in b"".join(
            peer.transport.written
        )
        assert not peer.transport.closed
        peer.owner.handlers[0].call.answer([b"done"], 4)
        assert peer.transport.closed

    in_loop(step)


def test_streams_that_are_only_reset_end_the_connection() -> None:
    def step() -> None:
        peer = Peer(greet=False)
        peer.connection.data_received(GREETING)

        encoder = hpack.Encoder()
        headers = [(k, "/silent" if k == ":path" else v) for k, v in HEADERS]
        for stream in range(1, 20_100, 2):
            block = encoder.encode(headers)
            peer.connection.data_received(
                f.head(len(block), f.HEADERS, f.END_HEADERS, stream)
                + block
                + f.rst_stream(stream, ErrorCode.CANCEL)
            )
            if peer.transport.closed:
                break
        assert peer.transport.closed

    in_loop(step)
