"""The RPCs: each translates, asks the engine, and translates back."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

from grpc_health.v1 import health_pb2, health_pb2_grpc
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from worker_runtime.core.engine import Engine
from worker_runtime.errors import InvalidArgument, RuntimeFault, Unsupported
from worker_runtime.protocols.grpc.calls import answer, start
from worker_runtime.protocols.grpc.errors import code_of
from worker_runtime.protocols.grpc.statistics import statistics_message
from worker_runtime.protocols.grpc.stream import serve_stream
from worker_runtime.types.override import LoadOverride

logger = logging.getLogger(__name__)
T = TypeVar("T")


class InferenceServicer(service_pb2_grpc.GRPCInferenceServiceServicer):  # type: ignore[misc] # tritonclient has no types
    """RPCs that are not overridden here answer UNIMPLEMENTED by themselves."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()

    async def ModelInfer(self, request: Any, context: Any) -> Any:
        engine = self._engine
        try:
            return await answer(engine, start(engine, self._loop, request))
        except RuntimeFault as error:
            await context.abort(code_of(error), str(error))

    async def ModelStreamInfer(
        self, request: AsyncIterator[Any], context: Any
    ) -> AsyncIterator[Any]:
        async for reply in serve_stream(self._engine, request, context):
            yield reply

    async def ServerLive(self, _request: Any, _context: Any) -> Any:
        return pb.ServerLiveResponse(live=self._engine.live)

    async def ServerReady(self, _request: Any, _context: Any) -> Any:
        return pb.ServerReadyResponse(ready=self._engine.ready)

    async def ModelReady(self, request: Any, context: Any) -> Any:
        ready = await self._ask(
            context, lambda: self._engine.model_ready(request.name, request.version)
        )
        return pb.ModelReadyResponse(ready=ready)

    async def ServerMetadata(self, _request: Any, _context: Any) -> Any:
        return pb.ServerMetadataResponse(**self._engine.server_metadata())

    async def ModelMetadata(self, request: Any, context: Any) -> Any:
        data = await self._ask(
            context, lambda: self._engine.model_metadata(request.name, request.version)
        )
        return pb.ModelMetadataResponse(**data)

    async def ModelConfig(self, request: Any, context: Any) -> Any:
        model = await self._ask(
            context, lambda: self._engine.resolve(request.name, request.version)
        )
        return pb.ModelConfigResponse(config=model.config)

    async def ModelStatistics(self, request: Any, context: Any) -> Any:
        models = await self._ask(
            context, lambda: self._engine.statistics(request.name, request.version)
        )
        return pb.ModelStatisticsResponse(model_stats=[statistics_message(m) for m in models])

    async def RepositoryIndex(self, request: Any, context: Any) -> Any:
        await self._refuse_repository(request, context)
        rows = await self._ask(context, lambda: self._engine.index(ready_only=request.ready))
        return pb.RepositoryIndexResponse(
            models=[pb.RepositoryIndexResponse.ModelIndex(**row) for row in rows]
        )

    async def RepositoryModelLoad(self, request: Any, context: Any) -> Any:
        await self._refuse_repository(request, context)
        try:
            await self._engine.load(request.model_name, _override(request.parameters))
        except RuntimeFault as error:
            await context.abort(code_of(error), str(error))
        return pb.RepositoryModelLoadResponse()

    async def RepositoryModelUnload(self, request: Any, context: Any) -> Any:
        await self._refuse_repository(request, context)
        try:
            await self._engine.unload(
                request.model_name, request.parameters["unload_dependents"].bool_param
            )
        except RuntimeFault as error:
            await context.abort(code_of(error), str(error))
        return pb.RepositoryModelUnloadResponse()

    async def _refuse_repository(self, request: Any, context: Any) -> None:
        if request.repository_name:
            error = Unsupported("'repository_name' specification is not supported")
            await context.abort(code_of(error), str(error))

    async def _ask(self, context: Any, question: Callable[[], T]) -> T:
        try:
            return question()
        except RuntimeFault as error:
            await context.abort(code_of(error), str(error))
            raise


class HealthServicer(health_pb2_grpc.HealthServicer):  # type: ignore[misc] # no types
    """grpc.health.v1: SERVING when the server is ready; the service name is ignored."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def Check(self, _request: Any, _context: Any) -> Any:
        serving = health_pb2.HealthCheckResponse.SERVING
        not_serving = health_pb2.HealthCheckResponse.NOT_SERVING
        return health_pb2.HealthCheckResponse(status=serving if self._engine.ready else not_serving)


def _override(parameters: Any) -> LoadOverride:
    config: str | None = None
    for key, value in parameters.items():
        if key.startswith("file:"):
            raise Unsupported("loading model files through the request is not supported")
        if key != "config":
            raise InvalidArgument(f"unrecognized load parameter '{key}'")
        config = value.string_param
    return LoadOverride(config)
