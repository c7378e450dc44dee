"""Messages of load sweeps: what a node's agent is to ask of a replica beside it, and what it saw.

As ``wire.messages``: frozen dataclasses that travel as JSON.
"""

from dataclasses import dataclass, field
from typing import Final

CONCURRENCY: Final = "concurrency"  # so many requests always under way
RATE: Final = "rate"  # so many requests a second, whatever comes back
MODES: Final = (CONCURRENCY, RATE)
MOST_LEVELS: Final = 32


@dataclass(frozen=True, slots=True)
class LoadInput:
    name: str
    datatype: str
    shape: tuple[int, ...]
    data: str | None = None  # base64 of its bytes, as the binary extension has them; None: random


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """What is asked, and how often: one point after the other, by rising ``levels``."""

    model: str
    mode: str  # one of MODES
    levels: tuple[float, ...]
    seconds: float  # of each point
    inputs: tuple[LoadInput, ...] = ()  # none: random ones, by what the server says of the model
    batch: int = 1  # of random inputs, where the model takes batches
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of random inputs of any size
    warm_up_s: float = 0.0  # at each level, before what counts
    version: str = ""
    slo_percentile: int = 0  # 95 or 99; 0: it ends with the last level
    slo_us: float = 0.0  # the first point above it is the last one
    timeout_s: float = 10.0  # of one request


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """One level, measured. Latencies of good answers, as the client saw them, in microseconds.

    What the runtime's statistics say of the same time: of all its requests, and None where they
    say nothing.
    """

    level: float
    seconds: float
    good: int
    throughput: float  # good answers a second
    mean_us: float = 0.0
    p50_us: float = 0.0
    p90_us: float = 0.0
    p95_us: float = 0.0
    p99_us: float = 0.0
    errors: dict[str, int] = field(default_factory=dict)  # kind -> count
    client_busy: float = 0.0  # 0..1 of a processor: near 1 the client was the limit
    batch: float | None = None  # mean number of inferences that ran together
    queue_us: float | None = None  # mean of a request
    compute_us: float | None = None  # likewise: input, infer and output
    others: int = 0  # requests that somebody else sent meanwhile


@dataclass(frozen=True, slots=True)
class DesiredLoad:
    """A sweep that the node's agent must run, on a replica of its own."""

    load_id: str
    replica_id: str
    plan: LoadPlan
    begun: bool = False  # its node has told of it: an agent that does not know it was restarted
