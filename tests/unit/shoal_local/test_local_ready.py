"""What programs answer when they are ready, and what does not count as that."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from shoal.local import ready

SECRET = 'a"b c%/?'
LOGIN = b"*3\r\n$4\r\nAUTH\r\n$5\r\nshoal\r\n$8\r\n" + SECRET.encode() + b"\r\n*1\r\n$4\r\nPING\r\n"
GET = b"GET /readyz HTTP/1.1\r\n"

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def saying(answer: bytes, expected: bytes) -> Handler:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(len(expected)) == expected:
            writer.write(answer)
            await writer.drain()
        writer.close()

    return handle


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"+OK\r\n+PONG\r\n", True),
        (b"+OK\r\n-LOADING Redis is loading the dataset in memory\r\n", False),
        (b"-WRONGPASS invalid username-password pair\r\n", False),
        (b"", False),
        (b"x" * 100_000, False),
    ],
    ids=["well", "loading", "wrong password", "nothing", "no Redis"],
)
async def test_a_redis_is_ready_when_it_answers_ping_on_its_socket(
    tmp_path: Path, answer: bytes, expected: bool
) -> None:
    path = tmp_path / "s.sock"
    url = f"unix://shoal:a%22b%20c%25%2F%3F@{path}?db=0"
    assert not await ready.answers_ping(url)(0)
    async with await asyncio.start_unix_server(saying(answer, LOGIN), path):
        assert await ready.answers_ping(url)(0) is expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False),
        (b"", False),
    ],
    ids=["well", "not yet", "nothing"],
)
async def test_a_port_is_ready_when_it_answers_200(answer: bytes, expected: bool) -> None:
    async with await asyncio.start_server(saying(answer, GET), "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert await ready.answers_http(f"http://127.0.0.1:{port}/readyz")(0) is expected
    assert not await ready.answers_http(f"http://127.0.0.1:{port}/readyz")(0)


async def test_a_redis_that_says_nothing_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ready, "TIMEOUT_S", 0.05)
    told = asyncio.Event()

    async def silent(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await told.wait()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert not await ready.answers_ping(f"redis://shoal:x@127.0.0.1:{port}/0")(0)
        told.set()
