"""The listener of the native front end, with or without TLS."""

import asyncio

from worker_runtime.observability.metrics.connections import Load
from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.grpc.native.connection import Connection
from worker_runtime.protocols.grpc.native.frames import ErrorCode, goaway
from worker_runtime.protocols.grpc.native.messages import Turns
from worker_runtime.protocols.grpc.native.outgoing import hello
from worker_runtime.protocols.grpc.native.owner import Service
from worker_runtime.protocols.grpc.service import MODEL_INFER, MODEL_STREAM_INFER
from worker_runtime.protocols.listening import Members, Sweeper, listen, server_context
from worker_runtime.types.listening import GrpcOptions

_GRACE_S = 0.5  # for calls that wait for nothing but their client
_FULL = hello(0) + goaway(0, ErrorCode.ENHANCE_YOUR_CALM, "too many connections")
_BYE = "the server is shutting down"


class NativeServer:
    """``port`` is the real one after ``start``."""

    compressed = frozenset({MODEL_INFER, MODEL_STREAM_INFER})

    def __init__(
        self,
        service: Service,
        address: str,
        port: int,
        options: GrpcOptions,
        admission: ConnectionAdmission,
        *,
        reuse_port: bool = False,
        descriptor: int | None = None,
    ) -> None:
        self.service = service
        self.options = options
        self.admission = admission
        self.turns = Turns()
        self.port = port
        self._address = address
        self._reuse_port = reuse_port
        self._descriptor = descriptor
        self._connections: Members[Connection] = Members()
        self._server: asyncio.Server | None = None
        self._sweeper = Sweeper(self._connections, Connection.sweep, admission.limits.look_s)
        admission.watch(self._connections)

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken or the TLS files cannot be read."""
        tls = self.options.tls
        context = server_context(tls, "h2", "grpc") if tls is not None else None

        def connected() -> asyncio.Protocol:
            return self.admission.admit("grpc", lambda: Connection(self), _FULL)

        self._server = await listen(
            connected, self._address, self.port, context,
            reuse_port=self._reuse_port, descriptor=self._descriptor,
        )  # fmt: skip
        self.port = self._server.sockets[0].getsockname()[1]
        self._sweeper.start()

    @property
    def load(self) -> Load:
        calls = [connection.calls for connection in self._connections]
        return Load(len(calls), sum(calls))

    def joined(self, connection: Connection) -> None:
        self._connections.add(connection)

    def left(self, connection: Connection) -> None:
        self._connections.discard(connection)

    async def close(self, grace_s: float) -> None:
        """Refuse new calls, end running ones; answers have ``grace_s`` seconds to be read."""
        if self._server is None:
            return
        self._server.close()
        self._sweeper.stop()
        for connection in list(self._connections):
            connection.leave(_BYE)
        await self._connections.emptied(min(grace_s, _GRACE_S))
        for connection in list(self._connections):
            connection.abort_calls(_BYE)
        await self._connections.emptied(grace_s - _GRACE_S)
        for connection in list(self._connections):
            connection.abort()
        await self._server.wait_closed()
