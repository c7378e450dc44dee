"""Everything that is not inference: health, metadata, statistics, the repository, settings."""

import asyncio
import base64
import binascii
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

import msgspec

from worker_runtime.errors import Internal, InvalidArgument, RuntimeFault, Unsupported
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.documents import (
    Long,
    base64_in_slices,
    large_document,
    members_in_slices,
    text_in_slices,
)
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.json_parser import read
from worker_runtime.protocols.http.json_values import (
    BadJson,
    as_bool,
    as_string,
    as_uint,
    explained,
    member,
    members,
    optional,
)
from worker_runtime.protocols.http.limits import (
    LARGE_JSON,
    check_document,
    check_small_document,
)
from worker_runtime.protocols.http.routes import Route
from worker_runtime.protocols.http.statistics import statistics_body
from worker_runtime.protocols.http.tensors import encode_response
from worker_runtime.protocols.slices import Slices, Steps, in_turns
from worker_runtime.types.repository import LoadOverride

logger = logging.getLogger(__name__)
_TEXT = b"text/plain"
_HANDLE_BYTES = 64
_FILE = "file:"

Handler = Callable[[Connection, Head, Route, Any], None]


class Admin:
    """``handlers`` are its routes by kind. ``limit`` bounds request bodies, in bytes."""

    def __init__(self, engine: Engine, limit: int) -> None:
        self._engine = engine
        self._limit = limit
        self._slices = Slices()
        self._tasks: set[asyncio.Task[None]] = set()
        self.handlers: dict[str, Handler] = {
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
            "trace": self._trace,
            "logging": self._logging,
            "system_status": self._system_status,
            "system_register": self._system_register,
            "system_unregister": self._system_unregister,
            "cuda_status": self._cuda_status,
            "cuda_register": self._cuda_register,
            "cuda_unregister": self._cuda_unregister,
        }

    # --- health and metadata -----------------------------------------------------------------

    def _live(self, connection: Connection, _head: Head, _route: Route, _body: Any) -> None:
        self._health(connection, fine=self._engine.live)

    def _ready(self, connection: Connection, _head: Head, _route: Route, _body: Any) -> None:
        self._health(connection, fine=self._engine.ready)

    def _health(self, connection: Connection, *, fine: bool) -> None:
        ill = 503 if self._engine.stopping or self._engine.draining else 400
        connection.reply(200 if fine else ill, content_type=_TEXT)

    def _server_metadata(self, connection: Connection, _h: Head, _route: Route, _b: Any) -> None:
        _show(connection, self._engine.server_metadata())

    def _model_metadata(self, connection: Connection, _head: Head, route: Route, _b: Any) -> None:
        _show(connection, self._engine.model_metadata(route.name, route.version))

    def _model_ready(self, connection: Connection, _head: Head, route: Route, _b: Any) -> None:
        if self._engine.model_ready(route.name, route.version):
            connection.reply(200, content_type=_TEXT)
        else:
            connection.reply(400, b'{"error":"Model version not ready"}')

    def _model_config(self, connection: Connection, _head: Head, route: Route, _b: Any) -> None:
        _show(connection, self._engine.model_config(route.name, route.version))

    def _statistics(self, connection: Connection, _head: Head, route: Route, _b: Any) -> None:
        models = self._engine.statistics(route.name, route.version)
        self._slices.run(
            statistics_body(models),
            wanted=lambda: not connection.closed,
            done=lambda text: connection.reply(200, text),
            failed=connection.fail_with,
        )

    # --- repository --------------------------------------------------------------------------

    def _index(self, connection: Connection, _head: Head, _route: Route, body: Any) -> None:
        document = self._document(body) if body else None
        ready = as_bool(optional(document, "ready", absent=False))
        failures = as_bool(optional(document, "failures", absent=False))  # ours: see the engine
        _show(connection, self._engine.index(ready_only=ready, failures=failures))

    def _load(self, connection: Connection, _head: Head, route: Route, body: Any) -> None:
        _refuse_repository(route)
        if len(body) >= LARGE_JSON:
            check_document(len(body), self._limit)
            self._later(connection, self._load_large(route.name, bytes(body)))
            return
        override = load_override(self._document(body) if body else None)
        self._later(connection, self._engine.load(route.name, override or None))

    async def _load_large(self, name: str, body: bytes) -> None:
        override = await in_turns(large_load_override(body))
        await self._engine.load(name, override or None)

    def _unload(self, connection: Connection, _head: Head, route: Route, body: Any) -> None:
        _refuse_repository(route)
        document = self._document(body) if body else None
        dependents = optional(optional(document, "parameters"), "unload_dependents", absent=False)
        try:
            dependents = as_bool(dependents)
        except BadJson as error:
            raise explained("Unable to parse 'unload_dependents'", error) from None
        self._later(connection, self._engine.unload(route.name, dependents))

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

    # --- settings ----------------------------------------------------------------------------

    def _trace(self, connection: Connection, head: Head, route: Route, body: Any) -> None:
        if head.method == "GET":
            _show(connection, self._engine.trace_settings(route.name))
            return
        self._engine.trace_settings(route.name)  # an unknown model is told before a bad body
        changes = _object(self._document(body))
        _show(connection, _typed(self._engine.update_trace_settings, route.name, changes))

    def _logging(self, connection: Connection, head: Head, _route: Route, body: Any) -> None:
        if head.method == "GET":
            _show(connection, self._engine.log_settings())
            return
        changes = _object(self._document(body))
        changes = {name: value for name, value in changes.items() if value is not None}
        _show(connection, _typed(self._engine.update_log_settings, changes))

    # --- shared memory -----------------------------------------------------------------------

    def _system_status(self, connection: Connection, _head: Head, route: Route, _b: Any) -> None:
        _show(connection, self._engine.shared_memory.system_status(route.name))

    def _cuda_status(self, connection: Connection, _head: Head, route: Route, _b: Any) -> None:
        _show(connection, self._engine.shared_memory.cuda_status(route.name))

    def _system_register(self, connection: Connection, _h: Head, route: Route, body: Any) -> None:
        memory = self._engine.shared_memory
        memory.check_enabled()
        _need_region(route, "system")
        document = self._document(body)
        key = as_string(_field(document, "key"))
        offset = as_uint(optional(document, "offset", 0))
        memory.register_system(route.name, key, offset, as_uint(_field(document, "byte_size")))
        connection.reply(200)

    def _cuda_register(self, connection: Connection, _h: Head, route: Route, body: Any) -> None:
        memory = self._engine.shared_memory
        memory.check_enabled()
        _need_region(route, "cuda")
        document = self._document(body)
        text = as_string(member(_field(document, "raw_handle"), "b64"))
        byte_size = as_uint(member(document, "byte_size"))
        device_id = as_uint(member(document, "device_id"))
        handle = decode_base64(text, "raw_handle")
        if len(handle) != _HANDLE_BYTES:
            raise InvalidArgument("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t")
        memory.register_cuda(route.name, handle, device_id, byte_size)
        connection.reply(200)

    def _system_unregister(self, connection: Connection, _h: Head, route: Route, _b: Any) -> None:
        self._engine.shared_memory.unregister_system(route.name)
        connection.reply(200)

    def _cuda_unregister(self, connection: Connection, _h: Head, route: Route, _b: Any) -> None:
        self._engine.shared_memory.unregister_cuda(route.name)
        connection.reply(200)

    def _document(self, body: Any) -> Any:
        """The JSON in a body. Raises BadJson and InvalidArgument."""
        check_document(len(body), self._limit)
        check_small_document(len(body))
        return read(bytes(body))


