"""What a runtime process is told: one frozen value, seen by the composition root only."""

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from msgspec import Struct, field

from worker_runtime.observability.capture.settings import CaptureConfig
from worker_runtime.observability.logging import LogOptions
from worker_runtime.observability.metrics.latency import MetricsConfig
from worker_runtime.observability.tracing.config import TraceConfig
from worker_runtime.types.listening import (
    MAX_INPUT_BYTES,
    ConnectionLimits,
    GrpcOptions,
    Restrictions,
    SageMakerOptions,
    TlsFiles,
    VertexOptions,
)

# Whether log messages are escaped; batching of spans. Triton reads these and has no flag for them.
CAPTURE_HASH_KEY = "SHOAL_CAPTURE_HASH_KEY"
ESCAPE_LOG = "TRITON_SERVER_ESCAPE_LOG_MESSAGES"
SPAN_BATCHING = {
    "bsp_max_export_batch_size": "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
    "bsp_schedule_delay": "OTEL_BSP_SCHEDULE_DELAY",
    "bsp_max_queue_size": "OTEL_BSP_MAX_QUEUE_SIZE",
}

PairsByName = Mapping[str, Mapping[str, str]]


class ControlMode(StrEnum):
    NONE = "none"
    POLL = "poll"
    EXPLICIT = "explicit"


class Listener(Struct, frozen=True):
    """Where to listen; port 0 picks a free one. A ``descriptor`` is of a socket bound already."""

    address: str
    port: int
    enabled: bool = True
    reuse_port: bool = False
    descriptor: int | None = None


class HttpOptions(Struct, frozen=True):
    """``forward_pattern`` "": no headers become parameters."""

    max_input_bytes: int = MAX_INPUT_BYTES
    max_body_bytes: int = 2**31 - 1  # 0: no bound
    tls: TlsFiles | None = None
    forward_pattern: str = ""
    restrictions: Restrictions = field(default_factory=dict)


class RateLimitResource(Struct, frozen=True):
    """``device`` -1: so many on every device."""

    name: str
    count: int
    device: int = -1


class Settings(Struct, frozen=True):
    """Defaults are Triton's. ``load_models`` None means everything (mode none, or ``*``).

    ``cache_config``, ``host_policies`` and ``backend_settings`` hold settings by the name of the
    cache, policy or backend ("" for all backends). ``deprecations`` are for the console at once,
    ``warnings`` for the log. ``max_queue_wait_ms`` 0: models alone say how long requests wait.
    ``allow_code`` None: every kind. ``access_log`` is a file, "-" the console, "" none.
    ``frontends`` 0: this process serves clients itself.
    """

    repositories: tuple[Path, ...]
    http: Listener = Listener("0.0.0.0", 8000)  # noqa: S104 # Triton's default
    grpc: Listener = Listener("0.0.0.0", 8001)  # noqa: S104
    metrics: Listener = Listener("0.0.0.0", 8002)  # noqa: S104
    sagemaker: Listener = Listener("0.0.0.0", 8080, enabled=False)  # noqa: S104
    vertex: Listener = Listener("0.0.0.0", 8080, enabled=False)  # noqa: S104
    sagemaker_options: SageMakerOptions = field(default_factory=SageMakerOptions)
    vertex_options: VertexOptions = field(default_factory=VertexOptions)
    http_options: HttpOptions = HttpOptions()
    grpc_options: GrpcOptions = field(default_factory=GrpcOptions)
    connection_limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    frontends: int = 0
    server_id: str = "triton"
    control_mode: ControlMode = ControlMode.NONE
    poll_interval_s: int = 15
    load_models: tuple[str, ...] | None = None
    exit_on_error: bool = True
    strict_readiness: bool = True
    auto_complete: bool = True
    config_name: str = ""
    model_namespacing: bool = False
    load_threads: int = 4
    load_retries: int = 0
    load_gpu_limits: Mapping[int, float] = field(default_factory=dict)
    exit_timeout_s: float = 30.0
    drain_s: float = 0.0
    unload_timeout_s: float = 60.0
    max_queue_wait_ms: int = 0
    client_shared_memory: bool = True
    cache_config: PairsByName = field(default_factory=dict)
    rate_limit: bool = False
    rate_limit_resources: tuple[RateLimitResource, ...] = ()
    host_policies: PairsByName = field(default_factory=dict)
    backend_settings: PairsByName = field(default_factory=dict)
    backend_directory: Path | None = None
    allow_code: frozenset[str] | None = None
    pinned_pool_bytes: int = 1 << 28
    cpu_metrics: bool = True
    gpu_metrics: bool = True
    metrics_interval_ms: int = 2000
    metrics_config: MetricsConfig = field(default_factory=MetricsConfig)
    trace: TraceConfig = field(default_factory=TraceConfig)
    log: LogOptions = field(default_factory=LogOptions)
    access_log: str = ""
    capture: CaptureConfig | None = None
    ready_file: Path | None = None
    warnings: tuple[str, ...] = ()
    deprecations: tuple[str, ...] = ()

    @property
    def explicit(self) -> bool:
        return self.control_mode is ControlMode.EXPLICIT


def variable(name: str) -> str:
    """A variable of the environment, "" when it is not set."""
    return os.environ.get(name, "")
