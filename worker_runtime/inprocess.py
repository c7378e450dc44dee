"""``InferenceServer``: models of a Triton repository, called like functions; no network.

An event loop of its own runs in a thread, exactly as in the server process; callers may be any
number of threads, or coroutines of another loop.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from os import PathLike
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
import uvloop
from msgspec import Struct, field

from worker_runtime.backends.base import Array, ModelCall
from worker_runtime.config import parse
from worker_runtime.config.settings import Settings
from worker_runtime.core.engine import Engine
from worker_runtime.core.local import LocalCall, start_call, typed
from worker_runtime.errors import Internal, LoadFailed, RuntimeFault, Unavailable
from worker_runtime.observability.logging import LogControl
from worker_runtime.protocols.http.statistics import statistics_json
from worker_runtime.server import Server, prepared
from worker_runtime.types.repository import LoadOverride, ModelState
from worker_runtime.types.request import ParameterValue, Response, SequencePart

T = TypeVar("T")
Inputs = Mapping[str, Any]
_QUIET = {"allow-http": "false", "allow-grpc": "false", "allow-metrics": "false"}


class ModelResponse(Struct, frozen=True):
    """One answer: arrays by output name, in the model's order, and its parameters."""

    outputs: dict[str, Array]
    parameters: dict[str, ParameterValue] = field(default_factory=dict)


