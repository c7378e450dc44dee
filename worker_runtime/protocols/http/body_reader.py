"""Bodies of known size that come in pieces, large ones straight into their final memory."""

import asyncio
from typing import Any, Protocol

import numpy as np

_COPY_BELOW = 16 * 1024


class SizedBody:
    """Feed bytes until the body is complete; what follows it comes back as the rest.

    ``lead`` bytes at its front are text: what is behind them, the first tensor, is aligned.
    """

    __slots__ = ("_at", "_view")

    def __init__(self, length: int, lead: int, start: bytes) -> None:
        # why numpy: it does not clear the memory first.
        pad = -max(0, lead) % 64
        self._view: memoryview = np.empty(pad + length, dtype=np.uint8).data[pad:]
        self._at = len(start)
        self._view[: self._at] = start

    @property
    def room(self) -> memoryview:
        """Where the body goes on."""
        return self._view[self._at :]

    def grew(self, size: int) -> bytes | memoryview | None:
        """``size`` more bytes were written there: the body, once it is complete."""
        self._at += size
        if self._at < len(self._view):
            return None
        # why a copy: slices of small bytes are cheaper than views, and aligned.
        return bytes(self._view) if len(self._view) < _COPY_BELOW else self._view

    def feed(self, data: bytes) -> tuple[bytes | memoryview | None, bytes]:
        """``(body, rest)`` once complete, ``(None, b"")`` before."""
        size = min(len(data), len(self._view) - self._at)
        self._view[self._at : self._at + size] = data[:size]
        return self.grew(size), data[size:]


class BodyOwner(Protocol):
    """The connection that a body belongs to."""

    progress: int

    def body_complete(self, body: bytes | memoryview) -> None: ...

    def connection_lost(self, exc: Exception | None) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...


class BodyReader(asyncio.BufferedProtocol):
    """Takes a connection's place while a large body is read straight into its memory."""

    def __init__(self, connection: BodyOwner, transport: Any, body: SizedBody) -> None:
        self._body = body
        self._connection = connection
        self._transport = transport
        self._switch(self)

    def _switch(self, protocol: Any) -> None:
        # why pause and resume: how a transport reads is decided when it starts to.
        self._transport.pause_reading()
        self._transport.set_protocol(protocol)
        self._transport.resume_reading()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 # asyncio's
        return self._body.room

    def buffer_updated(self, nbytes: int) -> None:
        self._connection.progress += 1
        body = self._body.grew(nbytes)
        if body is not None:
            self._switch(self._connection)
            self._connection.body_complete(body)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()
