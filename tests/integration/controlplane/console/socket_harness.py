"""A browser's socket without a browser.

channels.testing would do, but importing it asks for another ASGI server (daphne).
"""

import json
from typing import Any

from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter

from controlplane.console.routing import websocket_urlpatterns

TIMEOUT_S = 15


class Browser(ApplicationCommunicator):
    """One socket, accepted. Frames are parsed JSON."""

    def __init__(self, path: str, person: object) -> None:
        super().__init__(
            URLRouter(websocket_urlpatterns),
            {"type": "websocket", "path": path, "headers": [], "query_string": b"", "user": person},
        )

    @classmethod
    async def open(cls, path: str, person: object) -> "Browser":
        browser = cls(path, person)
        await browser.send_input({"type": "websocket.connect"})
        assert (await browser.receive_output(TIMEOUT_S))["type"] == "websocket.accept"
        return browser

    async def say(self, request: Any) -> None:
        text = request if isinstance(request, str) else json.dumps(request)
        await self.send_input({"type": "websocket.receive", "text": text})

    async def say_bytes(self, piece: bytes) -> None:
        await self.send_input({"type": "websocket.receive", "bytes": piece})

    async def hear(self) -> dict[str, Any]:
        message = await self.receive_output(TIMEOUT_S)
        assert message["type"] == "websocket.send", message
        frame: dict[str, Any] = json.loads(message["text"])
        return frame

    async def hear_type(self, kind: str) -> dict[str, Any]:
        """The next frame of this type; others are passed over."""
        while True:
            frame = await self.hear()
            if frame["type"] == kind:
                return frame

    async def ask(self, request: Any) -> dict[str, Any]:
        await self.say(request)
        return await self.hear()

    async def closed_with(self) -> int:
        message = await self.receive_output(TIMEOUT_S)
        assert message["type"] == "websocket.close", message
        code: int = message["code"]
        return code

    async def leave(self) -> None:
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wait(TIMEOUT_S)
