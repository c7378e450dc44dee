"""The HTTP listeners: the API and, on a port of its own, the metrics."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from worker_runtime.observability.tracing.tracer import Tracer
from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.http import replies
from worker_runtime.protocols.http.application import App
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.errors import HttpRefusal, error_body
from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.listening import Members, Sweeper, listen, server_context
from worker_runtime.protocols.slices import Later, Slices, Steps
from worker_runtime.types.listening import TlsFiles
from worker_runtime.types.request import Arrays, InferRequest, ParameterValue

_FULL = error_body(HttpRefusal(503, "too many connections"))
_FULL = (
    replies.whole(503, None, b"application/json", b"Retry-After: 1\r\n", len(_FULL), close=True)
    + _FULL
)
_TEXT = b"text/plain; charset=utf-8"
_PROTOBUF = b"application/x-protobuf"
_MAX_BODY = 64 * 1024
_ASKED = re.compile(r"salt=([0-9]{1,10})&after=([0-9]{1,15})")


class HttpServer:
    """One listener. ``port`` is the real one after ``start``; others may share it if they agree.

    A ``descriptor`` is of a socket that the parent has bound: then it alone says where.
    """

    def __init__(
        self,
        app: App,
        address: str,
        port: int,
        admission: ConnectionAdmission,
        *,
        reuse_port: bool = False,
        descriptor: int | None = None,
        tls: TlsFiles | None = None,
    ) -> None:
        self._app = app
        self._address = address
        self.port = port
        self._reuse_port = reuse_port
        self._descriptor = descriptor
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._admission = admission
        self._sweeper = Sweeper(app.connections, self._look, admission.limits.look_s)
        admission.watch(app.connections)

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken or a TLS file cannot be used."""
        context = server_context(self._tls, "http/1.1", "http") if self._tls is not None else None
        app, buffers = self._app, self._admission.buffers

        def connected() -> asyncio.Protocol:
            return self._admission.admit("http", lambda: Connection(app, buffers), _FULL)

        self._server = await listen(
            connected, self._address, self.port, context,
            reuse_port=self._reuse_port, descriptor=self._descriptor,
        )  # fmt: skip
        self.port = self._server.sockets[0].getsockname()[1]
        self._sweeper.start()

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()

    async def close(self, grace_s: float = 0.0) -> None:
        """End the listener and every connection; answers have ``grace_s`` seconds to be read."""
        self.stop_accepting()
        self._sweeper.stop()
        for connection in list(self._app.connections):
            connection.close()
        await self._app.connections.emptied(grace_s)
        for connection in list(self._app.connections):
            connection.abort()

    def _look(self, connection: Connection, now: float) -> None:
        reason = connection.overdue(now, self._admission.limits)
        if reason:
            self._admission.refusals.count("http", reason)
            connection.abort()


class MetricsApp:
    """Prometheus text at /metrics, and for this machine's own single requests at /requests and at
    /spans those that wait to be sent.

    ``scrape`` gives the whole exposition, in slices. Where others are to be asked first, ``look``
    does.
    """

    def __init__(
        self,
        scrape: Callable[[], Steps[bytes]],
        tracer: Tracer,
        look: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self.heads = HeadCache()
        self.connections: Members[Connection] = Members()
        self._scrape = scrape
        self._slices = Slices()
        self._look = look
        self._tracer = tracer
        self._tasks: set[asyncio.Task[None]] = set()

    def body_limit(self, head: Head) -> int:  # noqa: ARG002
        return _MAX_BODY

    def too_large(self, head: Head) -> str:
        return "no body is expected here" if head.content_length > _MAX_BODY else ""

    def handle(self, connection: Connection, head: Head, body: Any) -> None:  # noqa: ARG002
        if head.method != "GET":
            connection.reply(405, b'{"error":"Method Not Allowed"}', headers=b"Allow: GET\r\n")
        elif head.path == "/requests" and connection.local:
            self._tell_requests(connection, head)
        elif head.path == "/spans" and connection.local:
            connection.reply(200, self._tracer.take_spans(), content_type=_PROTOBUF)
        elif head.path not in ("/metrics", "/metrics/"):
            connection.reply(200, content_type=_TEXT)
        elif self._look is not None:
            task = asyncio.get_running_loop().create_task(self._reply(connection, self._look))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            self._tell(connection)

    def _tell(self, connection: Connection) -> None:
        self._slices.run(
            self._scrape(),
            wanted=lambda: not connection.closed,
            done=lambda text: connection.reply(200, text, content_type=_TEXT),
            failed=connection.fail_with,
        )

    def _tell_requests(self, connection: Connection, head: Head) -> None:
        asked = _ASKED.fullmatch(head.query)
        if asked is None:
            said = b'{"error":"expected ?salt=<number>&after=<number>"}'
            connection.reply(400, said)
            return
        found = self._tracer.requests.look(int(asked[1]), int(asked[2]))
        connection.reply(200, msgspec.json.encode({"requests": found}))

    async def _reply(self, connection: Connection, look: Callable[[], Awaitable[None]]) -> None:
        await look()
        self._tell(connection)

    def answer_later(self, connection: Connection, later: Later) -> None:
        raise AssertionError(f"{connection}: no inference here: {later}")

    def cancelled(self, request: InferRequest) -> None:
        raise AssertionError(f"the metrics listener has no requests: {request.id}")

    def encode(self, head: Head, request: InferRequest, outputs: Arrays) -> Answer:
        raise AssertionError(f"{head.path}: no inference here: {request.id} {len(outputs)}")

    def encode_any(
        self,
        head: Head,
        request: InferRequest,
        names: Sequence[str],
        outputs: Arrays,
        parameters: dict[str, ParameterValue] | None,
    ) -> Answer:
        raise AssertionError(f"{head.path}: {request.id} {names} {len(outputs)} {parameters}")