def _show(connection: Connection, data: Any) -> None:
    connection.reply(200, encode_response(data, finite=True))


def _object(document: Any) -> dict[str, Any]:
    """Its members; what is no object has none."""
    return document if isinstance(document, dict) else {}


def _field(document: Any, name: str) -> Any:
    found = optional(document, name, msgspec.UNSET)
    if found is msgspec.UNSET:
        raise InvalidArgument(f"Shared memory register request has no '{name}' field")
    return found


def _need_region(route: Route, kind: str) -> None:
    if not route.name:
        raise InvalidArgument(f"'region name' is necessary to register {kind} shared memory region")


def _refuse_repository(route: Route) -> None:
    if route.repository:
        raise Unsupported("'repository_name' specification is not supported")


def _typed(update: Any, *arguments: Any) -> Any:
    """A value of the wrong type is the client's mistake, whoever notices it."""
    try:
        return update(*arguments)
    except Internal as error:
        if str(error).startswith("attempt to access JSON"):
            raise BadJson(str(error)) from error
        raise


def load_override(document: Any) -> LoadOverride:
    """What a load request brings with it. Raises BadJson, InvalidArgument, Internal."""
    parameters = optional(document, "parameters", msgspec.UNSET)
    if parameters is msgspec.UNSET:
        return LoadOverride()
    config: str | None = None
    files: dict[str, bytes] = {}
    for key, value in members(parameters).items():
        text = as_string(value)
        if _names_file(key):
            files[key.removeprefix(_FILE)] = decode_base64(text, key)
        else:
            config = text
    return LoadOverride(config, files)


def large_load_override(body: bytes) -> Steps[LoadOverride]:
    """The same of a large document."""
    document = yield from large_document(body)
    parameters = dict(document).get("parameters", msgspec.UNSET)
    if parameters is msgspec.UNSET:
        return LoadOverride()
    given: Iterable[tuple[str, Any]]
    if isinstance(parameters, Long):
        given = yield from members_in_slices(parameters.raw)
    else:
        given = members(parameters).items()
    config: str | None = None
    files: dict[str, bytes] = {}
    for key, value in dict(given).items():
        text = yield from text_in_slices(value)
        if _names_file(key):
            files[key.removeprefix(_FILE)] = yield from base64_in_slices(text, key)
        else:
            config = text.decode("utf-8", "surrogateescape")
    return LoadOverride(config, files)


def _names_file(key: str) -> bool:
    """Else it is the configuration. Raises Internal for what is neither."""
    if key != "config" and not key.startswith(_FILE):
        raise Internal("unexpected error on creating Triton parameter")
    return key != "config"


def decode_base64(text: str, name: str) -> bytes:
    """Padding may be missing, and what is no base64 is passed over. Raises InvalidArgument."""
    raw = text.encode("utf-8", "surrogateescape")
    try:
        return base64.b64decode(raw + b"=" * (-len(raw) % 4))
    except binascii.Error as error:
        raise InvalidArgument(f"failed to decode base64 of '{name}': {error}") from error
