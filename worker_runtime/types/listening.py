"""How the gRPC listener is to behave: TLS, compression, keepalive, who may call what."""

from dataclasses import dataclass, field
from enum import StrEnum

from worker_runtime.types.restrictions import Restrictions


class GrpcFrontend(StrEnum):
    """``native`` is our own HTTP/2, ``grpcio`` gRPC's."""

    NATIVE = "native"
    GRPCIO = "grpcio"


class CompressionLevel(StrEnum):
    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files of the gRPC listener; ``root_cert`` vouches for clients when ``mutual``."""

    server_cert: str = ""
    server_key: str = ""
    root_cert: str = ""
    mutual: bool = False


@dataclass(frozen=True, slots=True)
class Keepalive:
    """Of gRPC connections, in milliseconds; None: gRPC's own default (no limit)."""

    time_ms: int = 7_200_000
    timeout_ms: int = 20_000
    permit_without_calls: bool = False
    max_pings_without_data: int = 2
    min_recv_ping_interval_without_data_ms: int = 300_000
    max_ping_strikes: int = 2
    max_connection_age_ms: int | None = None
    max_connection_age_grace_ms: int | None = None


@dataclass(frozen=True, slots=True)
class GrpcOptions:
    """``frontend`` carries the calls; ``tls`` None: plain text.

    ``forward_pattern`` "": no metadata become parameters.
    """

    frontend: GrpcFrontend = GrpcFrontend.NATIVE
    tls: TlsFiles | None = None
    compression: CompressionLevel = CompressionLevel.NONE
    keepalive: Keepalive = Keepalive()
    forward_pattern: str = ""
    restrictions: Restrictions = field(default_factory=dict)
