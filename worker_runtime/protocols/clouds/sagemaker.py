"""SageMaker: one model behind /invocations, or many that the platform loads and unloads.

https://docs.aws.amazon.com/sagemaker/latest/dg/mms-container-apis.html is the contract of many.
"""

import asyncio
import logging
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from worker_runtime.errors import InvalidArgument, NotFound, RuntimeFault
from worker_runtime.protocols.clouds.app import CloudApp, header, redirect, refuse
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.json_parser import read
from worker_runtime.protocols.http.json_values import as_string, optional
from worker_runtime.protocols.http.limits import check_small_document
from worker_runtime.protocols.http.routes import Route, match
from worker_runtime.types.listening import Category, Restrictions, SageMakerOptions
from worker_runtime.types.repository import ModelState

logger = logging.getLogger(__name__)
_TARGET = "x-amzn-sagemaker-target-model"
_MODELS = re.compile(r"/models/?([^/]+)?(/invoke)?")
_UNLOAD_S, _LOOK_S = 350, 0.1  # SageMaker waits for 360 s
_CONFIG = "config.pbtxt"
_ENSEMBLE = re.compile(r'platform:\s*"ensemble"')
_FORBIDDEN = ("/dev/", "/proc/", "/sys/")


class _Loaded(Struct, frozen=True):
    """``target`` is the name that the model has here; the platform's own is another one."""

    repository: Path
    target: str


class SageMakerApp(CloudApp):
    def __init__(
        self,
        engine: Engine,
        options: SageMakerOptions,
        max_input_bytes: int,
        restrictions: Restrictions,
        max_body_bytes: int,
    ) -> None:
        super().__init__(
            engine, "sagemaker", self._find, max_input_bytes, restrictions, max_body_bytes
        )
        self._paths = {
            "/ping": f"/v2/health/{options.ping}",
            "/invocations": f"/v2/models/{quote(options.model, safe='')}/{options.inference}",
        }
        self._loaded: dict[str, _Loaded] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._handlers |= {
            "list_models": self._list,
            "get_model": self._get,
            "load_model": self._load,
            "unload_model": self._unload,
        }

    def _find(self, head: Head) -> None:
        path = self._paths.get(head.path)
        found = _MODELS.fullmatch(head.path)
        if path is not None:
            route = match(path)
            assert route is not None, path  # noqa: S101 # of a path of ours
            redirect(head, path, route)
        elif found is not None:
            head.route = _route(head, found[1] or "", invoke=bool(found[2]))
        if head.route is None:
            refuse(head)

    # --- many models -------------------------------------------------------------------------

    def _list(self, connection: Connection, _head: Head, _route: Route, _body: Any) -> None:
        ready = {row["name"] for row in self._engine.index(ready_only=True)}
        rows = [_row(n, model) for n, model in self._loaded.items() if model.target in ready]
        connection.reply(200, msgspec.json.encode({"models": rows}))

    def _get(self, connection: Connection, _head: Head, route: Route, _body: Any) -> None:
        connection.reply(200, msgspec.json.encode(_row(route.name, self._known(route.name))))

    def _load(self, connection: Connection, head: Head, _route: Route, body: Any) -> None:
        check_small_document(len(body))
        document = read(bytes(body))
        name = as_string(optional(document, "model_name", ""))
        url = as_string(optional(document, "url", ""))
        self._later(connection, self._bring(name, header(head, _TARGET) or name, url))

    async def _bring(self, name: str, target: str, url: str) -> None:
        if not name or not url:
            raise InvalidArgument("load request expects 'model_name' and 'url'")
        repository, folder = await asyncio.to_thread(find_model, url)
        logger.info("Loading SageMaker TargetModel: %s", target)
        self._engine.register_repository(repository, {folder: target})
        try:
            await self._engine.load(target)
        except Exception:
            # why unload: parts of an ensemble may serve.
            await self._engine.unload(target, unload_dependents=True)
            self._engine.unregister_repository(repository)
            raise
        self._loaded[name] = _Loaded(repository, target)

    def _unload(self, connection: Connection, _head: Head, route: Route, _body: Any) -> None:
        self._later(connection, self._end(route.name, self._known(route.name)))

    async def _end(self, name: str, model: _Loaded) -> None:
        """Returns when its memory is free again, so that the platform can fill it."""
        logger.info("Unloading SageMaker TargetModel: %s", model.target)
        await self._engine.unload(model.target, unload_dependents=True)
        try:
            async with asyncio.timeout(_UNLOAD_S):
                while self._still_there(model.target):  # noqa: ASYNC110 # nobody tells
                    await asyncio.sleep(_LOOK_S)
        except TimeoutError:
            logger.error("unloading '%s' takes longer than %d s", model.target, _UNLOAD_S)
        if self._loaded.pop(name, None) is not None:
            self._engine.unregister_repository(model.repository)

    def _still_there(self, target: str) -> bool:
        rows = self._engine.index()
        return any(
            row["name"] == target and row.get("state") == ModelState.UNLOADING for row in rows
        )

    def _known(self, name: str) -> _Loaded:
        found = self._loaded.get(name)
        if found is None:
            raise NotFound(f"model '{name}' is not loaded")
        return found

    def _later(self, connection: Connection, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(_answer(connection, work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _route(head: Head, name: str, *, invoke: bool) -> Route | None:
    """Of a path that begins with /models; None: there is none."""
    kind = {("GET", False): "get_model", ("POST", False): "load_model"}.get((head.method, invoke))
    if head.method == "POST" and invoke and name:
        target = header(head, _TARGET) or name
        return Route("infer", ("POST",), Category.INFERENCE, name=target)
    if head.method == "DELETE" and name and not invoke:
        kind = "unload_model"
    if kind == "get_model" and not name:
        kind = "list_models"
    verbs = (head.method,)
    return Route(kind, verbs, Category.MODEL_REPOSITORY, name=name) if kind else None


def _row(name: str, model: _Loaded) -> dict[str, str]:
    return {"modelName": name, "modelUrl": str(model.repository)}


async def _answer(connection: Connection, work: Any) -> None:
    try:
        await work
    except Exception as error:
        if not isinstance(error, RuntimeFault):
            logger.exception("a call of SageMaker failed")
        connection.fail_with(error)
    else:
        connection.reply(200)


def find_model(url: str) -> tuple[Path, str]:
    """The repository that ``url`` is or lies in, and the model's folder there. Blocking.

    A folder with a configuration is a model. Else it is a repository: of several models the
    ensemble is meant, or the last one. Raises InvalidArgument.
    """
    root = Path(os.path.abspath(url))  # noqa: PTH100 # what is a link may stay one
    if f"{root}/".startswith(_FORBIDDEN):
        raise InvalidArgument(f"'url' is '{url}': it cannot be below /dev, /proc or /sys")
    if (root / _CONFIG).is_file():
        return root.parent, root.name
    try:
        folders = sorted(item for item in root.iterdir() if item.is_dir())
    except OSError as error:
        raise InvalidArgument(f"'url' is '{url}', which cannot be read: {error}") from error
    if not folders:
        raise InvalidArgument(f"'url' is '{url}': there is no model")
    ensembles = [folder for folder in folders if _is_ensemble(folder / _CONFIG)]
    return root, (ensembles or folders)[-1].name


def _is_ensemble(config: Path) -> bool:
    return config.is_file() and _ENSEMBLE.search(config.read_text(errors="replace")) is not None
