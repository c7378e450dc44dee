"""Large bodies: read straight into the memory that their tensors will be views of."""

import asyncio
from typing import Any, Protocol


class BodyOwner(Protocol):
    """The connection that a body belongs to."""

    def room(self) -> memoryview:
        """Where the body goes on."""
        ...

    def body_grew(self, size: int) -> bool:
        """So many more bytes of it are there; True when it was complete and is handled."""
        ...

    def connection_lost(self, exc: Exception | None) -> None: ...

    def pause_writing(self) -> None: ...

    def resume_writing(self) -> None: ...


class BodyReader(asyncio.BufferedProtocol):
    """Takes a connection's place while a large body is read straight into its memory."""

    def __init__(self, connection: BodyOwner, transport: Any) -> None:
        self._connection = connection
        self._transport = transport
        self._switch(self)

    def _switch(self, protocol: Any) -> None:
        # why pause and resume: how a transport reads is decided when it starts to.
        self._transport.pause_reading()
        self._transport.set_protocol(protocol)
        self._transport.resume_reading()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 # asyncio's
        return self._connection.room()

    def buffer_updated(self, nbytes: int) -> None:
        complete = self._connection.room().nbytes == nbytes
        if complete:
            self._switch(self._connection)
        self._connection.body_grew(nbytes)

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.connection_lost(exc)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()
