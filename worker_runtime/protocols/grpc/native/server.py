"""The listener of the native front end, with or without TLS."""

import asyncio
import contextlib
import ssl
from dataclasses import dataclass
from pathlib import Path

from worker_runtime.protocols.grpc.native.connection import Connection, Service
from worker_runtime.protocols.grpc.native.keepalive import KeepaliveRules

_BACKLOG = 1024
_BYE = "the server is shutting down"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files; with ``mutual`` clients must show a certificate that ``root`` has signed."""

    certificate: Path
    key: Path
    root: Path | None = None
    mutual: bool = False


def tls_context(files: TlsFiles) -> ssl.SSLContext:
    """A server context that speaks h2 only. Raises OSError for files that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(files.certificate, files.key)
    context.set_alpn_protocols(["h2"])
    if files.root is not None:
        context.load_verify_locations(files.root)
    if files.mutual:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


class Http2Server:
    """``port`` is the real one after ``start``."""

    def __init__(
        self,
        service: Service,
        address: str,
        port: int,
        *,
        keepalive: KeepaliveRules | None = None,
        response_level: str = "",
        tls: TlsFiles | None = None,
        reuse_port: bool = False,
    ) -> None:
        self.service = service
        self.keepalive = keepalive or KeepaliveRules()
        self.response_level = "" if response_level == "none" else response_level
        self._connections: set[Connection] = set()
        self._empty = asyncio.Event()
        self.port = port
        self._address = address
        self._tls = tls
        self._reuse_port = reuse_port
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken or the TLS files cannot be read."""
        context = tls_context(self._tls) if self._tls is not None else None
        self._server = await asyncio.get_running_loop().create_server(
            lambda: Connection(self),
            self._address,
            self.port,
            backlog=_BACKLOG,
            ssl=context,
            reuse_port=self._reuse_port or None,
        )
        self.port = self._server.sockets[0].getsockname()[1]

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
