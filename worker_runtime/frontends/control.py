"""Calls that are not inference, which front ends hand on: the core answers them as it always does.

The handlers are those of the protocols themselves. Where they expect a connection they get a
Reply, whose answer goes back to the front end once all front ends know what the call has changed.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, cast

from worker_runtime.core.engine import Engine
from worker_runtime.errors import InvalidArgument
from worker_runtime.frontends.messages import GrpcCall, GrpcReply, HttpCall, HttpReply, fault_text
from worker_runtime.frontends.mirror import Mirror
from worker_runtime.protocols.grpc.service import control_queries
from worker_runtime.protocols.grpc.status import as_fault
from worker_runtime.protocols.http.admin import Admin
from worker_runtime.protocols.http.errors import answered, error_body
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.routes import match

logger = logging.getLogger(__name__)
_JSON = b"application/json"
_STATISTICS = "statistics"  # the kind of their route
GRPC_STATISTICS = "/inference.GRPCInferenceService/ModelStatistics"

Send = Callable[[HttpReply | GrpcReply], None]


class Control:
    """``max_input_bytes`` bounds documents, as for ``Admin``. ``look`` asks front ends what they
    have counted."""

    def __init__(
        self,
        engine: Engine,
        mirror: Mirror,
        max_input_bytes: int,
        look: Callable[[], Awaitable[None]],
    ) -> None:
        self._mirror = mirror
        self._look = look
        self._handlers = Admin(engine, max_input_bytes).handlers
        self._queries = control_queries(engine)
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def handlers(self) -> list[str]:
        """The kinds of HTTP routes that are answered here."""
        return list(self._handlers)

    @property
    def queries(self) -> dict[str, str]:
        """The categories of gRPC's calls that are answered here, by path."""
        return {path: str(query.category) for path, query in self._queries.items()}

    def http(self, call: HttpCall, send: Send) -> None:
        """Answer by ``send``, now or later."""
        head = Head(call.method, call.path, call.headers, True, False, query=call.query)
        route = match(call.path)

        def done(status: int, content_type: bytes, headers: bytes, body: bytes) -> None:
            self._settled(send, HttpReply(call.number, status, content_type, headers, body))

        reply = Reply(call.path, done)
        if route is None or route.kind not in self._handlers:
            reply.fail_with(InvalidArgument(f"'{call.path}' is not for the core"))
            return

        def handle() -> None:
            try:
                self._handlers[route.kind](cast("Any", reply), head, route, call.body)
            except Exception as error:  # why so wide: a call must end, whatever happened
                reply.fail_with(error)

        if route.kind == _STATISTICS and self._mirror.copies:
            self._run(self._after_look(handle))
        else:
            handle()

    async def _after_look(self, handle: Callable[[], None]) -> None:
        await self._look()
        handle()

    def grpc(self, call: GrpcCall, send: Send) -> None:
        self._run(self._answered(call, send))

    async def _answered(self, call: GrpcCall, send: Send) -> None:
        try:
            query = self._queries[call.path]
            if call.path == GRPC_STATISTICS and self._mirror.copies:
                await self._look()
            found = query.answered(call.message)
            if inspect.isawaitable(found):
                found = await found
            reply = GrpcReply(call.number, found.SerializeToString())
        except Exception as error:  # why so wide: as above
            reply = GrpcReply(call.number, b"", fault_text(as_fault(error)))
        self._settled(send, reply)

    def _settled(self, send: Send, reply: HttpReply | GrpcReply) -> None:
        if self._mirror.settled:
            send(reply)
        else:
            self._run(self._later(send, reply))

    async def _later(self, send: Send, reply: HttpReply | GrpcReply) -> None:
        await self._mirror.settle()
        send(reply)

    def _run(self, work: Any) -> None:
        """To its end, also when its front end goes away: a load goes on without its client."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Reply:
    """What a handler of control sees of a connection."""

    def __init__(self, path: str, done: Callable[[int, bytes, bytes, bytes], None]) -> None:
        self._path = path
        self._done = done
        self.closed = False  # to the core: the front end knows whether anybody waits

    def reply(
        self,
        status: int,
        body: bytes = b"",
        *,
        content_type: bytes = _JSON,
        headers: bytes = b"",
    ) -> None:
        self._done(status, content_type, headers, body)

    def fail_with(self, error: Exception) -> None:
        status, headers = answered(error, self._path)
        self.reply(status, error_body(error), headers=headers)
