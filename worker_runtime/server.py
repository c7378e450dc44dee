"""The composition root: builds the parts, starts them in order, stops them in reverse."""

import asyncio
import contextlib
import gc
import logging
import os
import sys
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from worker_runtime.config.settings import ControlMode, Listener, Settings
from worker_runtime.core.draining import wait_unless_hurried
from worker_runtime.core.engine import Engine
from worker_runtime.core.loading import LoadingRules
from worker_runtime.core.local import ModelHost
from worker_runtime.core.manager import Manager
from worker_runtime.core.response_cache import ResponseCache, cache_from
from worker_runtime.core.scheduling.base import Delays
from worker_runtime.core.scheduling.rate_limit import RateLimiter
from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import Internal, InvalidArgument, RuntimeFault
from worker_runtime.listeners import (
    cloud_apps,
    not_started,
    service_name,
    unready,
    write_ready_file,
)
from worker_runtime.machine import gpu_memory, this_machine
from worker_runtime.observability.access import access_log
from worker_runtime.observability.capture.capture import Capture
from worker_runtime.observability.logging import LogControl
from worker_runtime.observability.metrics.connections import ConnectionFamilies, Load, Refusals
from worker_runtime.observability.metrics.loop import LoopLag
from worker_runtime.observability.metrics.text import Source
from worker_runtime.observability.model_metrics import OwnMetrics
from worker_runtime.observability.tracing.tracer import Tracer
from worker_runtime.protocols.admission import ConnectionAdmission
from worker_runtime.protocols.grpc.server import GrpcServer
from worker_runtime.protocols.http.app import HttpApp
from worker_runtime.protocols.http.server import HttpServer, MetricsApp
from worker_runtime.protocols.slices import Steps
from worker_runtime.scraping import exposition
from worker_runtime.summary import tables
from worker_runtime.types.code import AllowedCode
from worker_runtime.types.listening import TlsFiles
from worker_runtime.version import __version__

if TYPE_CHECKING:
    from worker_runtime.frontends.host import FrontEnds

logger = logging.getLogger(__name__)
_GRACE_S = 0.5  # for answers that are on their way out
_SCRAPERS = 100  # connections of those who read the metrics
_LAST_LOADS_S = 2.0  # for loads that were given up: to end what they have begun


def prepared(settings: Settings, log: LogControl) -> "Server":
    """Not started. Raises a RuntimeFault for a cache that cannot be made, OSError for a log."""
    return Server(settings, log, cache_from(settings.cache_config))


def refused(error: RuntimeFault) -> None:
    """Say on the console what Triton says when there is nothing to serve."""
    kind = "Internal" if isinstance(error, Internal) else "Invalid argument"
    sys.stderr.write(f"error: creating server: {kind} - {error}\n")


