"""Where Envoy asks whether a request of a deployment at zero may go on: a socket, and a thread.

The answer is 200, or 429 with the words for the caller, who gets 503: Envoy takes our 503 for a
failure, and drops its text. Until then the request waits in Envoy.
"""

import asyncio
import logging
import resource
import socket
import threading
from pathlib import Path
from typing import Any, Final

import uvicorn

from controlplane.core.slow_clock import Server
from controlplane.gateway.admin import EnvoyAdmin
from controlplane.gateway.control_client import ControlPlaneClient
from controlplane.gateway.filters import CLUSTER_HEADER
from controlplane.gateway.holding import Holding, Refusal
from controlplane.gateway.names import deployment_of
from wire.waking import WakeReply

logger = logging.getLogger("controlplane.gateway.holding")

BACKLOG: Final = 4096  # of callers at once; the kernel has its own bound, too
KEPT_S: Final = 60  # of an idle connection: Envoy closes it earlier
FILES_BESIDE: Final = 256  # descriptors for everything else
STOP_S: Final = 10.0


class HoldServer:
    """``holding`` belongs to the server's own thread, but for what it says is for any."""

    def __init__(self, path: Path, client: ControlPlaneClient, envoy: Path, *, most: int) -> None:
        self._path, self._client = path, client
        self._admin = EnvoyAdmin(envoy)
        self.holding = Holding(self._wake, self._serving, most=most)
        self._config = uvicorn.Config(
            self._answer,
            http="httptools",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEPT_S,
            timeout_graceful_shutdown=1,
        )
        self._server: Server | None = None  # once its thread has a loop
        self._most = most
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._serves = threading.Event()

    def start(self) -> None:
        """Raises OSError: its socket cannot be opened."""
        _descriptors(self._most + FILES_BESIDE)
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path.unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(self._path))
        self._path.chmod(0o600)  # why before it listens: nobody else may wake anything
        listening.listen(BACKLOG)
        # why a daemon: whoever is held is told by Envoy, and nothing is kept here
        self._thread = threading.Thread(
            target=self._run, args=(listening,), name="hold-server", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Who is held then is asked for again, by Envoy, of the agent that comes next."""
        if self._thread is not None:
            self._serves.wait(STOP_S)
            if self._loop is not None and self._server is not None:
                self._loop.call_soon_threadsafe(self._end, self._server)
            self._thread.join(STOP_S)
        self._admin.close()

    def _end(self, running: Server) -> None:
        # why not ended in order: the server would answer 500, and take what Envoy asks again
        for server in running.servers:
            server.close()
        for connection in list(running.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()
        running.end()

    def _run(self, listening: socket.socket) -> None:
        with listening:
            asyncio.run(self._serve(listening))

    async def _serve(self, listening: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._server = Server(self._config)
        self._serves.set()
        await self._server.serve(sockets=[listening])

    async def _wake(self, endpoint: str, deployment: str) -> WakeReply:
        return await asyncio.to_thread(self._client.wake, endpoint, deployment)

    async def _serving(self) -> frozenset[str]:
        hosts = await asyncio.to_thread(self._admin.hosts)
        return frozenset(
            name for name, found in hosts.items() if any(host.healthy for host in found.values())
        )

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        cluster = dict(scope["headers"]).get(CLUSTER_HEADER.encode(), b"").decode("latin-1")
        try:
            deployment_of(cluster)
        except IndexError:
            return await _reply(send, Refusal("The gateway does not know where this goes.", 1))
        held = asyncio.ensure_future(self.holding.hold(cluster))
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await asyncio.wait({held, gone}, return_when=asyncio.FIRST_COMPLETED)
            if held.done():
                await _reply(send, held.result())
        finally:
            held.cancel()
            gone.cancel()


async def _gone(receive: Any) -> None:
    """Until the caller has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def _reply(send: Any, refusal: Refusal | None) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    body = b""
    if refusal is not None:
        headers.append((b"retry-after", str(refusal.retry_after_s).encode()))
        body = refusal.text.encode()
    headers.append((b"content-length", str(len(body)).encode()))
    status = 200 if refusal is None else 429
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _descriptors(wanted: int) -> None:
    """As many as requests may be held: each has a connection of its own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    if most < wanted:
        logger.warning("Of %d requests, fewer can be held: descriptors end at %d", wanted, most)
