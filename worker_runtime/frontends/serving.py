"""The process of one front end: listeners over the remote engine, until the core ends it."""

import asyncio
import gc
import logging
import os
import signal
import socket
from typing import TYPE_CHECKING, Any, cast

import uvloop
from msgspec.structs import asdict

from worker_runtime import heap
from worker_runtime.errors import RuntimeFault
from worker_runtime.frontends.calls import Calls
from worker_runtime.frontends.link import Link
from worker_runtime.frontends.messages import (
    BLOCKS,
    Close,
    CopyRules,
    Count,
    Counts,
    GrpcReply,
    Hello,
    HttpReply,
    Started,
    State,
    Welcome,
)
from worker_runtime.frontends.remote import RemoteEngine
from worker_runtime.observability.logging import LogControl, LogOptions
from worker_runtime.observability.metrics.connections import Refusals
from worker_runtime.observability.metrics.loop import LoopLag
from worker_runtime.observability.stalls import stalls_told
from worker_runtime.protocols.admission import ConnectionAdmission, raise_file_limit
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.grpc.server import GrpcServer
from worker_runtime.protocols.http.app import HttpApp
from worker_runtime.protocols.http.server import HttpServer

if TYPE_CHECKING:
    from worker_runtime.frontends.copies import Copies

logger = logging.getLogger(__name__)
_LAST_ANSWERS_S = 0.5  # of models that run here, to be read
_LAST_WORDS_S = 2.0  # for clients to read why, when the core has gone


def serve(descriptor: int) -> int:
    """Run until the core says so, or ends; returns the exit code."""
    # why ignored: signals reach the whole group; the core says when it is time, and in which order.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    raise_file_limit()
    heap.keep_freed()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        code, still_loads = runner.run(_run(descriptor))
    if still_loads:  # why: Python would wait for that thread
        logging.shutdown()
        os._exit(code)
    return code


async def _run(descriptor: int) -> tuple[int, bool]:
    """The exit code, and whether a thread is at a load that cannot be ended."""
    core = socket.socket(fileno=descriptor)
    core.set_inheritable(False)
    core.setblocking(False)
    process = Process()
    loop = asyncio.get_running_loop()
    await loop.create_unix_connection(lambda: process.link, sock=core)
    with stalls_told():
        return await process.ended, process.still_loads


