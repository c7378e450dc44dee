"""Messages about what was measured and written: counters of replicas, what gateways saw, log lines.

As ``wire.messages``: frozen dataclasses that travel as JSON, times in Unix seconds.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final
from zlib import crc32

from wire.messages import NodeInfo

_VERSION_AT: Final = 14  # in a UUID
VERSION: Final = slice(_VERSION_AT, _VERSION_AT + 1)
RANDOM: Final = "4"  # the version of UUIDs that are random all over, as gateways make them
LAST: Final = slice(-1, None)
_DIGITS: Final = "0123456789abcdefABCDEF"
_LOW_BITS: Final = 28


@dataclass(frozen=True, slots=True)
class ModelCounters:
    """Cumulative nv_* counters of one model of one replica, as scraped. Durations in µs."""

    model: str
    version: str
    request_success: float = 0.0
    request_failure: dict[str, float] = field(default_factory=dict)  # reason -> count
    inference_count: float = 0.0
    exec_count: float = 0.0
    request_duration_us: float = 0.0
    queue_duration_us: float = 0.0
    compute_input_duration_us: float = 0.0
    compute_infer_duration_us: float = 0.0
    compute_output_duration_us: float = 0.0
    pending_request_count: float = 0.0
    batch_counts: dict[str, float] = field(default_factory=dict)  # batch size -> executions
    batch_compute_us: dict[str, float] = field(default_factory=dict)  # batch size -> sum of them
    gpu_out_of_memory: float = 0.0  # executions that failed because a GPU had no memory left
    error_answers: float = 0.0  # of requests that succeeded: errors that the model answered itself
    busy_us: float = 0.0  # instances at work: making batches, executing, splitting
    instances: float = 0.0
    cache_hits: float = 0.0
    cache_misses: float = 0.0
    load_seconds: float = 0.0
    first_response: dict[str, float] = field(default_factory=dict)  # "le" in ms -> count up to it
    # calls of other models (BLS) that have ended, each by the callee's name
    calls: dict[str, float] = field(default_factory=dict)
    call_failures: dict[str, float] = field(default_factory=dict)
    call_us: dict[str, float] = field(default_factory=dict)
    last_call: dict[str, float] = field(default_factory=dict)  # Unix seconds
    step: bool = False  # of an ensemble: its requests are the ensemble's, not a client's


@dataclass(frozen=True, slots=True)
class ReplicaSample:
    replica_id: str
    endpoint: str
    deployment: str
    at: float
    models: tuple[ModelCounters, ...] = ()
    memory_bytes: int = 0
    cpu_seconds: float = 0.0
    started_at: float = 0.0  # of its process; 0 where the agent does not say
    waited_s: float = 0.0  # that its threads were ready to run and had no processor
    loop_looks: float = 0.0  # at whether the runtime's event loop was late
    loop_late_s: float = 0.0  # sum over them


@dataclass(frozen=True, slots=True)
class ModelSpan:
    """What one model did for a request. Durations in µs, one behind the other from ``start_us`` on;
    None where nothing was executed, as for an ensemble itself."""

    model: str
    version: int
    parent: int  # place among the request's spans; -1 for the client's own request
    via: str  # "step" of an ensemble, "call" of a model, "" for the client's own request
    start_us: float  # since the client's request arrived at the runtime
    total_us: float
    batch: int = 0  # requests that were executed together; 0: none was
    execution: str = ""  # alike for those of one replica that were
    accept_us: float | None = None  # decoding, until it waits
    queue_us: float | None = None
    input_us: float | None = None
    infer_us: float | None = None
    output_us: float | None = None
    error: str = ""  # its kind


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """One request of a few, as its replica saw it: most of them are its gateway's, too."""

    number: int  # rises per process
    id: str  # x-request-id
    why: str  # "failed", "slow" or "sampled"
    at: float  # when it arrived
    spans: tuple[ModelSpan, ...]  # the client's own first
    left_out: int = 0  # spans beyond the most that are kept
    replica_id: str = ""
    endpoint: str = ""
    deployment: str = ""


@dataclass(frozen=True, slots=True)
class TracedRequests:
    """What a runtime answers its agent."""

    requests: tuple[TracedRequest, ...]


