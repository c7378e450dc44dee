"""What this process counted since it started, for Prometheus: its own requests, and the gateways'.

Counters of a process, not of the database: they start from zero with it, as Prometheus expects.
"""

import math
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics
from prometheus_client.core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from controlplane.metrics.histogram import FIRST_US, GROWTH

SECONDS: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
)  # fmt: skip

# A second series for each, with the time of its first count, that nobody asks for.
disable_created_metrics()  # type: ignore[no-untyped-call]

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


class GatewayTimes(Collector):
    """One histogram per deployment, added up from the finer ones that gateways report."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._within: dict[tuple[str, str], list[int]] = {}  # answers by bound of SECONDS, and all
        self._seconds: dict[tuple[str, str], float] = {}

    def add(self, endpoint: str, deployment: str, histogram: Mapping[str, int]) -> None:
        """``histogram`` as in ``wire.messages.GatewaySample``; buckets count by upper edge."""
        edges = [(_edge_s(int(bucket)), count) for bucket, count in histogram.items()]
        key = (endpoint, deployment)
        with self._lock:
            within = self._within.setdefault(key, [0] * (len(SECONDS) + 1))
            for place, bound in enumerate((*SECONDS, math.inf)):
                within[place] += sum(count for edge, count in edges if edge <= bound)
            more = sum(edge * count for edge, count in edges)
            self._seconds[key] = self._seconds.get(key, 0.0) + more

    def collect(self) -> Iterator[Metric]:
        family = HistogramMetricFamily(
            "shoal_gateway_request_seconds",
            "Time that requests took at the gateways; the sum is at most 5 % too high",
            labels=("endpoint", "deployment"),
        )
        with self._lock:
            for key, within in sorted(self._within.items()):
                bounds = [f"{bound:g}" for bound in SECONDS] + ["+Inf"]
                family.add_metric(key, list(zip(bounds, within, strict=True)), self._seconds[key])
        yield family


def _edge_s(bucket: int) -> float:
    return FIRST_US * GROWTH ** (bucket + 1) / 1e6


GATEWAY_TIMES: Final = GatewayTimes()
REGISTRY.register(GATEWAY_TIMES)


def count_answers(endpoint: str, deployment: str, classes: Mapping[str, int]) -> None:
    for kind, count in classes.items():
        ANSWERS.labels(endpoint, deployment, kind).inc(count)


def count_bytes(endpoint: str, deployment: str, received: int, sent: int) -> None:
    RECEIVED.labels(endpoint, deployment).inc(received)
    SENT.labels(endpoint, deployment).inc(sent)
