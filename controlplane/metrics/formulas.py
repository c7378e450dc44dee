"""Pure: every figure of the panels as a formula over one window, live or stored.

Requests, inferences, queue and compute come from the runtimes' counters, latency quantiles and
answers from the gateways. ``request_rate`` counts whatever a runtime ran: an agent's first
inference, load sweeps and mirrored requests, too. How much callers ask of an endpoint is
``answer_rate``. None means that nothing was measured: a gap, never a zero.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from controlplane.metrics.histogram import quantile_us

RATE_S: Final = 2.0  # window of rates
MEAN_S: Final = 5.0  # window of means and quantiles
BATCH_S: Final = 60.0  # window of the batch sizes
Value = float | None
BUCKETS_MS: Final = 1000.0
CLASSES: Final = ("2xx", "3xx", "4xx", "5xx")
ANSWERED: Final = (*CLASSES, "requests", "request_bytes", "response_bytes")


@dataclass(frozen=True, slots=True)
class Answers:
    """What gateways saw in a window of ``seconds``."""

    seconds: float
    requests: int
    classes: Mapping[str, int]  # "2xx" to "5xx"
    histogram: Mapping[int, int]
    request_bytes: int
    response_bytes: int

    def counted(self, name: str) -> int:
        """Of ``ANSWERED``."""
        return int(self.classes.get(name, 0) if name in CLASSES else getattr(self, name))


class Window(Protocol):
    """A stretch of time over the replicas of one scope."""

    def rate(self, name: str) -> Value:
        """Increase of a counter per second, summed over replicas; None while none is sampled."""

    def total(self, name: str) -> float:
        """Increase of a counter over the window, summed over replicas."""

    def totals(self, prefix: str) -> dict[str, float]:
        """``total`` of every counter called ``<prefix>.<rest>``, by the rest."""

    def gauge(self, name: str) -> Value:
        """Of what stands in the last sample: the sum over replicas, or the largest of `LARGEST`."""

    def answers(self) -> Answers | None:
        """None when no gateway said anything."""

    def answered(self, name: str) -> Value:
        """What gateways counted (``ANSWERED``), per second; None when none said anything."""


Formula = Callable[[Window], Value]


@dataclass(frozen=True, slots=True)
class Metric:
    window_s: float  # at least so wide; 0 for what stands now
    formula: Formula


def _ratio(window: Window, above: str, below: str) -> Value:
    total = window.total(below)
    return window.total(above) / total if total > 0 else None


def _executed(window: Window) -> float:
    """Requests that were computed: those from the cache have no compute time."""
    return window.total("success") - window.total("hits")


def _compute(name: str) -> Formula:
    def formula(window: Window) -> Value:
        computed = _executed(window)
        return window.total(name) / computed if computed > 0 else None

    return formula


def _other(window: Window) -> Value:
    """What the request took beyond the queue and the three phases of compute."""
    whole = _ratio(window, "request_us", "success")
    parts = [_ratio(window, "queue_us", "success")]
    parts += [_compute(name)(window) for name in ("input_us", "infer_us", "output_us")]
    if whole is None or any(part is None for part in parts):
        return None
    return max(0.0, whole - sum(part for part in parts if part is not None))


def _requests(window: Window) -> Value:
    done, failed = window.rate("success"), window.rate("failure")
    return None if done is None else done + (failed or 0.0)


def _busy(window: Window) -> Value:
    rate, instances = window.rate("busy_us"), window.gauge("instances")
    return rate / 1e6 / instances if rate is not None and instances else None


def _hit_ratio(window: Window) -> Value:
    looked = window.total("hits") + window.total("misses")
    return window.total("hits") / looked if looked > 0 else None


def _quantile(q: float) -> Formula:
    def formula(window: Window) -> Value:
        answers = window.answers()
        return quantile_us(answers.histogram, q) if answers else None

    return formula


def _error_rate(window: Window) -> Value:
    """Answers of 4xx and 5xx over all, as clients saw them; None when there were none at all."""
    answers = window.answers()
    if answers is None or not answers.requests:
        return None
    failed = answers.classes.get("4xx", 0) + answers.classes.get("5xx", 0)
    return failed / answers.requests


def _answered(name: str) -> Formula:
    """Zero, not a gap, while replicas are sampled: an idle gateway says nothing."""

    def formula(window: Window) -> Value:
        rate = window.answered(name)
        if rate is None:
            return None if window.gauge("memory_bytes") is None else 0.0
        return rate

    return formula


def _first_response(q: float) -> Formula:
    """Interpolated within its bucket; buckets hold counts up to a bound in milliseconds."""

    def formula(window: Window) -> Value:
        bounds = {float(bound): count for bound, count in window.totals("first").items() if bound}
        total = bounds.get(float("inf"), 0.0)
        if total <= 0:
            return None
        low, below = 0.0, 0.0
        for bound in sorted(bounds):
            if bounds[bound] >= q * total:
                if bound == float("inf"):
                    return low * BUCKETS_MS
                inside = bounds[bound] - below
                share = (q * total - below) / inside if inside > 0 else 1.0
                return (low + (bound - low) * share) * BUCKETS_MS
            low, below = bound, bounds[bound]
        return low * BUCKETS_MS

    return formula


def _rate_of(name: str) -> Formula:
    return lambda window: window.rate(name)


def _ratio_of(above: str, below: str) -> Formula:
    return lambda window: _ratio(window, above, below)


def _gauge_of(name: str) -> Formula:
    return lambda window: window.gauge(name)


METRICS: Final[Mapping[str, Metric]] = {
    "request_rate": Metric(RATE_S, _requests),
    "inference_rate": Metric(RATE_S, _rate_of("inferences")),
    "answer_rate": Metric(RATE_S, _answered("requests")),
    "error_rate": Metric(MEAN_S, _error_rate),
    "answers_2xx": Metric(RATE_S, _answered("2xx")),
    "errors_4xx": Metric(RATE_S, _answered("4xx")),
    "errors_5xx": Metric(RATE_S, _answered("5xx")),
    "failed_rejected": Metric(RATE_S, _rate_of("failure.REJECTED")),
    "failed_canceled": Metric(RATE_S, _rate_of("failure.CANCELED")),
    "failed_backend": Metric(RATE_S, _rate_of("failure.BACKEND")),
    "failed_other": Metric(RATE_S, _rate_of("failure.OTHER")),
    "p50_us": Metric(MEAN_S, _quantile(0.5)),
    "p95_us": Metric(MEAN_S, _quantile(0.95)),
    "p99_us": Metric(MEAN_S, _quantile(0.99)),
    "request_us": Metric(MEAN_S, _ratio_of("request_us", "success")),
    "queue_us": Metric(MEAN_S, _ratio_of("queue_us", "success")),
    "compute_input_us": Metric(MEAN_S, _compute("input_us")),
    "compute_infer_us": Metric(MEAN_S, _compute("infer_us")),
    "compute_output_us": Metric(MEAN_S, _compute("output_us")),
    "other_us": Metric(MEAN_S, _other),
    "queue_share": Metric(MEAN_S, _ratio_of("queue_us", "request_us")),
    "mean_batch": Metric(MEAN_S, _ratio_of("rows", "executions")),
    "busy": Metric(MEAN_S, _busy),
    "cache_hits": Metric(MEAN_S, _hit_ratio),
    "first_p50_us": Metric(MEAN_S, _first_response(0.5)),
    "first_p95_us": Metric(MEAN_S, _first_response(0.95)),
    "received": Metric(RATE_S, _answered("request_bytes")),
    "sent": Metric(RATE_S, _answered("response_bytes")),
    "cpu": Metric(RATE_S, _rate_of("cpu_s")),
    "pending": Metric(0.0, _gauge_of("pending")),
    "memory_bytes": Metric(0.0, _gauge_of("memory_bytes")),
    "load_seconds": Metric(0.0, _gauge_of("load_seconds")),
}
# What gateways measure: they see a deployment, whichever of its replicas answers.
AT_GATEWAY: Final = frozenset(
    (
        "answer_rate", "error_rate", "answers_2xx", "errors_4xx", "errors_5xx",
        "p50_us", "p95_us", "p99_us", "received", "sent",
    )
)  # fmt: skip
# Of these what counts per second: it is known of a time once gateways have told of all of it.
RATES_AT_GATEWAY: Final = frozenset(
    ("answer_rate", "answers_2xx", "errors_4xx", "errors_5xx", "received", "sent")
)
# Gauges that are no amounts: of several replicas the largest is told. Load times: the slowest.
LARGEST: Final = frozenset(("load_seconds",))
OF_REPLICAS: Final = tuple(name for name in METRICS if name not in AT_GATEWAY)
# Of a node: what its own samples say, all gauges.
HOST: Final = ("host_cpu", "host_memory", "host_memory_total", "disk_used", "disk_total")
GPU: Final = ("util", "memory", "memory_total", "temperature", "power")  # gpu<index>_<gauge>


def batch_share(window: Window, size: str) -> Value:
    """Share of executions with this batch size."""
    counts = window.totals("batch")
    total = sum(counts.values())
    return counts.get(size, 0.0) / total if total > 0 else None


def batch_compute_us(window: Window, size: str) -> Value:
    """Mean time in the model of an execution with this batch size."""
    return _ratio(window, f"batch_us.{size}", f"batch.{size}")


SIZED: Final[Mapping[str, Callable[[Window, str], Value]]] = {
    "batch": batch_share,
    "batch_us": batch_compute_us,
}


def value(window_of: Callable[[float], Window], metric: str, size: str = "") -> Value:
    """``window_of`` gives the window of a width in seconds. Unknown metrics are gauges of nodes."""
    if metric in SIZED:
        return SIZED[metric](window_of(BATCH_S), size)
    known = METRICS.get(metric)
    if known is None:
        return window_of(0.0).gauge(metric)
    return known.formula(window_of(known.window_s))
