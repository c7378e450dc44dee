"""The HTTP listeners: the API and, on a port of its own, the metrics."""

import asyncio
import socket

from worker_runtime.protocols.http.connection import App, Connection
from worker_runtime.protocols.tls import server_context
from worker_runtime.types.listening import TlsFiles

_BACKLOG = 1024
_SWEEP_S = 30.0


class HttpServer:
    """One listener. ``port`` is the real one after ``start``; others may share it if they agree."""

    def __init__(
        self,
        app: App,
        address: str,
        port: int,
        *,
        reuse_port: bool = False,
        tls: TlsFiles | None = None,
    ) -> None:
        self._app = app
        self._address = address
        self.port = port
        self._reuse_port = reuse_port
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken or a TLS file cannot be used."""
        context = server_context(self._tls, "http/1.1", "http") if self._tls is not None else None
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._app),
            self._address,
            self.port,
            backlog=_BACKLOG,
            reuse_port=self._reuse_port or None,
            ssl=context,
        )
        listening: socket.socket = self._server.sockets[0]
        self.port = listening.getsockname()[1]
        self._sweeper = loop.call_later(_SWEEP_S, self._sweep)

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()

    async def close(self) -> None:
        """End the listener and every connection."""
        self.stop_accepting()
        if self._sweeper is not None:
            self._sweeper.cancel()
        for connection in list(self._app.connections):
            connection.close()

    def _sweep(self) -> None:
        """Close connections whose request made no progress for a whole sweep."""
        for connection in list(self._app.connections):
            if connection.stalled and connection.progress == connection.seen_progress:
                connection.close()
            connection.seen_progress = connection.progress
        self._sweeper = asyncio.get_running_loop().call_later(_SWEEP_S, self._sweep)
