"""What is traced at start, and where traces go."""

from enum import StrEnum

from msgspec import Struct

# options of OpenTelemetry's batching, and what they are when nothing is said
BATCHING = (
    ("bsp_max_export_batch_size", "512"),
    ("bsp_schedule_delay", "5000"),
    ("bsp_max_queue_size", "2048"),
)


class Mode(StrEnum):
    TRITON = "triton"
    OPENTELEMETRY = "opentelemetry"


class Level(StrEnum):
    TIMESTAMPS = "TIMESTAMPS"
    TENSORS = "TENSORS"


class TraceConfig(Struct, frozen=True):
    """No ``levels``: off. Every ``rate``-th request is traced, ``count`` of them (-1: no limit).

    ``log_frequency`` traces go into one file; 0: all into one, at exit. ``options`` are those of
    the mode as given (url, resource, bsp_*), in order; resource may come several times.
    """

    mode: Mode = Mode.TRITON
    levels: frozenset[Level] = frozenset()
    rate: int = 1000
    count: int = -1
    log_frequency: int = 0
    file: str = ""
    options: tuple[tuple[str, str], ...] = ()
