"""The HTTP application: routes to the engine. One instance serves every connection."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from worker_runtime.core.engine import Engine
from worker_runtime.errors import InvalidArgument, RuntimeFault, Unsupported
from worker_runtime.protocols.http.compression import decompress
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.decode import decode
from worker_runtime.protocols.http.encode import Answer, encode
from worker_runtime.protocols.http.errors import HttpRefusal
from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.protocols.http.routes import Route, match
from worker_runtime.protocols.http.statistics import statistics_json
from worker_runtime.types.override import LoadOverride
from worker_runtime.types.request import Arrays, InferRequest

logger = logging.getLogger(__name__)

Handler = Callable[[Connection, Route, bytes], None]


class HttpApp:
    """``max_input_bytes`` bounds JSON parts, compressed and chunked bodies."""

    def __init__(self, engine: Engine, max_input_bytes: int = 64 * 1024 * 1024) -> None:
        self.heads = HeadCache()
        self.max_chunked_bytes = max_input_bytes
        self.connections: set[Connection] = set()
        self._engine = engine
        self._limit = max_input_bytes
        self._tasks: set[asyncio.Task[None]] = set()
        self._handlers: dict[str, Handler] = {
            "live": self._live,
            "ready": self._ready,
            "server_metadata": self._server_metadata,
            "model_metadata": self._model_metadata,
            "model_ready": self._model_ready,
            "model_config": self._model_config,
            "statistics": self._statistics,
            "index": self._index,
            "load": self._load,
            "unload": self._unload,
            "not_served": self._not_served,
        }

    def handle(self, connection: Connection, head: Head, body: Any) -> None:
        """Answer one request, at once or later; never raises for what a client can cause."""
        route: Route | None = head.route
        if route is None:
            route = head.route = match(head.segments)
        try:
            if route is None:
                connection.reply(404, b'{"error":"Not Found"}')
            elif head.method not in route.verbs:
                self._wrong_method(connection, route)
            elif route.kind == "infer" or route.kind == "score":
                self._infer(connection, head, route, body)
            else:
                self._handlers[route.kind](connection, route, bytes(body))
        except (RuntimeFault, HttpRefusal) as error:
            connection.fail_with(error)
        except Exception as error:
            logger.exception("HTTP %s %s failed", head.method, head.path)
            connection.fail_with(error)

    def encode(self, head: Head, request: InferRequest, outputs: Arrays) -> Answer:
        return encode(head, request, outputs)

    def cancelled(self, request: InferRequest) -> None:
        self._engine.cancel(request)

    def _infer(self, connection: Connection, head: Head, route: Route, body: Any) -> None:
        engine = self._engine
        model = (
            engine.resolve(route.model, route.version)
            if route.kind == "infer"
            else engine.only_model()
        )
        if head.content_encoding and head.content_encoding != "identity":
            body = decompress(body, head.content_encoding, self._limit)
        if (len(body) if head.json_length < 0 else head.json_length) > self._limit:
            raise HttpRefusal(
                413,
                f"request JSON exceeds the maximum of {self._limit} bytes: use binary tensors, "
                "or raise --http-max-input-size",
            )
        request = decode(engine, model, head, body, connection)
        connection.request = request
        try:
            engine.submit(model, request)
        except RuntimeFault:
            connection.request = None
            raise

    # --- everything that is not inference -----------------------------------------------------

    def _wrong_method(self, connection: Connection, route: Route) -> None:
        allowed = b"Allow: %s\r\n" % ", ".join(route.verbs).encode()
        connection.reply(405, b'{"error":"Method Not Allowed"}', headers=allowed)

    def _live(self, connection: Connection, _route: Route, _body: bytes) -> None:
        connection.reply(200 if self._engine.live else 503)

    def _ready(self, connection: Connection, _route: Route, _body: bytes) -> None:
        not_ready = 503 if self._engine.stopping else 400
        connection.reply(200 if self._engine.ready else not_ready)

    def _server_metadata(self, connection: Connection, _route: Route, _body: bytes) -> None:
        connection.reply(200, msgspec.json.encode(self._engine.server_metadata()))

    def _model_metadata(self, connection: Connection, route: Route, _body: bytes) -> None:
        data = self._engine.model_metadata(route.model, route.version)
        connection.reply(200, msgspec.json.encode(data))

    def _model_ready(self, connection: Connection, route: Route, _body: bytes) -> None:
        ready = self._engine.model_ready(route.model, route.version)
        if ready:
            connection.reply(200)
        else:
            connection.reply(400, b'{"error":"Model version not ready"}')

    def _model_config(self, connection: Connection, route: Route, _body: bytes) -> None:
        data = self._engine.model_config(route.model, route.version)
        connection.reply(200, msgspec.json.encode(data))

    def _statistics(self, connection: Connection, route: Route, _body: bytes) -> None:
        models = self._engine.statistics(route.model, route.version)
        data = {"model_stats": [statistics_json(model) for model in models]}
        connection.reply(200, msgspec.json.encode(data))

    def _index(self, connection: Connection, _route: Route, body: bytes) -> None:
        ready = _object(body).get("ready", False)
        if not isinstance(ready, bool):
            raise InvalidArgument("'ready' must be a boolean")
        connection.reply(200, msgspec.json.encode(self._engine.index(ready_only=ready)))

    def _load(self, connection: Connection, route: Route, body: bytes) -> None:
        override = _override(_object(body).get("parameters") or {})
        self._later(connection, self._engine.load(route.model, override))

    def _unload(self, connection: Connection, route: Route, body: bytes) -> None:
        parameters = _object(body).get("parameters") or {}
        if not isinstance(parameters.get("unload_dependents", False), bool):
            raise InvalidArgument("'unload_dependents' must be a boolean")
        dependents = parameters.get("unload_dependents", False)
        self._later(connection, self._engine.unload(route.model, dependents))

    def _not_served(self, _connection: Connection, route: Route, _body: bytes) -> None:
        raise Unsupported(f"{route.model} is not supported")

    def _later(self, connection: Connection, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` and answer when it is done."""
        task = asyncio.get_running_loop().create_task(self._answer_after(connection, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_after(self, connection: Connection, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            if not isinstance(error, RuntimeFault):
                logger.exception("a repository call failed")
            connection.fail_with(error)
        else:
            connection.reply(200)


def _object(body: bytes) -> dict[str, Any]:
    """An optional JSON object. Raises InvalidArgument."""
    if not body.strip():
        return {}
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"failed to parse the request JSON buffer: {error}") from error


def _override(parameters: dict[str, Any]) -> LoadOverride:
    config: str | None = None
    for key, value in parameters.items():
        if key.startswith("file:"):
            raise Unsupported("loading model files through the request is not supported")
        if key != "config":
            raise InvalidArgument(f"unrecognized load parameter '{key}'")
        if not isinstance(value, str):
            raise InvalidArgument("parameter 'config' must be a string holding JSON")
        config = value
    return LoadOverride(config)
