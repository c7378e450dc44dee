"""Calls to a replica: its answers are a stranger's, and have a limit of bytes and of time."""

import asyncio
import importlib.util
import ssl
import sys
import time
from collections.abc import AsyncIterator, MutableMapping
from types import ModuleType
from typing import Final, cast

import httpx

LIMIT_BYTES: Final = 1 << 20
KEPT_S: Final = 60.0  # of an idle connection
MOST_BYTES: Final = "answer_bytes"  # among a request's extensions, where that is another one
# What would have the client unpack without end, or keep something for later calls.
_IGNORED: Final = ("content-encoding", "set-cookie")

# httpcore looks for this package some five times for each call, and where it is not installed every
# look reads the folders of all packages: 150 µs, a fifth of an idle agent. Told once, it is known.
_MISSING: Final = "sniffio"
if importlib.util.find_spec(_MISSING) is None:
    cast(MutableMapping[str, ModuleType | None], sys.modules)[_MISSING] = None

# Replicas speak plain HTTP. Without a context of ours, which trusts nobody, httpx would read all of
# the machine's authorities for each client: 30 ms of the agent's loop, every second.
_NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def client(timeout_s: float, base_url: str = "") -> httpx.AsyncClient:
    """`timeout_s`, or that of a call, is for the whole of its answer. Calls raise httpx.HTTPError,
    too, for one that is longer, or takes longer, than it may."""
    return httpx.AsyncClient(
        base_url=base_url,
        timeout=timeout_s,
        trust_env=False,
        transport=_Bounded(verify=_NO_TLS, limits=httpx.Limits(keepalive_expiry=KEPT_S)),
        headers={"Accept-Encoding": "identity"},
    )


class _Bounded(httpx.AsyncHTTPTransport):
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        timeout_s: float = request.extensions["timeout"]["read"]
        ends_at = time.monotonic() + timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                answer = await super().handle_async_request(request)
        except TimeoutError as error:
            raise httpx.ReadTimeout("no answer in time", request=request) from error
        for name in _IGNORED:
            answer.headers.pop(name, None)
        most: int = request.extensions.get(MOST_BYTES, LIMIT_BYTES)
        answer.stream = _Counted(answer.stream, most, ends_at)
        return answer


class _Counted(httpx.AsyncByteStream):
    def __init__(self, stream: object, most: int, ends_at: float) -> None:
        if not isinstance(stream, httpx.AsyncByteStream):
            raise TypeError(f"expected an answer that is read as it comes, got {stream!r}")
        self._stream = stream
        self._most = most
        self._ends_at = ends_at

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for chunk in self._stream:
            seen += len(chunk)
            if seen > self._most:
                raise httpx.ReadError(f"an answer of more than {self._most} bytes")
            if time.monotonic() > self._ends_at:
                raise httpx.ReadTimeout("an answer that does not end in time")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
