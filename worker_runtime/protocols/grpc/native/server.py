"""The listener of the native front end, with or without TLS."""

import asyncio
import contextlib

from worker_runtime.observability.metrics.doors import Load
from worker_runtime.protocols.grpc.native.connection import Connection, Service
from worker_runtime.protocols.grpc.service import MODEL_INFER, MODEL_STREAM_INFER
from worker_runtime.protocols.tls import server_context
from worker_runtime.types.listening import GrpcOptions

_BACKLOG = 1024
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
        *,
        reuse_port: bool = False,
    ) -> None:
        self.service = service
        self.keepalive = options.keepalive
        self.compression = options.compression
        self.port = port
        self._address = address
        self._tls = options.tls
        self._reuse_port = reuse_port
        self._connections: set[Connection] = set()
        self._empty = asyncio.Event()
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken or the TLS files cannot be read."""
        context = server_context(self._tls, "h2", "grpc") if self._tls is not None else None
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self),
            self._address,
            self.port,
            backlog=_BACKLOG,
            ssl=context,
            reuse_port=self._reuse_port or None,
        )
        self.port = self._server.sockets[0].getsockname()[1]

    @property
    def load(self) -> Load:
        calls = [connection.calls for connection in self._connections]
        return Load(len(calls), sum(calls))

    def joined(self, connection: Connection) -> None:
        self._connections.add(connection)
        self._empty.clear()

    def left(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._empty.set()

    async def close(self, grace_s: float) -> None:
        """Refuse new calls, let running ones end within ``grace_s`` seconds."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._connections):
            connection.leave(_BYE)
        if self._connections:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._empty.wait(), grace_s)
        for connection in list(self._connections):
            connection.abort_calls(_BYE)
            connection.close()
        await self._server.wait_closed()
