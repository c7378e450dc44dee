"""A thread pool of their own for the calls that every node makes all the time.

Django gives each ASGI request a thread and a database connection of its own, and hands it from
the event loop to that thread and back several times. That is right for people's requests and for
long downloads. A thousand nodes that report, ask and send samples pay more for it than for their
answers, so those few calls are answered here, by kept threads in one step each. A thousand that
hold a wake-up stream would keep a thousand threads: what is streamed here needs none.
"""

import asyncio
import contextlib
import contextvars
import time
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, Final, cast

from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler
from django.db import connections
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from controlplane.config.guards import Application, Message, Receive, Send
from controlplane.core import fanout
from controlplane.core.borrowed import give_back

# Dozens that write at once would wait for SQLite's lock by turns of sleep, and for the interpreter;
# people's requests among them would wait for very long.
THREADS: Final = 3
CONNECTION_AGE_S: Final = 60.0  # then it is made anew, so that what became of the database shows
PATHS: Final = frozenset(
    f"/agent/v1/{name}"
    for name in (
        *("report", "desired", "samples", "logs", "cache", "wake-ups", "bell"),
        *("gateway/snapshot", "gateway/report", "gateway/samples"),
        *("gateway/wake-ups", "gateway/bell"),
    )
)
STALL_S: Final = 15.0  # then who does not read what is streamed is left


class _Django(ASGIHandler):
    """Reads bodies as ASGI has them, and answers in the thread that asks."""

    def __init__(self) -> None:
        # why not ASGIHandler's own: it would have the middlewares asynchronous
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)


class AgentRequestPool:
    """Answers ``PATHS`` through the same middlewares and views; all else goes on to ``app``.

    What is streamed must be asynchronous. Django's signals of a request's start and end are not
    sent: what listens to them closes database connections, and these are kept.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self._django = _Django()
        self._threads = ThreadPoolExecutor(
            THREADS, thread_name_prefix="agents", initializer=fanout.keep_loop
        )

    def close(self) -> None:
        """Ends the threads, and their database connections with them."""
        self._threads.shutdown()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"] not in PATHS:
            await self.app(scope, receive, send)
            return
        try:
            body = await self._django.read_body(receive)
        except RequestAborted:
            return
        context = contextvars.copy_context()
        response = await asyncio.get_running_loop().run_in_executor(
            self._threads, context.run, self._answer, scope, body
        )
        headers = [
            (name.lower().encode("ascii"), value.encode("latin-1"))
            for name, value in response.items()
        ]
        await send(
            {"type": "http.response.start", "status": response.status_code, "headers": headers}
        )
        if isinstance(response, StreamingHttpResponse):
            await _stream(response, receive, send)
        else:
            await send({"type": "http.response.body", "body": cast(HttpResponse, response).content})

    def _answer(self, scope: Message, body: IO[bytes]) -> HttpResponseBase:
        with body:
            request, refused = self._django.create_request(scope, body)
            try:
                answer = refused if request is None else self._django.get_response(request)
            finally:
                _connections_rest()
            return cast(HttpResponseBase, answer)


async def _stream(response: StreamingHttpResponse, receive: Receive, send: Send) -> None:
    """Send the parts until there are no more, or their reader has gone or takes none."""
    sending = asyncio.create_task(_send_parts(response, send))
    leaving = asyncio.create_task(_left(receive))
    tasks = {sending, leaving}
    # why suppressed: so uvicorn ends what is open when it stops, and this is how an answer ends
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    ended, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
    response.close()
    if isinstance(ended, Exception):
        raise ended
    await send({"type": "http.response.body", "body": b""})


async def _send_parts(response: StreamingHttpResponse, send: Send) -> None:
    """Raises TimeoutError for a reader who takes nothing."""
    async for part in response:
        async with asyncio.timeout(STALL_S):
            await send({"type": "http.response.body", "body": part, "more_body": True})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _connections_rest() -> None:
    """Of this thread: give back what is borrowed, close what failed or is old; the rest is checked
    before its next use."""
    give_back()
    for connection in connections.all(initialized_only=True):
        opened_at = (connection.close_at or 0) - (connection.settings_dict["CONN_MAX_AGE"] or 0)
        if connection.errors_occurred or time.monotonic() - opened_at > CONNECTION_AGE_S:
            connection.close()
        # why: as Django does between requests; it checks only where CONN_HEALTH_CHECKS says so
        cast(Any, connection).health_check_done = False
