"""How listeners are to behave: TLS, compression, keepalive, limits, who may call what."""

import socket
from collections.abc import Mapping
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct, field

# What JSON, and what compressed requests unpack to, may have over either protocol, in bytes.
MAX_INPUT_BYTES = 64 * 1024 * 1024


class Category(StrEnum):
    """Parts of the API that can be restricted; model readiness counts as health."""

    HEALTH = "health"
    METADATA = "metadata"
    INFERENCE = "inference"
    SHARED_MEMORY = "shared-memory"
    MODEL_CONFIG = "model-config"
    MODEL_REPOSITORY = "model-repository"
    STATISTICS = "statistics"
    TRACE = "trace"
    LOGGING = "logging"


class Restriction(Struct, frozen=True):
    """``key`` as given on the command line: HTTP's header name; gRPC prefixes it."""

    key: str
    value: str


# Parts of the API that are served only to requests that carry a header.
Restrictions: TypeAlias = Mapping[Category, Restriction]


class SageMakerOptions(Struct, frozen=True):
    """``ping`` is live or ready; ``/invocations`` are of ``model``, by its path ``inference``."""

    ping: str = "ready"
    model: str = "unspecified_SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"
    inference: str = "infer"


class VertexOptions(Struct, frozen=True):
    """Paths of the two routes; ``default_model`` "": the only one."""

    predict_route: str = ""
    health_route: str = ""
    default_model: str = ""


class GrpcFrontend(StrEnum):
    """``native`` is our own HTTP/2, ``grpcio`` gRPC's."""

    NATIVE = "native"
    GRPCIO = "grpcio"


class CompressionLevel(StrEnum):
    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class TlsFiles(Struct, frozen=True):
    """PEM files of the gRPC listener; ``root_cert`` vouches for clients when ``mutual``."""

    server_cert: str = ""
    server_key: str = ""
    root_cert: str = ""
    mutual: bool = False


class Keepalive(Struct, frozen=True):
    """Of gRPC connections, in milliseconds; None: gRPC's own default (no limit)."""

    time_ms: int = 7_200_000
    timeout_ms: int = 20_000
    permit_without_calls: bool = False
    max_pings_without_data: int = 2
    min_recv_ping_interval_without_data_ms: int = 300_000
    max_ping_strikes: int = 2
    max_connection_age_ms: int | None = None
    max_connection_age_grace_ms: int | None = None


class ConnectionLimits(Struct, frozen=True):
    """What clients may take, over every protocol; 0: without end.

    ``connections`` are all together; None: as many as open files allow. ``unread_s`` is for who
    reads nothing of what waits for him, ``idle_s`` for who asks nothing, ``head_s`` for the head
    of a request, ``body_s`` for each 16 KiB of a body. Bytes that are held for clients are bounded
    by ``buffered_bytes`` in all; None: half of the memory.
    """

    connections: int | None = None
    unread_s: float = 300.0
    idle_s: float = 7200.0
    head_s: float = 30.0
    body_s: float = 30.0
    buffered_bytes: int | None = None
    buffered_bytes_per_connection: int = 2**32

    @property
    def look_s(self) -> float:
        """How often a connection is looked at, so that none of these is overdue by much."""
        times = (self.unread_s, self.idle_s, self.head_s, self.body_s)
        return min([30.0, *(time / 2 for time in times if time)])


class GrpcOptions(Struct, frozen=True):
    """``frontend`` carries the calls; ``tls`` None: plain text.

    ``forward_pattern`` "": no metadata become parameters. What a connection may do, 0 for any
    number: calls at once, and a second streams that are reset and frames that carry no request.
    """

    frontend: GrpcFrontend = GrpcFrontend.NATIVE
    tls: TlsFiles | None = None
    compression: CompressionLevel = CompressionLevel.NONE
    keepalive: Keepalive = Keepalive()
    forward_pattern: str = ""
    restrictions: Restrictions = field(default_factory=dict)
    max_inflated_bytes: int = MAX_INPUT_BYTES
    max_concurrent_streams: int = 1000
    resets_per_second: int = 1000
    control_frames_per_second: int = 1000


def inherited(descriptor: int | None) -> socket.socket | None:
    """The TCP socket that the parent has bound for us; None where there is none.

    Raises OSError for a descriptor that is no such socket.
    """
    if descriptor is None:
        return None
    handed = socket.socket(fileno=descriptor)
    handed.set_inheritable(False)  # what we start listens nowhere
    if handed.type != socket.SOCK_STREAM or handed.family not in (socket.AF_INET, socket.AF_INET6):
        raise OSError(f"descriptor {descriptor} is not a TCP socket")
    return handed