def rank(request_id: str, salt: int) -> int:
    """Of requests that are neither slow nor failed those with the smallest are told of, by gateways
    and by runtimes (``worker_runtime.observability.requests.keeper``): so they choose the same.

    UUIDs of version 4 are random, so the first of these numbers' eight digits is made of their last
    one: runtimes need not look at more of most of them.
    """
    padded, last = request_id.ljust(_VERSION_AT + 1), request_id[LAST]
    number = crc32(padded.encode(), salt)
    if request_id[VERSION] == RANDOM and last in _DIGITS:
        return (int(last, 16) ^ salt & 15) << _LOW_BITS | number & ((1 << _LOW_BITS) - 1)
    return number


def skipped(salt: int, most: int) -> str:
    """The last digits that random ids with a rank of at most ``most`` do not have."""
    return _skipped(salt & 15, most >> _LOW_BITS)


# why remembered: each request that is chosen asks, and mostly for the same ones
@lru_cache(1 << 8)
def _skipped(salt: int, first: int) -> str:
    return "".join(digit for digit in _DIGITS if int(digit, 16) ^ salt > first)


def is_skipped(request_id: str, digits: str) -> bool:
    """Whether it is a random id that ends with one of these: its rank need not be looked at."""
    return request_id[LAST] in digits and request_id[VERSION] == RANDOM


@dataclass(frozen=True, slots=True)
class SampleBatch:
    samples: tuple[ReplicaSample, ...]
    node: NodeInfo | None = None
    requests: tuple[TracedRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class LogEntry:
    replica_id: str
    endpoint: str
    deployment: str
    at: float
    stream: str  # "storage-initializer" (download, placement) or "inference-server"
    text: str
    seq: int = 0  # rises per replica and stream; the control plane drops repeats


@dataclass(frozen=True, slots=True)
class LogBatch:
    entries: tuple[LogEntry, ...]


@dataclass(frozen=True, slots=True)
class GatewaySample:
    """What the gateway saw of one deployment since the previous sample.

    ``histogram`` maps a bucket index to a count; bucket i covers
    [50 µs · 1.05**i, 50 µs · 1.05**(i+1)), index -1 is everything below 50 µs.
    """

    endpoint: str
    deployment: str
    at: float
    interval_s: float
    requests: int
    status_classes: dict[str, int] = field(default_factory=dict)  # "2xx" ... "5xx"
    histogram: dict[str, int] = field(default_factory=dict)
    request_bytes: int = 0
    response_bytes: int = 0
    timed: int = 0  # requests with a latency; the times below are sums over them
    total_us: float = 0.0
    receive_us: float = 0.0  # until the client had sent everything
    send_us: float = 0.0  # from the replica's first byte until the client had taken everything
    new_connections: int = 0  # whose first request was one of these
    json_requests: int = 0  # whose tensors came as text
    held: int = 0  # requests that began to wait for a replica to wake
    wakes_s: tuple[float, ...] = ()  # seconds from the first of them to the replica


@dataclass(frozen=True, slots=True)
class SeenRequest:
    """One request of a few that its gateway tells of: since it failed, was slow, or as any other.

    Times as in ``GatewaySample``, of this request.
    """

    id: str  # x-request-id
    endpoint: str
    deployment: str  # empty: the gateway answered by itself
    at: float  # of its first byte
    why: str  # "failed", "slow" or "sampled"
    method: str
    path: str  # below the endpoint
    status: int  # of HTTP; 0: the client went away before there was an answer
    status_class: str  # "2xx" ... "5xx", a status of gRPC taken into account
    grpc_status: int | None = None
    host: str = ""  # "address:port" of the replica
    attempts: int = 0
    duration_us: float | None = None  # None for streams, and for what the gateway refused
    receive_us: float = 0.0
    send_us: float = 0.0
    request_bytes: int = 0
    response_bytes: int = 0
    as_json: bool = False
    flags: str = ""  # Envoy's, of what went wrong
    details: str = ""  # Envoy's, of who answered


@dataclass(frozen=True, slots=True)
class GatewaySampleBatch:
    samples: tuple[GatewaySample, ...]
    requests: tuple[SeenRequest, ...] = ()


@dataclass(frozen=True, slots=True)
class GatewaySamplesReply:
    sample_interval_s: float
    request_salt: int = 0  # see ``rank``
    own_requests_key: str = ""  # see ``wire.own_requests``
