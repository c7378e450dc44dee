"""What ASGI refuses before Django or Channels see it."""

import asyncio
from collections.abc import Iterable

import pytest

from controlplane.config.guards import (
    BodyLimit,
    LargerBodies,
    Message,
    Receive,
    SameOrigin,
    Send,
)


async def call(
    app: BodyLimit | SameOrigin, headers: dict[str, str], chunks: Iterable[bytes] = ()
) -> list[Message]:
    """What the server would have to send; fails when nothing came in five seconds."""
    pieces = [{"type": "http.request", "body": piece, "more_body": True} for piece in chunks]
    pieces.append({"type": "http.request", "body": b"", "more_body": False})
    sent: list[Message] = []

    async def receive() -> Message:
        return pieces.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    raw = [(key.encode(), value.encode()) for key, value in headers.items()]
    scope = {"type": "http", "path": "/x", "headers": raw}
    await asyncio.wait_for(app(scope, receive, send), 5)
    return sent


async def echo(scope: Message, receive: Receive, send: Send) -> None:
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


async def test_a_body_up_to_the_limit_passes() -> None:
    sent = await call(BodyLimit(echo, max_bytes=10), {"content-length": "10"}, [b"12345"] * 2)
    assert [message.get("status") for message in sent] == [200, None]
    assert sent[1]["body"] == b"10"


@pytest.mark.parametrize("headers", [{"content-length": "11"}, {}])
async def test_a_body_beyond_it_is_refused_announced_or_not(headers: dict[str, str]) -> None:
    sent = await call(BodyLimit(echo, max_bytes=10), headers, [b"12345"] * 3)
    assert [message.get("status") for message in sent] == [413, None]
    assert b"PayloadTooLarge" in sent[1]["body"]


@pytest.mark.parametrize(
    ("prefix", "length", "may", "status"),
    [
        ("/x", "15", True, 200),
        ("/x", "15", False, 413),
        ("/other", "15", True, 413),
        ("/x", "21", True, 413),
        ("/x", "", True, 413),  # who does not say how much it is
        ("/x", "9" * 5000, True, 413),
    ],
)
async def test_a_larger_body_is_for_who_may_send_it_there(
    prefix: str, length: str, may: bool, status: int
) -> None:
    async def may_send(_: Message) -> bool:
        return may

    limit = BodyLimit(echo, max_bytes=10, exception=LargerBodies(prefix, 20, may_send))
    sent = await call(limit, {"content-length": length} if length else {}, [b"12345"] * 3)
    assert sent[0]["status"] == status


@pytest.mark.parametrize(
    ("origin", "welcome"),
    [
        ("http://127.0.0.1:8080", True),
        ("https://shoal.example", True),
        ("http://127.0.0.1:9999", False),
        ("http://evil.example", False),
        ("http://127.0.0.1:8080.evil.example", False),
        ("null", False),
        ("", False),
    ],
)
async def test_only_pages_of_this_host_open_sockets(origin: str, welcome: bool) -> None:
    reached: list[str] = []

    async def consumer(scope: Message, receive: Receive, send: Send) -> None:
        reached.append(origin)

    guard = SameOrigin(consumer, trusted=frozenset({"https://shoal.example"}))
    headers = {"host": "127.0.0.1:8080"} | ({"origin": origin} if origin else {})
    sent = await call(guard, headers)
    assert bool(reached) is welcome
    assert [message["type"] for message in sent] == ([] if welcome else ["websocket.close"])
