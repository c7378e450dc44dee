"""What the services of this folder and the transports that carry calls know of one another.

A transport (grpcio, our own HTTP/2) makes a ``Call``, asks the ``Service`` for its ``Handler`` and
feeds that. Nothing here or in the services knows which transport it is. Messages are serialised.
"""

from collections.abc import Sequence
from typing import Any, Protocol

Parts = list[Any]  # of a message: bytes and C-contiguous arrays, which nobody changes any more
Message = bytes | memoryview  # of a request; a large one is the memory that it was read into

# why: it travels in a header, of which clients take 8 to 16 KiB, up to three bytes for one.
MOST_MESSAGE = 2048


def fitting(message: str) -> str:
    """A status message that fits: names and shapes of clients may be in it, of any length."""
    if len(message) <= MOST_MESSAGE // 4:
        return message
    data = message[:MOST_MESSAGE].encode("utf-8", "replace")
    if len(message) <= MOST_MESSAGE and len(data) <= MOST_MESSAGE:
        return message
    return data[: MOST_MESSAGE - 3].decode("utf-8", "ignore") + "..."


class CallHead(Protocol):
    """``path`` is ``/package.Service/Method``; metadata names are lower case."""

    @property
    def path(self) -> str: ...

    @property
    def metadata(self) -> Sequence[tuple[str, str]]: ...

    @property
    def request_id(self) -> bytes:
        """What ``id_of`` finds in the metadata."""
        ...


class Call(Protocol):
    """One call as its handler sees it. Whatever is sent after the end is dropped."""

    @property
    def head(self) -> CallHead: ...

    @property
    def congested(self) -> bool:
        """The client reads slower than it is answered; ``Handler.drained`` tells of the end."""
        ...

    def answer(self, parts: Parts, size: int) -> None:
        """The one answer of a unary call, of ``size`` bytes in all, and its good end."""
        ...

    def send(self, parts: Parts, size: int) -> None:
        """One answer of a streaming call, of ``size`` bytes in all."""
        ...

    def finish(self, status: int, message: str = "", *, late: bool = False) -> None:
        """The end, with a gRPC status code; ``late``: behind headers of its own.

        Gateways read a status in the first headers as one of the server, and take a server that
        is UNAVAILABLE again and again for broken.
        """
        ...

    def pause(self) -> None:
        """Let the client wait with further messages until ``resume``."""
        ...

    def resume(self) -> None: ...

    def release(self, size: int) -> None:
        """A message of ``size`` bytes is answered, and the call goes on."""
        ...


class Handler(Protocol):
    """What a service makes of one call. Everything is called in the event loop."""

    @property
    def expects(self) -> bool:
        """It can do nothing before a message has come: a client that sends none is let go."""
        ...

    def message(self, data: Message) -> None:
        """One whole, uncompressed request message."""
        ...

    def half_close(self) -> None:
        """The client has said everything."""
        ...

    def cancel(self) -> None:
        """The client hung up or its deadline passed: nothing that is sent will arrive."""
        ...

    def drained(self) -> None:
        """A call that was ``congested`` can take answers again."""
        ...
