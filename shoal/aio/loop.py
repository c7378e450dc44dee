"""The event loop as the client's way to wait: sleeping, threads for long work, HTTP."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TypeVar, cast
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx

from shoal.aio.bridge import run, until
from shoal.client.transport import is_loopback

T = TypeVar("T")


class Loop:
    """``transport`` replaces the network in tests."""

    def __init__(self, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._transport = transport

    def pause(self, seconds: float) -> None:
        until(asyncio.sleep(seconds))

    def aside(self, work: Callable[[], T]) -> T:
        return until(asyncio.to_thread(work))

    def together(self, work: Callable[[T], None], items: Iterable[T], *, at_once: int) -> None:
        until(_together(work, items, at_once))

    def http_transport(self, url: str, trust: ssl.SSLContext | None) -> httpx.BaseTransport:
        verify = trust or httpx.create_ssl_context()
        inner = self._transport or httpx.AsyncHTTPTransport(verify=verify, proxy=_proxy(url))
        return Bridged(inner)


async def _together(work: Callable[[T], None], items: Iterable[T], at_once: int) -> None:
    free = asyncio.Semaphore(at_once)

    async def one(item: T) -> None:
        async with free:
            await run(work, item)

    try:
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(one(item))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None


def _proxy(url: str) -> str | None:
    """As the environment says: HTTPS_PROXY, NO_PROXY and their like."""
    parts = urlsplit(url)
    if parts.hostname is None or is_loopback(url) or proxy_bypass(parts.netloc):
        return None
    proxies = getproxies()
    return proxies.get(parts.scheme) or proxies.get("all")


class Bridged(httpx.BaseTransport):
    """An asynchronous transport for a client that blocks."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        outgoing = httpx.Request(
            request.method,
            request.url,
            headers=request.headers,
            stream=_Sent(cast(httpx.SyncByteStream, request.stream)),
            extensions=request.extensions,
        )
        answer = until(self._inner.handle_async_request(outgoing))
        return httpx.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_Received(cast(httpx.AsyncByteStream, answer.stream)),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        until(self._inner.aclose())


class _Sent(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._stream:
            yield piece


class _Received(httpx.SyncByteStream):
    def __init__(self, stream: httpx.AsyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        pieces = self._stream.__aiter__()
        while (piece := until(_next(pieces))) is not None:
            yield piece

    def close(self) -> None:
        until(self._stream.aclose())


async def _next(pieces: AsyncIterator[bytes]) -> bytes | None:
    return await anext(pieces, None)