class Process:
    """``ended`` has the exit code."""

    def __init__(self) -> None:
        self.link = Link(self._taken, self._lost, lambda _: None)
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._log: LogControl | None = None
        self._engine: RemoteEngine | None = None
        self._calls: Calls | None = None
        self._copies: Copies | None = None
        self._copy_rules: CopyRules | None = None
        self._welcome: Welcome | None = None  # until it listens
        self._refusals = Refusals()
        self._lag = LoopLag()
        self._admission: ConnectionAdmission | None = None
        self._app: HttpApp | None = None
        self._http: HttpServer | None = None
        self._grpc: GrpcServer | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._closing = False

    @property
    def still_loads(self) -> bool:
        return self._copies is not None and self._copies.still_loads

    def _taken(self, message: memoryview, frame: bytes | memoryview, start: int) -> None:
        block = BLOCKS.decode(message)
        for said in block.said:
            self._hear(said)
        if self._engine is not None:
            self._engine.answered(block, frame, start)

    def _hear(self, said: Any) -> None:
        engine, calls = self._engine, self._calls
        if isinstance(said, Welcome):
            self._prepare(said)
        elif engine is None or calls is None:
            raise AssertionError(f"{type(said).__name__} before the welcome")
        elif isinstance(said, State):
            self._follow_log(said.log)
            engine.follow(said)
            self._follow_copies(said, engine)
            self._begin(engine, calls)
        elif isinstance(said, HttpReply):
            calls.http(said)
        elif isinstance(said, GrpcReply):
            calls.grpc(said)
        elif isinstance(said, Count):
            if self._copies is not None:
                self._copies.tell()
            engine.say(self._counts(said.question))
        elif isinstance(said, Close):
            self._run(self._close(said.grace_s, 0))

    def _follow_copies(self, state: State, engine: RemoteEngine) -> None:
        if self._copies is None and state.runs and self._copy_rules is not None:
            # why here: what runs models is tens of megabytes, and most front ends run none
            from worker_runtime.frontends.copies import Copies  # noqa: PLC0415

            self._copies = Copies(self._copy_rules, engine.say)
        if self._copies is not None and not self._closing:
            self._copies.follow(state, engine.models)

    def _run(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _follow_log(self, options: LogOptions) -> None:
        """Log as the core does, and to the same place."""
        if self._log is None:
            self._log = LogControl(options)
            self._log.open()
        elif options != self._log.options:
            self._log.change(**asdict(options))

    # --- life ------------------------------------------------------------------------------------

    def _prepare(self, welcome: Welcome) -> None:
        engine = self._engine = RemoteEngine(self.link, shared_memory=welcome.client_shared_memory)
        self._calls = Calls(engine.say)
        self._welcome, self._copy_rules = welcome, welcome.copies
        engine.say(Hello())

    def _begin(self, engine: RemoteEngine, calls: Calls) -> None:
        """Listen, once."""
        welcome, self._welcome = self._welcome, None
        if welcome is not None:
            self._run(self._start(welcome, engine, calls))

    async def _start(self, welcome: Welcome, engine: RemoteEngine, calls: Calls) -> None:
        failure = ""
        try:
            await self._listen(welcome, engine, calls)
        except (OSError, RuntimeFault) as error:
            failure = str(error)
        self._lag.start()
        gc.collect()
        gc.freeze()
        gc.enable()
        engine.say(Started(failure))

    async def _listen(self, welcome: Welcome, engine: RemoteEngine, calls: Calls) -> None:
        """Raises OSError or InvalidArgument."""
        admission = self._admission = ConnectionAdmission(welcome.limits, self._refusals)
        # why: the protocols ask this half for nothing else than requests; see ``control``.
        seam = cast("Engine", engine)
        if welcome.http.enabled:
            options = welcome.http_options
            app = self._app = HttpApp(
                *(seam, options.max_input_bytes, options.forward_pattern, options.restrictions),
                *(options.max_body_bytes, calls.handlers(welcome.handlers)),
            )
            self._http = HttpServer(
                *(app, welcome.http.address, welcome.http.port, admission),
                descriptor=welcome.http.descriptor,
                tls=options.tls,
            )
            await self._http.start()
        if welcome.grpc.enabled:
            self._grpc = GrpcServer(
                *(seam, welcome.grpc.address, welcome.grpc.port, welcome.grpc_options, admission),
                descriptor=welcome.grpc.descriptor,
                control=calls.queries(welcome.queries),
            )
            await self._grpc.start()

    def _lost(self) -> None:
        if self._closing:
            return
        logger.error("the core has ended: so does this front end")
        if self._engine is not None and self._calls is not None:
            self._engine.lose()
            self._calls.lose()
        self._run(self._close(_LAST_WORDS_S, 1))

    async def _close(self, grace_s: float, code: int) -> None:
        self._closing = True
        self._lag.stop()
        if self._copies is not None:
            loop, end = asyncio.get_running_loop(), asyncio.get_running_loop().time() + grace_s
            await self._copies.close(grace_s)
            grace_s = min(grace_s, max(end - loop.time(), _LAST_ANSWERS_S))
        closing = []
        if self._http is not None:
            closing.append(self._http.close(grace_s))
        if self._grpc is not None:
            closing.append(self._grpc.close(grace_s))
        await asyncio.gather(*closing)
        if not self.ended.done():
            self.ended.set_result(code)

    # --- metrics ---------------------------------------------------------------------------------

    def _counts(self, question: int) -> Counts:
        load: dict[str, tuple[int, int]] = {}
        if self._app is not None:
            load["http"] = self._app.load
        if self._grpc is not None and (found := self._grpc.load) is not None:
            load["grpc"] = found
        refused = [(p, reason, n) for (p, reason), n in self._refusals.counts.items()]
        held = self._admission.buffers.held if self._admission is not None else 0
        return Counts(question, load, refused, held, self._lag.counts, self._lag.total_s)
