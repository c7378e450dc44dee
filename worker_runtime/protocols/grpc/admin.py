"""Everything that is not inference: health, metadata, statistics, repository, memory, settings."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from grpc_health.v1 import health_pb2

from worker_runtime.core.shared_memory import SharedMemory
from worker_runtime.errors import InvalidArgument, NotFound, Unavailable, Unsupported
from worker_runtime.observability.dialect import Dialect
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.grpc.loads import FILE, large_load
from worker_runtime.protocols.grpc.requests import version_number
from worker_runtime.protocols.grpc.simple import Query, Written
from worker_runtime.protocols.grpc.transport import Message
from worker_runtime.protocols.slices import STATISTICS_AT_ONCE, in_turns
from worker_runtime.types.listening import Category
from worker_runtime.types.repository import LoadOverride
from worker_runtime.types.triton_messages import service_pb2 as pb

_MOST_SETTINGS = 100
_DEPENDENTS = "unload_dependents"


class Queries:
    """Health, metadata, configuration and statistics."""

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
        if sum([model.statistics.rows for model in models]) > STATISTICS_AT_ONCE:
            return _many_statistics(models)
        return pb.ModelStatisticsResponse(model_stats=[statistics_message(m) for m in models])

    def _check(self, _: Any) -> Any:
        serving = health_pb2.HealthCheckResponse.SERVING
        not_serving = health_pb2.HealthCheckResponse.NOT_SERVING
        return health_pb2.HealthCheckResponse(status=serving if self._engine.ready else not_serving)


def _version(message: Any) -> str:
    return version_number(message.version) if message.version else ""


async def _many_statistics(models: Sequence[Model]) -> Written:
    """What it tells of one model is of one moment."""
    parts: list[bytes] = []
    rows = 0
    for model in models:
        if rows >= STATISTICS_AT_ONCE:
            rows = 0
            await asyncio.sleep(0)
        rows += model.statistics.rows
        one = pb.ModelStatisticsResponse(model_stats=[statistics_message(model)])
        parts.append(one.SerializeToString())
    return Written(b"".join(parts))  # as protobuf has it: repeated fields follow one another


def statistics_message(model: Model) -> Any:
    """Model statistics as protobuf, in nanoseconds."""
    stats = model.statistics
    message = pb.ModelStatistics(
        name=model.name,
        version=str(model.version),
        last_inference=stats.last_inference_ms,
        inference_count=stats.row_count,
        execution_count=stats.execution_count,
    )
    done, total = stats.success_count, message.inference_stats
    computed = done - stats.cache_hit_count
    for target, count, ns in (
        (total.success, done, stats.success_ns),
        (total.fail, stats.fail_count, stats.fail_ns),
        (total.queue, done, stats.queue_ns),
        (total.compute_input, computed, stats.input_ns),
        (total.compute_infer, computed, stats.infer_ns),
        (total.compute_output, computed, stats.output_ns),
        (total.cache_hit, stats.cache_hit_count, stats.cache_hit_ns),
        (total.cache_miss, stats.cache_miss_count, stats.cache_miss_ns),
    ):
        _set(target, count, ns)
    for size, batch in sorted(stats.batches.items()):
        row = message.batch_stats.add(batch_size=size)
        _set(row.compute_input, batch.count, batch.input_ns)
        _set(row.compute_infer, batch.count, batch.infer_ns)
        _set(row.compute_output, batch.count, batch.output_ns)
    for usage in stats.memory:
        message.memory_usage.add(
            type=usage.kind, id=usage.device, byte_size=usage.byte_size * stats.copies
        )
    for index, answers in sorted(stats.responses.items()):
        entry = message.response_stats[str(index)]
        _set(entry.compute_infer, answers.infer_count, answers.infer_ns)
        _set(entry.compute_output, answers.output_count, answers.output_ns)
        _set(entry.success, answers.success_count, answers.success_ns)
        _set(entry.fail, answers.fail_count, answers.fail_ns)
        _set(entry.empty_response, answers.empty_count, answers.empty_ns)
        _set(entry.cancel, answers.cancel_count, answers.cancel_ns)
    return message


def _set(target: Any, count: int, ns: int) -> None:
    target.count, target.ns = count, ns


class Repository:
    """Repository control: index, load, unload."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_name(self) -> dict[str, Query]:
        category = Category.MODEL_REPOSITORY
        return {
            "RepositoryIndex": Query(pb.RepositoryIndexRequest, category, self._index),
            "RepositoryModelLoad": Query(
                pb.RepositoryModelLoadRequest, category, self._load, self._load_large
            ),
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

    async def _load_large(self, data: Message) -> Any:
        message, files = await in_turns(large_load(data))
        _refuse_name(message)
        rest = _override(message.parameters) or LoadOverride()
        if both := rest.files.keys() & files:
            raise InvalidArgument(f"load parameter '{FILE}{min(both)}' is given twice")
        await self._engine.load(
            message.model_name, LoadOverride(rest.config, {**rest.files, **files}) or None
        )
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
    files: dict[str, bytes | memoryview] = {}
    for key, value in parameters.items():
        if key == "config":
            config = _load_parameter(key, value, "string_param")
        elif key.startswith(FILE):
            files[key[len(FILE) :]] = _load_parameter(key, value, "bytes_param")
        else:
            raise InvalidArgument(f"unrecognized load parameter '{key}'.")
    return LoadOverride(config, files)


def _load_parameter(key: str, value: Any, kind: str) -> Any:
    if value.WhichOneof("parameter_choice") != kind:
        raise InvalidArgument(f"invalid value type for load parameter '{key}', expected {kind}.")
    return getattr(value, kind)


class Memory:
    """Registration of shared memory: one RPC per kind of memory and deed."""

    def __init__(self, memory: SharedMemory) -> None:
        self._memory = memory

    def by_name(self) -> dict[str, Query]:
        answers = {
            "SystemSharedMemoryStatus": self._system_status,
            "SystemSharedMemoryRegister": self._system_register,
            "SystemSharedMemoryUnregister": self._system_unregister,
            "CudaSharedMemoryStatus": self._cuda_status,
            "CudaSharedMemoryRegister": self._cuda_register,
            "CudaSharedMemoryUnregister": self._cuda_unregister,
        }
        return {
            name: Query(getattr(pb, f"{name}Request"), Category.SHARED_MEMORY, answer)
            for name, answer in answers.items()
        }

    def _system_status(self, message: Any) -> Any:
        return _regions(
            pb.SystemSharedMemoryStatusResponse(), self._memory.system_status(message.name)
        )

    def _system_register(self, message: Any) -> Any:
        self._memory.register_system(message.name, message.key, message.offset, message.byte_size)
        return pb.SystemSharedMemoryRegisterResponse()

    def _system_unregister(self, message: Any) -> Any:
        self._memory.unregister_system(message.name)
        return pb.SystemSharedMemoryUnregisterResponse()

    def _cuda_status(self, message: Any) -> Any:
        return _regions(pb.CudaSharedMemoryStatusResponse(), self._memory.cuda_status(message.name))

    def _cuda_register(self, message: Any) -> Any:
        self._memory.register_cuda(
            message.name, message.raw_handle, message.device_id, message.byte_size
        )
        return pb.CudaSharedMemoryRegisterResponse()

    def _cuda_unregister(self, message: Any) -> Any:
        self._memory.unregister_cuda(message.name)
        return pb.CudaSharedMemoryUnregisterResponse()


def _regions(reply: Any, rows: list[dict[str, Any]]) -> Any:
    """Status answers are maps by the region's name."""
    for row in rows:
        region = reply.regions[row["name"]]
        for field, value in row.items():
            setattr(region, field, value)
    return reply


class Switches:
    """Trace and log settings."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_name(self) -> dict[str, Query]:
        return {
            "TraceSetting": Query(pb.TraceSettingRequest, Category.TRACE, self._trace),
            "LogSettings": Query(pb.LogSettingsRequest, Category.LOGGING, self._log),
        }

    def _trace(self, message: Any) -> Any:
        _check_settings(message)
        changes = {key: list(setting.value) for key, setting in message.settings.items()}
        found: Mapping[str, Any] = (
            self._engine.update_trace_settings(message.model_name, changes, Dialect.LISTS)
            if changes
            else self._engine.trace_settings(message.model_name)
        )
        reply = pb.TraceSettingResponse()
        for key, value in found.items():
            values = [value] if isinstance(value, str) else value
            reply.settings[key].value.extend(values)
        return reply

    def _log(self, message: Any) -> Any:
        _check_settings(message)
        changes = {key: _typed(setting) for key, setting in message.settings.items()}
        found: Mapping[str, bool | int | str] = (
            self._engine.update_log_settings(changes, Dialect.LISTS)
            if changes
            else self._engine.log_settings()
        )
        reply = pb.LogSettingsResponse()
        for key, value in found.items():
            setting = reply.settings[key]
            if isinstance(value, bool):
                setting.bool_param = value
            elif isinstance(value, int):
                setting.uint32_param = value
            else:
                setting.string_param = value
        return reply


def _check_settings(message: Any) -> None:
    """Raises InvalidArgument for far more than there are: each takes a microsecond and more."""
    count = len(message.settings)
    if count > _MOST_SETTINGS:
        raise InvalidArgument(
            f"{count} settings in a {message.DESCRIPTOR.name}, expected at most {_MOST_SETTINGS}"
        )


def _typed(setting: Any) -> bool | int | str | None:
    """The value that is set, None when none is."""
    kind = setting.WhichOneof("parameter_choice")
    return getattr(setting, kind) if kind else None
