"""What models may ask of the server that runs them: calls to other models, loads, metrics."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from worker_runtime.backends.base import ModelCall, ModelMetrics
from worker_runtime.core.engine import Engine
from worker_runtime.core.local import Answer, LocalCall, start_call
from worker_runtime.errors import Internal, NotFound, RuntimeFault, Unavailable
from worker_runtime.types.repository import LoadOverride
from worker_runtime.types.request import Response


def refused(model: str, why: RuntimeFault) -> Internal:
    """What a model is told about a call that could not even begin."""
    text = str(why)
    if isinstance(why, NotFound | Unavailable):
        text = f"Failed for execute the inference request. Model '{model}' is not ready."
    return Internal(f"Model {model} - Error when running inference: {text}")


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

        def start() -> None:
            try:
                started.append(start_call(engine, call, answer))
            except RuntimeFault as error:
                answer(Response(error=refused(call.model, error)), True)

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