class Server:
    def __init__(
        self, settings: Settings, log: LogControl, cache: ResponseCache | None = None
    ) -> None:
        self._settings = settings
        self._cache = cache
        self._started: list[str] = []
        self._own_metrics = OwnMetrics()
        self._host = ModelHost(self._own_metrics)
        machine = this_machine()
        units = {(item.name, item.device): item.count for item in settings.rate_limit_resources}
        limiter = RateLimiter(units) if settings.rate_limit else None
        rules = LoadingRules(
            machine,
            auto_complete=settings.auto_complete,
            backend_settings=settings.backend_settings,
            gpu_limits=settings.load_gpu_limits,
            gpu_memory=gpu_memory,
            host=self._host,
            limiter=limiter,
            backend_directory=settings.backend_directory,
            code=AllowedCode(settings.allow_code),
        )
        self._manager = Manager(
            settings.repositories,
            rules,
            explicit=settings.explicit,
            config_name=settings.config_name,
            namespacing=settings.model_namespacing,
            load_threads=settings.load_threads,
            load_retries=settings.load_retries,
            cache=cache,
            metrics=settings.metrics_config,
            limiter=limiter,
            unload_timeout_s=settings.unload_timeout_s,
            longest_wait_ns=settings.max_queue_wait_ms * 1_000_000,
            delays=Delays.of(os.environ),
        )
        self._capture = Capture(settings.capture) if settings.capture else None
        self._engine = Engine(
            self._manager,
            settings.server_id,
            strict_readiness=settings.strict_readiness,
            tracer=Tracer(settings.trace, access_log(settings.access_log)),
            log=log,
            shared_memory=SharedMemory(enabled=settings.client_shared_memory),
            capture=self._capture,
        )
        logger.info(
            "worker_runtime %s: %d cores, %d GPUs", __version__, machine.cores, machine.gpus
        )
        self._refusals = Refusals()
        self._lag = LoopLag()
        self._admission = ConnectionAdmission(settings.connection_limits, self._refusals)
        self._http: list[HttpServer] = []
        self._grpc: GrpcServer | None = None
        self._app: HttpApp | None = None
        self._front_ends: FrontEnds | None = None
        self._polling: asyncio.Future[None] | None = None

    @property
    def engine(self) -> Engine:
        return self._engine

    @property
    def still_loads(self) -> bool:
        """Whether a thread loads a model though the server has stopped, and cannot be ended."""
        return self._manager.still_loads

    async def run(
        self,
        stopped: asyncio.Event,
        ready: Callable[[], None] | None = None,
        *,
        hurry: asyncio.Event | None = None,
    ) -> int:
        """Start, serve until ``stopped``, drain. 0 for a clean end, 1 for a failed start.

        ``ready`` is called once when the models are loaded; ``hurry`` cuts draining short, set
        again the wait for running requests.
        """
        hurry = hurry or asyncio.Event()
        self._host.bind(self._engine, asyncio.get_running_loop())
        self._lag.start()
        if self._capture is not None:
            self._capture.start()
        try:
            await self._listen()
        except (OSError, InvalidArgument) as error:
            logger.error("%s", error)
            await self._stop(0, hurry)
            return 1
        failed = await self._load(stopped)
        if failed:
            await self._stop(0, hurry)
            return 1
        if self._engine.started or self._engine.broken:
            if ready is not None:
                ready()
            await stopped.wait()
            await self._drain(hurry)
        logger.info("stopping: at most %g s for running requests", self._settings.exit_timeout_s)
        await self._stop(self._settings.exit_timeout_s, hurry)
        logger.info("stopped")
        return 0

    async def _drain(self, hurry: asyncio.Event) -> None:
        """Serve on while readiness says no, until the time is over or somebody is in a hurry."""
        seconds = self._settings.drain_s
        if not seconds:
            return
        self._engine.draining = True
        logger.info("draining: not ready any more, serving on for %g s", seconds)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(hurry.wait(), seconds)
        hurry.clear()  # why: who is tired of draining may still want its answers

    async def _listen(self) -> None:
        settings, ports = self._settings, dict[str, int]()
        await (self._front(ports) if settings.frontends else self._open_own(ports))
        if settings.metrics.enabled:
            limits = replace(settings.connection_limits, connections=_SCRAPERS)
            scrapers = ConnectionAdmission(limits, self._refusals)
            metrics = MetricsApp(
                self._scrape,
                self._engine.tracer,
                self._front_ends.look if self._front_ends is not None else None,
            )
            ports["metrics_port"] = await self._open(metrics, "metrics", settings.metrics, scrapers)
        for what, listener, cloud in cloud_apps(settings, self._engine, lambda: self._scrape()):
            name = f"{what.lower().replace(' ', '_')}_port"
            ports[name] = await self._open(cloud, what, listener, self._admission)
        if settings.ready_file is not None:
            write_ready_file(settings.ready_file, ports)

    async def _open_own(self, ports: dict[str, int]) -> None:
        """Serve clients in this process."""
        settings = self._settings
        if settings.http.enabled:
            options = settings.http_options
            app = self._app = HttpApp(
                self._engine,
                options.max_input_bytes,
                options.forward_pattern,
                options.restrictions,
                options.max_body_bytes,
            )
            ports["http_port"] = await self._open(
                app, "HTTP", settings.http, self._admission, options.tls
            )
        if settings.grpc.enabled:
            self._grpc = GrpcServer(
                self._engine,
                settings.grpc.address,
                settings.grpc.port,
                settings.grpc_options,
                self._admission,
                reuse_port=settings.grpc.reuse_port,
                descriptor=settings.grpc.descriptor,
            )
            try:
                await self._grpc.start()
            except OSError as error:
                raise not_started("GRPC", settings.grpc, error) from error
            ports["grpc_port"] = self._grpc.port
            self._tell("GRPC", settings.grpc, self._grpc.port)

    async def _front(self, ports: dict[str, int]) -> None:
        """Serve clients in processes of their own."""
        settings = self._settings
        # why here: of those who start a server few have any, and all would wait for the import
        from worker_runtime.frontends.host import FrontEnds  # noqa: PLC0415

        front_ends = self._front_ends = FrontEnds(
            *(settings, self._engine, self._manager, self._refusals, self._lag)
        )
        for what, listener in (("HTTP", settings.http), ("GRPC", settings.grpc)):
            if listener.enabled:
                port = ports[f"{what.lower()}_port"] = front_ends.reserve(what, listener)
                self._tell(what, listener, port)
        await front_ends.start()

    @cached_property
    def _scrape(self) -> Callable[[], Steps[bytes]]:
        """The metrics as text, in slices, for whoever is allowed to see them."""
        own: tuple[Source, ...] = (self._lag, self._refusals, self._admission.buffers)
        shared = own if self._front_ends is None else (self._front_ends,)
        captured = () if self._capture is None else (self._capture,)
        clients = (ConnectionFamilies(self._open_load), *shared, *captured)
        told = exposition(
            self._settings,
            lambda: self._manager.versions,
            clients,
            self._cache,
            self._own_metrics,
        )
        return told.steps

    def _open_load(self) -> dict[str, Load | None]:
        if self._front_ends is not None:
            return {**self._front_ends.load()}
        apps = {"http": self._app, "grpc": self._grpc}
        return {name: app.load for name, app in apps.items() if app is not None}

    async def _open(
        self,
        app: HttpApp | MetricsApp,
        what: str,
        listener: Listener,
        admission: ConnectionAdmission,
        tls: TlsFiles | None = None,
    ) -> int:
        server = HttpServer(
            *(app, listener.address, listener.port, admission),
            reuse_port=listener.reuse_port,
            descriptor=listener.descriptor,
            tls=tls,
        )
        try:
            await server.start()
        except OSError as error:
            raise not_started(what, listener, error) from error
        self._http.append(server)
        self._tell(what, listener, server.port)
        return server.port

    def _tell(self, what: str, listener: Listener, port: int) -> None:
        """To be logged when everything is there."""
        self._started.append(f"Started {service_name(what)} at {listener.address}:{port}")

    async def _load(self, stopped: asyncio.Event) -> bool:
        """Load the models; True when the server must exit because one failed."""
        started = time.monotonic()
        loading = asyncio.ensure_future(self._manager.start(self._settings.load_models))
        stopping = asyncio.ensure_future(stopped.wait())
        await asyncio.wait([loading, stopping], return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if not loading.done():
            logger.info("stopping: what is being loaded is given up")
            self._engine.stopping = True
            self._manager.give_up_loads()
            await asyncio.wait([loading], timeout=_LAST_LOADS_S)
            loading.cancel()
            return False
        try:
            complete = loading.result()
        except RuntimeFault as error:
            refused(error)
            self._engine.broken = True
            return self._settings.exit_on_error
        for text in tables(self._settings, self._engine.index(failures=True)):
            logger.info("", extra={"table": text})
        logger.info("models loaded in %.1f s", time.monotonic() - started)
        self._engine.started = True
        # why: start-up garbage is long-lived; a full collection would walk it for milliseconds.
        gc.collect()
        gc.freeze()
        if not complete and self._settings.exit_on_error:
            refused(Internal("failed to load all models"))
            return True
        if reason := unready(self._settings, self._engine):
            logger.error("%s", reason)
            return True
        # why only now: scripts take these lines for the sign that everything is there.
        for line in self._started:
            logger.info("%s", line)
        if self._settings.control_mode is ControlMode.POLL and self._settings.poll_interval_s:
            polling = self._manager.keep_polling(self._settings.poll_interval_s)
            self._polling = asyncio.ensure_future(polling)
        return False

    async def _stop(self, timeout_s: float, hurry: asyncio.Event) -> None:
        """Refuse new requests (health says so), let running ones end, then close the sockets."""
        end = time.monotonic() + timeout_s
        self._lag.stop()
        self._engine.stopping = True
        if self._front_ends is not None:
            self._front_ends.publish()
        if self._polling is not None:
            self._polling.cancel()
        finished = await self._manager.close(timeout_s, hurry)
        if not finished:
            logger.warning("requests were still running, and are given up")
        # why never 0: answers that are on their way out need a moment.
        left_s = _GRACE_S if hurry.is_set() else max(end - time.monotonic(), _GRACE_S)
        hurry.clear()
        closing = asyncio.ensure_future(self._close_listeners(left_s))
        if await wait_unless_hurried([closing], left_s, hurry):
            await self._close_listeners(0.0)
            await closing
        self._engine.tracer.close()
        if self._capture is not None:
            await asyncio.to_thread(self._capture.close)

    async def _close_listeners(self, grace_s: float) -> None:
        closing = [server.close(grace_s) for server in reversed(self._http)]
        if self._grpc is not None:
            closing.append(self._grpc.close(grace_s))
        if self._front_ends is not None:
            closing.append(self._front_ends.close(grace_s))
        await asyncio.gather(*closing)
