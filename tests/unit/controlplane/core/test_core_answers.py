"""Servers that answer without end, compressed or too deep: no more is read than is allowed."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from controlplane.console.inference import Call, InferenceFailed, Target, infer_http
from controlplane.core.answers import (
    PLAIN,
    AnswerRefused,
    aread_answer,
    json_answer,
    read_answer,
)

PIECE = b" " * 1000
ENDLESS = 10**6  # pieces: a gigabyte


class Pouring(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Counts what was asked of it."""

    def __init__(self, piece: bytes = PIECE) -> None:
        self.piece, self.poured = piece, 0

    def __iter__(self) -> Iterator[bytes]:
        for _ in range(ENDLESS):
            self.poured += 1
            yield self.piece

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in iter(self):
            yield piece


def pours(stream: Pouring, **headers: str) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=stream))


def read(transport: httpx.MockTransport, most: int, seconds: float = 60.0) -> bytes:
    with (
        httpx.Client(transport=transport) as client,
        client.stream("GET", "http://node/", headers=PLAIN) as response,
    ):
        return read_answer(response, most=most, seconds=seconds)


async def aread(transport: httpx.MockTransport, most: int) -> bytes:
    async with (
        httpx.AsyncClient(transport=transport) as client,
        client.stream("GET", "http://node/", headers=PLAIN) as response,
    ):
        return await aread_answer(response, most=most)


def test_no_more_is_read_than_is_allowed() -> None:
    for ask in (read, lambda transport, most: asyncio.run(aread(transport, most))):
        stream = Pouring()
        with pytest.raises(AnswerRefused, match="more than 5000 bytes"):
            ask(pours(stream), 5000)
        assert stream.poured == 6


def test_a_length_that_is_told_is_not_believed() -> None:
    stream = Pouring()
    with pytest.raises(AnswerRefused, match="more than 5000 bytes"):
        read(pours(stream, **{"content-length": "10"}), 5000)
    assert stream.poured == 6


def test_what_is_small_and_unpacks_to_much_is_not_unpacked() -> None:
    stream = Pouring(gzip.compress(bytes(10**6)))
    with pytest.raises(AnswerRefused, match="'gzip', which nobody asked for"):
        read(pours(stream, **{"content-encoding": "gzip"}), 10**9)
    assert stream.poured == 0


def test_what_drips_ends() -> None:
    stream = Pouring()
    with pytest.raises(AnswerRefused, match="not complete after 0 s"):
        read(pours(stream), 10**9, seconds=0.0)
    assert stream.poured == 1


@pytest.mark.parametrize("body", [b"[" * 10**5, b"", b"\xff", b"{"])
def test_what_is_no_json_is_told(body: bytes) -> None:
    with pytest.raises(AnswerRefused, match="no JSON"):
        json_answer(body)


def inferred(transport: httpx.MockTransport) -> Any:
    async def ask() -> Any:
        async with httpx.AsyncClient(transport=transport) as client:
            target = Target("http://gateway", "digits", "key", "")
            call = Call(model="digits", version="", inputs=(), outputs=(), parameters={})
            return await infer_http(client, target, call, 60.0)

    return asyncio.run(ask())


def test_the_test_console_reads_no_endless_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controlplane.console.inference.LARGEST_ANSWER", 5000)
    stream = Pouring()
    with pytest.raises(InferenceFailed, match="more than 5000 bytes") as failed:
        inferred(pours(stream))
    assert (failed.value.code, stream.poured) == ("AnswerUnreadable", 6)


@pytest.mark.parametrize("status", [200, 500])
def test_the_test_console_takes_no_deep_json(status: int) -> None:
    deep = b"[" * 10**5
    with pytest.raises(InferenceFailed):
        inferred(
            httpx.MockTransport(lambda _: httpx.Response(status, stream=httpx.ByteStream(deep)))
        )
