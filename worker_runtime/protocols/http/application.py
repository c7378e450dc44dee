"""What the connections of a listener serve."""

from typing import Any, Protocol

from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.protocols.http.replies import Encode, EncodeAny
from worker_runtime.protocols.listening import Members
from worker_runtime.protocols.slices import Later
from worker_runtime.types.request import InferRequest

Body = bytes | bytearray | memoryview


class Call(Protocol):
    """What one HTTP request is made into where it is more than one request of the engine."""

    def give_up(self) -> None:
        """Nobody wants an answer any more."""
        ...


class App(Protocol):
    """What a connection serves. ``handle`` answers through the connection, now or later."""

    heads: HeadCache
    connections: Members[Any]

    def body_limit(self, head: Head) -> int:
        """The most bytes that the body of this head may have."""
        ...

    def too_large(self, head: Head) -> str:
        """Why a body of this head's Content-Length is not even read; "" when it is."""
        ...

    def handle(self, connection: Any, head: Head, body: Body) -> None: ...

    def answer_later(self, connection: Any, later: Later) -> None:
        """Answer with the result of what could not be done at once."""
        ...

    def cancelled(self, request: InferRequest) -> None: ...

    @property
    def encode(self) -> Encode: ...

    @property
    def encode_any(self) -> EncodeAny: ...
