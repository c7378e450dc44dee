"""Compressed messages: bounded, unpacked in threads when large, and in their order."""

import asyncio
import gzip
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from tritonclient.grpc import service_pb2 as pb

from tests.support.http2_peer import Owner, Peer
from worker_runtime.protocols import inflating
from worker_runtime.protocols.grpc.native.messages import framed, packed
from worker_runtime.protocols.grpc.simple import Query, QueryHandler
from worker_runtime.protocols.inflating import InflateFault, inflate, inflated
from worker_runtime.types.listening import Category, CompressionLevel

MIB = 1024 * 1024
GZIP = [("grpc-encoding", "gzip")]


def gzipped(message: bytes) -> bytes:
    return packed(message, "gzip", CompressionLevel.MEDIUM)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How much was asked for in each thread."""
    found: list[int] = []

    def noted(data: Any, coding: str, limit: int) -> bytes:
        if threading.current_thread() is not threading.main_thread():
            found.append(limit)
        return inflated(data, coding, limit)

    monkeypatch.setattr(inflating, "inflated", noted)
    yield found


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
@pytest.mark.parametrize(("size", "fine"), [(1000, True), (1001, False)])
def test_the_limit_is_exact(coding: str, size: int, fine: bool) -> None:
    data = gzip.compress(bytes(size)) if coding == "gzip" else zlib.compress(bytes(size))
    if fine:
        assert inflated(data, coding, 1000) == bytes(size)
    else:
        with pytest.raises(InflateFault, match="more than 1000 bytes") as caught:
            inflated(data, coding, 1000)
        assert caught.value.too_large


def test_a_bomb_makes_no_more_than_the_limit() -> None:
    """Its two gigabytes are never there."""
    import tracemalloc

    squeezed = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join([squeezed.compress(bytes(MIB)) for _ in range(256)]) + squeezed.flush()
    tracemalloc.start()
    try:
        with pytest.raises(InflateFault):
            inflated(bomb, "gzip", MIB)
        assert tracemalloc.get_traced_memory()[1] < 4 * MIB
    finally:
        tracemalloc.stop()


async def test_only_large_bodies_go_to_threads(threads: list[int]) -> None:
    found: list[bytes] = []
    for size in (0, 1000, 100_000):
        assert inflate(gzip.compress(bytes(size)), "gzip", MIB, found.append, pytest.fail) is None
    assert threads == []
    future = inflate(gzip.compress(bytes(500_000)), "gzip", MIB, found.append, pytest.fail)
    assert future is not None
    await future
    await asyncio.sleep(0)
    assert [len(plain) for plain in found] == [0, 1000, 100_000, 500_000]
    assert threads == [MIB]


async def test_what_holds_many_bytes_and_makes_none_goes_to_a_thread(threads: list[int]) -> None:
    """Deflate has blocks without content; a limit on what comes out would let them pass."""
    empty = b"\x78\x9c" + b"\0\0\0\xff\xff" * 200_000
    faults: list[InflateFault] = []
    future = inflate(empty, "deflate", MIB, pytest.fail, faults.append)
    assert future is not None
    await asyncio.wait([future])
    await asyncio.sleep(0)
    assert [str(fault) for fault in faults] == ["it ends too early"]
    assert threads == [MIB]


async def until_quiet(peer: Peer, stream: int, key: str = "grpc-status") -> dict[str, str]:
    async with asyncio.timeout(30):
        while key not in peer.trailers(stream):
            await asyncio.sleep(0)
            peer.exchange()
    return peer.trailers(stream)


@pytest.mark.parametrize("path", ["/echo", "/silent"])
async def test_a_bomb_ends_its_call_alone(path: str) -> None:
    peer = Peer(Owner(max_inflated_bytes=MIB))
    other = peer.call(b"", "/silent", end=False)
    stream = peer.call(gzipped(bytes(50 * MIB)), path, GZIP, end=False)
    told = await until_quiet(peer, stream)
    assert told["grpc-status"] == "8"
    assert told["grpc-message"] == (
        "Received message after decompression larger than max (1048576). "
        "Use --grpc-max-inflated-size to increase the limit."
    )
    assert [handler.messages for handler in peer.owner.handlers] == [[], []]
    assert [handler.cancelled for handler in peer.owner.handlers] == [0, 1]
    assert peer.connection.calls == 1
    assert other not in peer.connection.blocked


async def test_messages_of_a_stream_keep_their_order(threads: list[int]) -> None:
    sizes = [10, 900_000, 20, 300_000, 0, 700_000, 30]
    sent = [bytes([65 + number]) * size for number, size in enumerate(sizes)]
    peer = Peer()
    stream = peer.call(b"", "/silent", GZIP, end=False)
    for number, message in enumerate(sent):
        plain = number in (2, 4)
        data = b"".join(framed([message], len(message))) if plain else gzipped(message)
        peer.send(stream, data, end=number == len(sent) - 1)
    handler = peer.owner.handlers[0]
    assert handler.messages == sent[:1]
    assert not handler.half_closed  # nobody says that it is all before it is
    async with asyncio.timeout(30):
        while not handler.half_closed:
            await asyncio.sleep(0)
    assert handler.messages == sent
    assert len(threads) == 3


async def test_a_handler_that_wants_no_more_gets_no_more() -> None:
    peer = Peer()
    stream = peer.call(b"", "/silent", GZIP, end=False)
    peer.exchange()
    handler = peer.owner.handlers[0]
    handler.call.pause()
    for _ in range(5):
        peer.send(stream, gzipped(bytes(300_000)), end=False)
    assert handler.messages == []
    handler.call.resume()
    async with asyncio.timeout(30):
        while len(handler.messages) < 5:
            await asyncio.sleep(0)


async def test_a_call_that_is_given_up_meanwhile_gets_nothing() -> None:
    import h2.errors

    peer = Peer()
    stream = peer.call(gzipped(bytes(5 * MIB)), "/silent", GZIP, end=False)
    call = peer.owner.handlers[0].call
    working = call._inbox._unpacking  # type: ignore[union-attr] # it is there
    peer.client.reset_stream(stream, h2.errors.ErrorCodes.CANCEL)
    peer.exchange()
    assert working is not None
    await asyncio.wait([working])
    await asyncio.sleep(0)
    assert peer.owner.handlers[0].messages == []
    assert peer.owner.handlers[0].cancelled == 1


async def test_a_compressed_message_is_cut_off_while_another_is_unpacked() -> None:
    peer = Peer()
    data = gzipped(bytes(500_000)) + gzipped(b"next")[:-1]
    stream = peer.call(data, "/silent", GZIP)
    told = await until_quiet(peer, stream)
    assert (told["grpc-status"], told["grpc-message"]) == ("13", "the last message is cut off")
    assert peer.owner.handlers[0].cancelled == 1


async def test_a_compressed_size_that_cannot_be_true_is_refused_at_once() -> None:
    peer = Peer(Owner(max_inflated_bytes=MIB))
    stream = peer.call(b"\1" + (2 * MIB).to_bytes(4, "big"), "/silent", GZIP, end=False)
    peer.exchange()
    assert peer.trailers(stream)["grpc-status"] == "8"


async def test_a_unary_call_has_one_message_and_no_other_is_unpacked(threads: list[int]) -> None:
    """Else 16 MB of bombs on one call would be unpacked to 16 GB, one after another."""
    calls: list[Any] = []

    def open_query(call: Any) -> QueryHandler:
        calls.append(call)
        never = asyncio.get_running_loop().create_future
        return QueryHandler(
            Query(pb.ServerLiveRequest, Category.HEALTH, lambda _: wait(never())), call
        )

    async def wait(future: asyncio.Future[Any]) -> Any:
        return await future

    owner = Owner()
    owner.open = open_query  # type: ignore[assignment,method-assign] # what a service does
    peer = Peer(owner)
    stream = peer.call(gzipped(b""), "/live", GZIP, end=False)
    peer.exchange()
    for _ in range(20):
        peer.send(stream, gzipped(bytes(500_000)), end=False)
    async with asyncio.timeout(30):
        while not calls[0].paused:
            await asyncio.sleep(0)
    for _ in range(3):
        await asyncio.sleep(0)
    assert len(threads) == 1
    peer.connection.connection_lost(None)
