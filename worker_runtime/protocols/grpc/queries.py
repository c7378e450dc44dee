"""Health, metadata, configuration and statistics."""

from typing import Any

from grpc_health.v1 import health_pb2

from worker_runtime.errors import NotFound, Unavailable
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.grpc.simple import Query
from worker_runtime.protocols.grpc.statistics import statistics_message
from worker_runtime.protocols.grpc.versions import version_number
from worker_runtime.types.listening import Category
from worker_runtime.types.triton_messages import service_pb2 as pb


class Queries:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_name(self) -> dict[str, Query]:
        """The RPCs of GRPCInferenceService that live here."""
        health, metadata = Category.HEALTH, Category.METADATA
        return {
            "ServerLive": Query(pb.ServerLiveRequest, health, self._live),
            "ServerReady": Query(pb.ServerReadyRequest, health, self._ready),
            "ModelReady": Query(pb.ModelReadyRequest, health, self._model_ready),
            "ServerMetadata": Query(pb.ServerMetadataRequest, metadata, self._server_metadata),
            "ModelMetadata": Query(pb.ModelMetadataRequest, metadata, self._model_metadata),
            "ModelConfig": Query(pb.ModelConfigRequest, Category.MODEL_CONFIG, self._config),
            "ModelStatistics": Query(
                pb.ModelStatisticsRequest, Category.STATISTICS, self._statistics
            ),
        }

    def health(self) -> Query:
        """grpc.health.v1 Check: the name of the service is ignored."""
        return Query(health_pb2.HealthCheckRequest, Category.HEALTH, self._check)

    def _live(self, _: Any) -> Any:
        return pb.ServerLiveResponse(live=self._engine.live)

    def _ready(self, _: Any) -> Any:
        return pb.ServerReadyResponse(ready=self._engine.ready)

    def _model_ready(self, message: Any) -> Any:
        """False also for what is unknown or not loaded: over gRPC that is no error."""
        version = _version(message)
        try:
            ready = self._engine.model_ready(message.name, version)
        except (NotFound, Unavailable):
            ready = False
        return pb.ModelReadyResponse(ready=ready)

    def _server_metadata(self, _: Any) -> Any:
        return pb.ServerMetadataResponse(**self._engine.server_metadata())

    def _model_metadata(self, message: Any) -> Any:
        data = self._engine.model_metadata(message.name, _version(message))
        return pb.ModelMetadataResponse(**data)

    def _config(self, message: Any) -> Any:
        model = self._engine.resolve(message.name, _version(message))
        return pb.ModelConfigResponse(config=model.config)

    def _statistics(self, message: Any) -> Any:
        models = self._engine.statistics(message.name, _version(message))
        return pb.ModelStatisticsResponse(model_stats=[statistics_message(m) for m in models])

    def _check(self, _: Any) -> Any:
        serving = health_pb2.HealthCheckResponse.SERVING
        not_serving = health_pb2.HealthCheckResponse.NOT_SERVING
        return health_pb2.HealthCheckResponse(status=serving if self._engine.ready else not_serving)


def _version(message: Any) -> str:
    return version_number(message.version) if message.version else ""
