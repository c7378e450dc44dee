"""What a connection knows of the server that it belongs to."""

from collections.abc import Container
from typing import Any, Protocol

from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.grpc.native.call import Call
from worker_runtime.protocols.grpc.native.messages import Turns
from worker_runtime.protocols.grpc.transport import Handler
from worker_runtime.types.listening import GrpcOptions


class Service(Protocol):
    def open(self, call: Call) -> Handler | None:
        """The handler of ``call.head.path``; None when there is no such method."""
        ...


class Owner(Protocol):
    """The server that a connection belongs to."""

    service: Service
    options: GrpcOptions
    admission: ConnectionAdmission
    turns: Turns

    @property
    def compressed(self) -> Container[str]:
        """The paths of the calls whose answers are compressed."""
        ...

    def joined(self, connection: Any) -> None: ...

    def left(self, connection: Any) -> None: ...
