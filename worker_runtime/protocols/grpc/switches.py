"""Trace and log settings."""

from collections.abc import Mapping
from typing import Any

from worker_runtime.observability.dialect import Dialect
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.grpc.simple import Query
from worker_runtime.types.listening import Category
from worker_runtime.types.triton_messages import service_pb2 as pb


class Switches:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def by_name(self) -> dict[str, Query]:
        return {
            "TraceSetting": Query(pb.TraceSettingRequest, Category.TRACE, self._trace),
            "LogSettings": Query(pb.LogSettingsRequest, Category.LOGGING, self._log),
        }

    def _trace(self, message: Any) -> Any:
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


def _typed(setting: Any) -> bool | int | str | None:
    """The value that is set, None when none is."""
    kind = setting.WhichOneof("parameter_choice")
    return getattr(setting, kind) if kind else None
