"""What a runtime process is told: one frozen value, seen by the composition root only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Listener:
    """Where to listen; port 0 picks a free one."""

    address: str
    port: int
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults are Triton's. ``load_models`` None means everything (mode none, or ``*``)."""

    repositories: tuple[Path, ...]
    http: Listener = Listener("0.0.0.0", 8000)  # noqa: S104 # Triton's default
    grpc: Listener = Listener("0.0.0.0", 8001)  # noqa: S104
    metrics: Listener = Listener("0.0.0.0", 8002)  # noqa: S104
    server_id: str = "triton"
    explicit: bool = False
    load_models: tuple[str, ...] | None = None
    exit_on_error: bool = True
    strict_readiness: bool = True
    auto_complete: bool = True
    config_name: str = ""
    load_threads: int = 4
    exit_timeout_s: float = 30.0
    max_input_bytes: int = 64 * 1024 * 1024
    cpu_metrics: bool = True
    log_verbose: int = 0
    log_info: bool = True
    log_warning: bool = True
    log_iso8601: bool = False
    log_file: str = ""
    ready_file: Path | None = None
    backend_settings: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
