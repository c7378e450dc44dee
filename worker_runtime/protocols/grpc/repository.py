"""Repository control: index, load, unload."""

from typing import Any

from worker_runtime.errors import InvalidArgument, Unsupported
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.grpc.simple import Query
from worker_runtime.types.listening import Category
from worker_runtime.types.repository import LoadOverride
from worker_runtime.types.triton_messages import service_pb2 as pb

_FILE = "file:"
_DEPENDENTS = "unload_dependents"


class Repository:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_name(self) -> dict[str, Query]:
        category = Category.MODEL_REPOSITORY
        return {
            "RepositoryIndex": Query(pb.RepositoryIndexRequest, category, self._index),
            "RepositoryModelLoad": Query(pb.RepositoryModelLoadRequest, category, self._load),
            "RepositoryModelUnload": Query(pb.RepositoryModelUnloadRequest, category, self._unload),
        }

    def _index(self, message: Any) -> Any:
        _refuse_name(message)
        rows = self._engine.index(ready_only=message.ready)
        reply = pb.RepositoryIndexResponse()
        for row in rows:
            reply.models.add(**row)
        return reply

    async def _load(self, message: Any) -> Any:
        _refuse_name(message)
        await self._engine.load(message.model_name, _override(message.parameters))
        return pb.RepositoryModelLoadResponse()

    async def _unload(self, message: Any) -> Any:
        _refuse_name(message)
        dependents = False
        if _DEPENDENTS in message.parameters:
            value = message.parameters[_DEPENDENTS]
            if value.WhichOneof("parameter_choice") != "bool_param":
                raise InvalidArgument(
                    f"invalid value type for '{_DEPENDENTS}' parameter, expected bool_param."
                )
            dependents = value.bool_param
        await self._engine.unload(message.model_name, unload_dependents=dependents)
        return pb.RepositoryModelUnloadResponse()


def _refuse_name(message: Any) -> None:
    if message.repository_name:
        raise Unsupported("'repository_name' specification is not supported")


def _override(parameters: Any) -> LoadOverride | None:
    """What a load request brings with it. Raises InvalidArgument."""
    if not parameters:
        return None
    config: str | None = None
    files: dict[str, bytes] = {}
    for key, value in parameters.items():
        if key == "config":
            config = _load_parameter(key, value, "string_param")
        elif key.startswith(_FILE):
            files[key[len(_FILE) :]] = _load_parameter(key, value, "bytes_param")
        else:
            raise InvalidArgument(f"unrecognized load parameter '{key}'.")
    return LoadOverride(config, files)


def _load_parameter(key: str, value: Any, kind: str) -> Any:
    if value.WhichOneof("parameter_choice") != kind:
        raise InvalidArgument(f"invalid value type for load parameter '{key}', expected {kind}.")
    return getattr(value, kind)
