"""What this process counted since it started, for Prometheus: its own requests, and the gateways'.

Counters of a process, not of the database: they start from zero with it, as Prometheus expects.
"""

import math
from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from controlplane.metrics.histogram import FIRST_US, GROWTH

SECONDS: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
)  # fmt: skip

REGISTRY: Final = CollectorRegistry()
REQUESTS: Final = Histogram(
    "shoal_http_request_seconds",
    "Time that the control plane took to answer, by route as it is written in the API",
    ("method", "route", "status"),
    registry=REGISTRY,
    buckets=SECONDS,
)
ANSWERS: Final = Counter(
    "shoal_gateway_answers",
    "Answers of the gateways, as clients saw them",
    ("endpoint", "deployment", "status_class"),
    registry=REGISTRY,
)
RECEIVED: Final = Counter(
    "shoal_gateway_received_bytes",
    "Bytes of request bodies at the gateways",
    ("endpoint", "deployment"),
    registry=REGISTRY,
)
SENT: Final = Counter(
    "shoal_gateway_sent_bytes",
    "Bytes of answers' bodies at the gateways",
    ("endpoint", "deployment"),
    registry=REGISTRY,
)
LATENCY: Final = Counter(
    "shoal_gateway_answers_within",
    "Answers of the gateways that took at most `le` seconds, +Inf for all",
    ("endpoint", "deployment", "le"),
    registry=REGISTRY,
)


def count_answers(endpoint: str, deployment: str, classes: Mapping[str, int]) -> None:
    for kind, count in classes.items():
        ANSWERS.labels(endpoint, deployment, kind).inc(count)


def count_bytes(endpoint: str, deployment: str, received: int, sent: int) -> None:
    RECEIVED.labels(endpoint, deployment).inc(received)
    SENT.labels(endpoint, deployment).inc(sent)


def count_latencies(endpoint: str, deployment: str, histogram: Mapping[str, int]) -> None:
    """``histogram`` as in ``wire.messages.GatewaySample``; a bucket counts by its upper edge."""
    for bound in (*SECONDS, math.inf):
        within = sum(
            count
            for bucket, count in histogram.items()
            if FIRST_US * GROWTH ** (int(bucket) + 1) <= bound * 1e6
        )
        text = "+Inf" if bound == math.inf else f"{bound:g}"
        LATENCY.labels(endpoint, deployment, text).inc(within)
