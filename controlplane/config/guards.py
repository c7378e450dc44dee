"""ASGI guards before Django and Channels: how large a body may be, whose page opens a socket."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpResponse

from controlplane.core.http import problem_response

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]


def header(scope: Message, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


async def answer(response: HttpResponse, send: Send, *, closing: bool = False) -> None:
    """A whole answer of Django's, from before Django; ``closing`` ends the connection."""
    headers = [(key.lower().encode(), value.encode()) for key, value in response.items()]
    headers.append((b"content-length", str(len(response.content)).encode()))
    if closing:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})


class AgentsOnly:
    """Below ``/agent/v1/`` and nothing else: people have another address."""

    def __init__(self, app: Application) -> None:
        self.app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"].startswith("/agent/v1/"):
            await self.app(scope, receive, send)
            return
        refused = problem_response(
            404,
            code="NotFound",
            detail="This port is for agents: all that there is lies below /agent/v1/.",
            instance=scope["path"],
            hints=(f"The studio is at {settings.SHOAL_PUBLIC_URL}.",),
        )
        await answer(refused, send, closing=True)


@dataclass(frozen=True, slots=True)
class LargerBodies:
    """Where a body may be larger than elsewhere, for those of whom ``may_send`` is true."""

    prefix: str
    max_bytes: int
    may_send: Callable[[Message], Awaitable[bool]]


class BodyLimit:
    """413 before anything is stored, whether the length is announced or the body just keeps coming.

    Django's handler spools a whole body before any view runs, so a view cannot refuse it in time.
    """

    def __init__(
        self, app: Application, *, max_bytes: int, exception: LargerBodies | None = None
    ) -> None:
        self.app = app
        self.max_bytes = max_bytes
        self.exception = exception

    async def _most(self, scope: Message, announced: int) -> int:
        """For who says beforehand how much it is, and may send so much."""
        found = self.exception
        if found is None or not self.max_bytes < announced <= found.max_bytes:
            return self.max_bytes
        may = scope["path"].startswith(found.prefix) and await found.may_send(scope)
        return found.max_bytes if may else self.max_bytes

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        length = header(scope, b"content-length")
        # why a length: Python refuses to read numbers of thousands of digits
        announced = int(length) if length.isdecimal() and len(length) < 20 else 0
        most = await self._most(scope, announced)
        if announced > most or len(length) >= 20:
            await self._refuse(scope, receive, send)
            return
        received = 0
        refused = False

        async def counted() -> Message:
            nonlocal received, refused
            message = await receive()
            received += len(message.get("body", b""))
            if received > most and not refused:
                refused = True
                await self._refuse(scope, receive, send)
            # why: Django sees a client that went away, stops reading and drops all
            return {"type": "http.disconnect"} if refused else message

        async def unless_refused(message: Message) -> None:
            if not refused:
                await send(message)

        await self.app(scope, counted, unless_refused)

    async def _refuse(self, scope: Message, receive: Receive, send: Send) -> None:
        # why drained, up to a point: closing on unread bytes resets the connection, and the client
        # never sees the answer.
        left = 4 * self.max_bytes
        while left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            if not message.get("more_body", False):
                break
        response = problem_response(
            413,
            code="PayloadTooLarge",
            detail=f"A request body may hold {self.max_bytes} bytes at most.",
            instance=scope["path"],
            hints=("Send files through /api/v1/uploads in chunks.",),
        )
        await answer(response, send, closing=True)


class SameOrigin:
    """Sockets only from pages of this host or a trusted origin: browsers send cookies across sites.

    A missing Origin is refused too; programs set it to the studio's URL.
    """

    def __init__(self, app: Application, *, trusted: frozenset[str]) -> None:
        self.app = app
        self.trusted = trusted

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        origin = header(scope, b"origin")
        parts = urlsplit(origin)
        same = bool(parts.netloc) and parts.netloc == header(scope, b"host")
        if same or origin in self.trusted:
            await self.app(scope, receive, send)
            return
        # why no receive() first: closing before accepting makes the server answer 403
        await send({"type": "websocket.close", "code": 4403})