class InferenceServer:
    """Serves the models below ``model_repository`` (a path, or several) inside this process.

    Keyword arguments are the server's flags with underscores, so
    ``InferenceServer("models", model_control_mode="explicit", load_model=["resnet"])`` is
    ``--model-control-mode=explicit --load-model=resnet``. Listeners are off unless asked for
    (``allow_http=True, http_port=8000``). Use it as a context manager, or ``start`` and ``stop``.
    """

    def __init__(
        self,
        model_repository: str | PathLike[str] | Sequence[str | PathLike[str]],
        **flags: Any,
    ) -> None:
        """Raises UsageError for flags that the server does not know or cannot read."""
        self._settings = settings_of(model_repository, flags)
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._server: Server | None = None
        self._stopped: asyncio.Event | None = None

    # --- life --------------------------------------------------------------------------------

    def start(self) -> Self:
        """Load the models; blocking.

        Raises LoadFailed when one cannot be loaded and ``exit_on_error`` is on (the default), and
        OSError when a port that was asked for is taken.
        """
        if self._thread is not None:
            raise RuntimeError("the server is running already")
        ready: Future[None] = Future()
        self._thread = threading.Thread(
            target=self._run, args=(ready,), name="inference-server", daemon=True
        )
        self._thread.start()
        try:
            ready.result()
        except BaseException:
            self._thread.join()
            self._thread = None
            raise
        return self

    def stop(self) -> None:
        """Finish running requests (at most ``exit_timeout_secs``), unload everything; blocking."""
        thread, loop, stopped = self._thread, self._loop, self._stopped
        if thread is None or loop is None or stopped is None:
            return
        loop.call_soon_threadsafe(stopped.set)
        thread.join()
        self._thread = self._loop = self._server = self._stopped = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _run(self, ready: "Future[None]") -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            try:
                runner.run(self._serve(ready))
            except BaseException as error:  # why so wide: whoever called start must hear of it
                if not ready.done():
                    ready.set_exception(error)

    async def _serve(self, ready: "Future[None]") -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        server = self._server = prepared(self._settings, LogControl(self._settings.log))
        code = await server.run(self._stopped, lambda: ready.set_result(None))
        if not ready.done():
            reasons = [
                f"{row['name']}: {row.get('reason', '')}"
                for row in server.engine.index(failures=True)
                if row.get("state") != ModelState.READY
            ]
            text = "; ".join(reasons) or f"the server ended with code {code}"
            ready.set_exception(LoadFailed(text))

    # --- inference ---------------------------------------------------------------------------

    def infer(
        self, model: str, inputs: Inputs, outputs: Sequence[str] = (), **options: Any
    ) -> dict[str, Array]:
        """One answer's outputs by name. Arrays have the batch axis in front where models batch.

        ``options``: ``version``, ``request_id``, ``parameters``, ``timeout_us`` (in the queue),
        ``sequence_id`` with ``sequence_start`` and ``sequence_end``. Raises the RuntimeFault that
        a client would see as an error status.
        """
        return self.submit(model, inputs, outputs, **options).result().outputs

    async def infer_async(
        self, model: str, inputs: Inputs, outputs: Sequence[str] = (), **options: Any
    ) -> dict[str, Array]:
        """The same for coroutines, of any loop; cancelling it drops a waiting request."""
        future = self.submit(model, inputs, outputs, **options)
        return (await asyncio.wrap_future(future)).outputs

    def submit(
        self, model: str, inputs: Inputs, outputs: Sequence[str] = (), **options: Any
    ) -> "Future[ModelResponse]":
        """A future of the one answer; ``cancel`` drops the request while it waits."""
        call = _call(model, inputs, outputs, options, decoupled=False)
        return _Pending(self._running(), call).future

    def stream(
        self, model: str, inputs: Inputs, outputs: Sequence[str] = (), **options: Any
    ) -> Iterator[ModelResponse]:
        """Every answer as it comes; for decoupled models, though others may be asked so too.

        Leaving the loop early cancels the rest.
        """
        engine, loop = self._running()
        answers: SimpleQueue[tuple[Response | None, bool]] = SimpleQueue()
        call = _call(model, inputs, outputs, options, decoupled=True)
        started = self._call_in_loop(
            lambda: start_call(engine, call, lambda *answer: answers.put(answer))
        )
        final = False
        try:
            while not final:
                response, final = answers.get()
                if response is not None:
                    yield _shown(response)
        finally:
            if not final:
                loop.call_soon_threadsafe(started.cancel)

    async def stream_async(
        self, model: str, inputs: Inputs, outputs: Sequence[str] = (), **options: Any
    ) -> AsyncIterator[ModelResponse]:
        """The same for coroutines."""
        engine, loop = self._running()
        mine, answers = asyncio.get_running_loop(), asyncio.Queue[tuple[Response | None, bool]]()

        def answer(response: Response | None, final: bool) -> None:
            mine.call_soon_threadsafe(answers.put_nowait, (response, final))

        call = _call(model, inputs, outputs, options, decoupled=True)
        started = await asyncio.wrap_future(
            _in_loop(loop, lambda: start_call(engine, call, answer))
        )
        final = False
        try:
            while not final:
                response, final = await answers.get()
                if response is not None:
                    yield _shown(response)
        finally:
            if not final:
                loop.call_soon_threadsafe(started.cancel)

    # --- models ------------------------------------------------------------------------------

    def load(
        self,
        model: str,
        config: str | None = None,
        files: Mapping[str, bytes] | None = None,
    ) -> None:
        """Load or reload (explicit mode); ``config`` is JSON, ``files`` by path in the model."""
        engine, loop = self._running()
        override = LoadOverride(config, dict(files or {})) if config or files else None
        asyncio.run_coroutine_threadsafe(engine.load(model, override), loop).result()

    def unload(self, model: str, *, unload_dependents: bool = False) -> None:
        engine, loop = self._running()
        work = engine.unload(model, unload_dependents=unload_dependents)
        asyncio.run_coroutine_threadsafe(work, loop).result()

    def ready(self, model: str = "", version: str = "") -> bool:
        """Whether the server, or one model, can answer now."""
        if self._thread is None:
            return False
        engine, _ = self._running()

        def ask() -> bool:
            try:
                return engine.model_ready(model, version) if model else engine.ready
            except RuntimeFault:
                return False

        return self._call_in_loop(ask)

    def metadata(self, model: str = "", version: str = "") -> dict[str, Any]:
        """As over HTTP: of the server, or of one model."""
        engine, _ = self._running()
        return self._call_in_loop(
            lambda: engine.model_metadata(model, version) if model else engine.server_metadata()
        )

    def config(self, model: str, version: str = "") -> dict[str, Any]:
        """The model's complete configuration."""
        engine, _ = self._running()
        return self._call_in_loop(lambda: engine.model_config(model, version))

    def statistics(self, model: str = "", version: str = "") -> list[dict[str, Any]]:
        engine, _ = self._running()
        return self._call_in_loop(
            lambda: [statistics_json(one) for one in engine.statistics(model, version)]
        )

    def index(self) -> list[dict[str, Any]]:
        """Every model of the repositories with the state of its versions."""
        engine, _ = self._running()
        return self._call_in_loop(engine.index)

    def _running(self) -> tuple[Engine, asyncio.AbstractEventLoop]:
        if self._server is None or self._loop is None:
            raise Unavailable("the server is not running: use start() or a with statement")
        return self._server.engine, self._loop

    def _call_in_loop(self, work: Callable[[], T]) -> T:
        _, loop = self._running()
        return _in_loop(loop, work).result()


