"""Calls from inside the process: arrays in, responses out, through the engine of all others.

Models that call others (BLS) and programs that embed the server come this way. Everything runs in
the event loop. What else models may ask of the server is here, too: loads and metrics.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import numpy as np

from worker_runtime.backends.base import Array, ModelCall, ModelMetrics
from worker_runtime.core.engine import Engine
from worker_runtime.errors import (
    Cancelled,
    Internal,
    InvalidArgument,
    NotFound,
    RuntimeFault,
    Unavailable,
    Unsupported,
)
from worker_runtime.types.repository import LoadOverride
from worker_runtime.types.request import Arrays, InferRequest, Response
from worker_runtime.types.tensor import BY_DTYPE

Answer = Callable[[Response | None, bool], None]
_BFLOAT16 = "bfloat16"  # numpy has none of its own: this is what ml_dtypes calls it


class LocalCall:
    """The sink of one such request. ``answer`` gets each response, the last time with True."""

    __slots__ = ("_answer", "_engine", "_single", "request")

    def __init__(self, engine: Engine, answer: Answer, *, single: bool) -> None:
        self._engine = engine
        self._answer = answer
        self._single = single
        self.request: InferRequest | None = None

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self.request = None
        self._answer(_with_types(request, Response(request.plan.outputs, outputs)), True)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if final:
            self.request = None
        elif self._single:
            response = Response(error=Internal("expected a single response, the model gives more"))
        self._answer(response and _with_types(request, response), final)

    def fail(self, request: InferRequest, error: Exception) -> None:  # noqa: ARG002
        self.request = None
        fault = error if isinstance(error, RuntimeFault) else Internal(str(error))
        self._answer(Response(error=fault), True)

    def cancel(self) -> None:
        """Nobody waits for the rest."""
        request = self.request
        if request is not None:
            self._engine.cancel(request)


def _with_types(request: InferRequest, response: Response) -> Response:
    """``response`` with the data types of its outputs: as configured, unless numpy contradicts."""
    configured = {spec.name: spec.datatype for spec in request.model.signature.outputs}
    response.types = tuple(
        configured[name].name
        if name in configured and configured[name].dtype == array.dtype
        else BY_DTYPE[array.dtype].name
        for name, array in zip(response.names, response.arrays, strict=True)
    )
    return response


def start_call(engine: Engine, call: ModelCall, answer: Answer) -> LocalCall:
    """Submit ``call``. Raises a RuntimeFault when it is refused at once."""
    model = engine.resolve(call.model, call.version)
    if model.decoupled and not call.decoupled:
        raise Unsupported(
            f"Model {call.model} is using the decoupled. The current BLS request call doesn't "
            "support models using the decoupled transaction policy. Please use 'decoupled=True' "
            "argument to the 'exec' or 'async_exec' calls for decoupled models.'"
        )
    forms = tuple([(name, datatype, array.shape) for name, datatype, array in call.inputs])
    plan = engine.plan(model, call.id, forms, call.outputs or None)
    arrays = [array for _, _, array in call.inputs]
    if plan.order is not None:
        arrays = [arrays[i] for i in plan.order]
    sink = LocalCall(engine, answer, single=not call.decoupled)
    request = InferRequest(
        plan=plan,
        inputs=arrays,
        sink=sink,
        id=call.id,
        timeout_ns=call.timeout_ns,
        sequence=call.sequence,
        parameters=dict(call.parameters) if call.parameters else None,
        watched=call.watch,
    )
    sink.request = request
    if call.trace is not None:
        request.model = model
        call.trace.follow(request)
    try:
        engine.submit(model, request)
    except RuntimeFault:
        sink.request = None
        raise
    return sink


def typed(name: str, array: Array) -> tuple[str, str, Array]:
    """An input of a call from a numpy array; texts become BYTES. Raises InvalidArgument."""
    if array.dtype.kind in "US":
        array = array.astype(object)
    if array.dtype.name == _BFLOAT16:
        return name, "BF16", np.ascontiguousarray(array).view("<u2").reshape(array.shape)
    datatype = BY_DTYPE.get(array.dtype)
    if datatype is None:
        known = ", ".join(str(dtype) for dtype in BY_DTYPE)
        raise InvalidArgument(
            f"input '{name}' has the numpy type {array.dtype}, expected one of {known}"
        )
    if array.dtype == object:
        flat = [item if isinstance(item, bytes) else str(item).encode() for item in array.flat]
        texts = np.empty(len(flat), dtype=object)
        texts[:] = flat
        array = texts.reshape(array.shape)
    return name, datatype.name, np.ascontiguousarray(array).reshape(array.shape)


def refused(model: str, why: RuntimeFault) -> Internal:
    """What a model is told about a call that could not even begin."""
    text = str(why)
    if isinstance(why, NotFound | Unavailable):
        text = f"Failed for execute the inference request. Model '{model}' is not ready."
    return Internal(f"Model {model} - Error when running inference: {text}")


def counted(engine: Engine, call: ModelCall, answer: Answer, begun_ns: int) -> Answer:
    """``answer`` that counts the call with its caller, too, once it has ended.

    What the caller gave up is no failure. Calls of a model that is not READY are not counted: it is
    being loaded or unloaded, and has no statistics then.
    """
    if call.caller is None:
        return answer
    try:
        statistics = engine.resolve(*call.caller).statistics
    except RuntimeFault:
        return answer
    failed = False

    def answered(response: Response | None, final: bool) -> None:
        nonlocal failed
        error = None if response is None else response.error
        failed = failed or (error is not None and not isinstance(error, Cancelled))
        if final:
            took_ns, now_ms = time.monotonic_ns() - begun_ns, int(time.time() * 1000)
            statistics.called(call.model, failed=failed, duration_ns=took_ns, now_ms=now_ms)
        answer(response, final)

    return answered


class ModelHost:
    """A ``Host``. Models are loaded while the engine is still being built: it is bound later."""

    def __init__(self, metrics: ModelMetrics) -> None:
        self.metrics = metrics
        self._engine: Engine | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def bind(self, engine: Engine, loop: asyncio.AbstractEventLoop) -> None:
        self._engine = engine
        self._loop = loop

    def infer(self, call: ModelCall, answer: Answer) -> Callable[[], None]:
        engine, loop = self._bound()
        started: list[LocalCall] = []
        begun_ns = time.monotonic_ns()

        def start() -> None:
            told = counted(engine, call, answer, begun_ns)
            try:
                started.append(start_call(engine, call, told))
            except RuntimeFault as error:
                told(Response(error=refused(call.model, error)), True)

        def cancel() -> None:
            for one in started:
                one.cancel()

        def cancel_soon() -> None:
            loop.call_soon_threadsafe(cancel)

        loop.call_soon_threadsafe(start)
        return cancel_soon

    def model_ready(self, name: str, version: str) -> bool:
        engine, _ = self._bound()
        try:
            return engine.model_ready(name, version)
        except RuntimeFault:
            return False

    def load_model(self, name: str, config: str, files: Mapping[str, bytes]) -> None:
        engine, _ = self._bound()
        given = config or files
        override = LoadOverride(config=config or None, files=dict(files)) if given else None
        self._wait(engine.load(name, override))

    def unload_model(self, name: str, *, dependents: bool) -> None:
        engine, _ = self._bound()
        self._wait(engine.unload(name, unload_dependents=dependents))

    def _wait(self, work: Coroutine[Any, Any, None]) -> None:
        _, loop = self._bound()
        asyncio.run_coroutine_threadsafe(work, loop).result()

    def _bound(self) -> tuple[Engine, asyncio.AbstractEventLoop]:
        if self._engine is None or self._loop is None:
            raise Unavailable("the server is starting: models cannot call others yet")
        return self._engine, self._loop
