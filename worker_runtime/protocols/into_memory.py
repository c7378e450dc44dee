"""Reading from a socket straight into the memory that what is read is for."""

import asyncio
from typing import Any, Protocol


class Owner(Protocol):
    """The connection whose place is taken."""

    def room(self) -> memoryview:
        """Where the next bytes go; at least one fits."""
        ...

    def filled(self, piece: memoryview) -> None:
        """``piece`` is the front of that, written. The owner takes its place back if it likes."""
        ...

    def connection_lost(self, exc: Exception | None) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...


class IntoMemory(asyncio.BufferedProtocol):
    """Takes a connection's place until another protocol is set."""

    def __init__(self, owner: Owner, transport: Any) -> None:
        self._owner = owner
        self._room = memoryview(b"")
        transport.set_protocol(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 # asyncio's
        self._room = self._owner.room()
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        piece, self._room = self._room[:nbytes], memoryview(b"")
        self._owner.filled(piece)

    def connection_lost(self, exc: Exception | None) -> None:
        self._owner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._owner.pause_writing()

    def resume_writing(self) -> None:
        self._owner.resume_writing()