class _Pending:
    """One request on its way: a future for the caller, a sink's answer in the loop."""

    def __init__(self, running: tuple[Engine, asyncio.AbstractEventLoop], call: ModelCall) -> None:
        self._engine, self._loop = running
        self._call = call
        self._started: LocalCall | None = None
        self.future: Future[ModelResponse] = Future()
        self.future.add_done_callback(self._ended)
        self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        if self.future.cancelled():
            return
        try:
            self._started = start_call(self._engine, self._call, self._answer)
        except RuntimeFault as error:
            self._fail(error)

    def _answer(self, response: Response | None, final: bool) -> None:  # a callback
        if self.future.cancelled() or not final:
            return
        if response is None:
            self._fail(Internal("the model gave no response"))
        elif response.error is not None:
            self._fail(response.error)
        elif self.future.set_running_or_notify_cancel():
            self.future.set_result(_shown(response))

    def _fail(self, error: RuntimeFault) -> None:
        if not self.future.cancelled() and self.future.set_running_or_notify_cancel():
            self.future.set_exception(error)

    def _ended(self, future: "Future[ModelResponse]") -> None:
        if future.cancelled():
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._started is not None:
            self._started.cancel()


def settings_of(
    repositories: str | PathLike[str] | Sequence[str | PathLike[str]], flags: Mapping[str, Any]
) -> Settings:
    """Keyword arguments as the command line that they stand for. Raises UsageError."""
    several = [repositories] if isinstance(repositories, str | PathLike) else list(repositories)
    arguments = [f"--model-repository={path}" for path in several]
    given = {name.replace("_", "-"): value for name, value in flags.items()}
    for name, value in (_QUIET | given).items():
        values = value if isinstance(value, list | tuple) else [value]
        for one in values:
            arguments.append(f"--{name}={str(one).lower() if isinstance(one, bool) else one}")
    return parse(arguments)


def _call(
    model: str,
    inputs: Inputs,
    outputs: Sequence[str],
    options: dict[str, Any],
    *,
    decoupled: bool,
) -> ModelCall:
    """Raises TypeError for unknown options, InvalidArgument for arrays of unknown types."""
    left = dict(options)
    number, start = left.pop("sequence_id", 0), left.pop("sequence_start", False)
    end = left.pop("sequence_end", False)
    call = ModelCall(
        model=model,
        version=str(left.pop("version", "")),
        inputs=tuple(typed(name, np.asarray(value)) for name, value in inputs.items()),
        outputs=tuple(outputs),
        id=left.pop("request_id", ""),
        sequence=SequencePart(number, bool(start), bool(end)) if number else None,
        timeout_ns=int(left.pop("timeout_us", 0)) * 1000,
        parameters=left.pop("parameters", None),
        decoupled=decoupled,
    )
    if left:
        raise TypeError(f"unknown option '{next(iter(left))}'")
    return call


def _shown(response: Response) -> ModelResponse:
    if response.error is not None:
        raise response.error
    outputs = dict(zip(response.names, response.arrays, strict=True))
    return ModelResponse(outputs, response.parameters or {})


def _in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], T]) -> "Future[T]":
    """Run ``work`` in another thread's loop."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # why so wide: the caller is in another thread
            done.set_exception(error)

    loop.call_soon_threadsafe(run)
    return done
