"""Listeners: those of hosted platforms, why one cannot be opened, and where they all are."""

import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from worker_runtime.config.settings import Listener, Settings
from worker_runtime.errors import InvalidArgument
from worker_runtime.protocols.clouds.app import CloudApp
from worker_runtime.protocols.clouds.sagemaker import SageMakerApp
from worker_runtime.protocols.clouds.vertex import VertexApp, check_default_model
from worker_runtime.protocols.engine import Engine
from worker_runtime.protocols.slices import Steps

_SERVICES = {
    "GRPC": "GRPCInferenceService",
    "HTTP": "HTTPService",
    "metrics": "Metrics Service",
}
_VERTEX = "failed to start Vertex AI service: Invalid argument - "


def cloud_apps(
    settings: Settings, engine: Engine, scrape: Callable[[], Steps[bytes]]
) -> Iterator[tuple[str, Listener, CloudApp]]:
    """What is served, where, and by what. ``scrape`` gives the metrics. Raises InvalidArgument."""
    http = settings.http_options
    common = (http.max_input_bytes, http.restrictions, http.max_body_bytes)
    if settings.sagemaker.enabled:
        app = SageMakerApp(engine, settings.sagemaker_options, *common)
        yield "Sagemaker", settings.sagemaker, app
    if settings.vertex.enabled:
        try:
            vertex = VertexApp(engine, settings.vertex_options, scrape, *common)
        except InvalidArgument as error:
            raise InvalidArgument(f"{_VERTEX}{error}") from error
        yield "Vertex AI", settings.vertex, vertex


def unready(settings: Settings, engine: Engine) -> str:
    """Why a platform cannot be served with the models that there are, "" when it can."""
    if settings.vertex.enabled:
        try:
            check_default_model(engine, settings.vertex_options.default_model)
        except InvalidArgument as error:
            return f"{_VERTEX}{error}"
    return ""


def service_name(what: str) -> str:
    """What Triton's log calls a listener."""
    return _SERVICES.get(what, f"{what} HTTPService")


def not_started(what: str, listener: Listener, error: OSError) -> OSError:
    """In Triton's words."""
    reason = unavailable(listener, error)
    return OSError(f"failed to start {what} service: Unavailable - {reason}")


def unavailable(listener: Listener, error: OSError) -> str:
    """Why a listener could not be opened, in Triton's words where it has some."""
    where = f"{listener.address}:{listener.port}"
    in_use = f"Socket '{where}' already in use: " if error.errno == errno.EADDRINUSE else ""
    return f"{in_use}cannot listen on {where}: {error}"


def write_ready_file(path: Path, ports: dict[str, int]) -> None:
    """Tell the parent where we listen: written beside and renamed, so it is whole or absent."""
    text = json.dumps({"pid": os.getpid(), **ports})
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
