"""Pure: the values of the live panels from samples, by the keys that the studio draws.

A key is ``<metric>.<deployment>``, with ``all`` for the whole endpoint. Requests, inferences, queue
and compute come from the runtimes' counters, latency quantiles and errors from the gateways.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from controlplane.metrics.counters import Track, track
from controlplane.metrics.histogram import merged, quantile_us

RATE_S: Final = 2.0  # window of rates
MEAN_S: Final = 5.0  # window of means and quantiles
BATCH_S: Final = 60.0  # window of the batch sizes
LOOKBACK_S: Final = BATCH_S + 10.0
ALL: Final = "all"
QUANTILES: Final = {"p50_us": 0.5, "p95_us": 0.95, "p99_us": 0.99}
MEANS: Final = {
    "queue_us": "queue_duration_us",
    "compute_input_us": "compute_input_duration_us",
    "compute_infer_us": "compute_infer_duration_us",
    "compute_output_us": "compute_output_duration_us",
}
METRICS: Final = (
    "request_rate",
    "inference_rate",
    "error_rate",
    "errors_4xx",
    "errors_5xx",
    *QUANTILES,
    *MEANS,
    "mean_batch",
    "pending",
    "memory_bytes",
)
Value = float | None


@dataclass(frozen=True, slots=True)
class Source:
    """Samples of one deployment, or of all: tracks of its replicas, and its gateway samples."""

    tracks: tuple[Track, ...] = ()
    gateway: tuple[Mapping[str, Any], ...] = ()  # wire.messages.GatewaySample as parsed, by time
    gateway_at: tuple[float, ...] = ()


def sources(
    replica_samples: Iterable[Mapping[str, Any]], gateway_samples: Iterable[Mapping[str, Any]]
) -> dict[str, Source]:
    """Deployment -> its samples, and ``all``; both inputs in order of time."""
    by_replica: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for sample in replica_samples:
        by_replica.setdefault((sample["deployment"], sample["replica_id"]), []).append(sample)
    tracks: dict[str, list[Track]] = {ALL: []}
    for (deployment, _), samples in by_replica.items():
        made = track(samples)
        tracks.setdefault(deployment, []).append(made)
        tracks[ALL].append(made)
    gateway: dict[str, list[Mapping[str, Any]]] = {ALL: []}
    for sample in gateway_samples:
        gateway.setdefault(sample["deployment"], []).append(sample)
        gateway[ALL].append(sample)
    return {
        name: Source(
            tracks=tuple(tracks.get(name, ())),
            gateway=tuple(gateway.get(name, ())),
            gateway_at=tuple(float(sample["at"]) for sample in gateway.get(name, ())),
        )
        for name in {*tracks, *gateway}
    }


def keys(deployments: Iterable[str], batch_sizes: Iterable[str]) -> list[str]:
    """In a stable order: deployments by name, then all, then batch sizes by size."""
    names = [*sorted(set(deployments) - {ALL}), ALL]
    sizes = sorted(set(batch_sizes), key=int)
    return [f"{metric}.{name}" for name in names for metric in METRICS] + [
        f"batch.{size}.{ALL}" for size in sizes
    ]


def batch_sizes(source: Source) -> set[str]:
    """Sizes that were executed in the window, as text."""
    latest = [t.sums[-1] for t in source.tracks if t.sums]
    return {
        name.removeprefix("batch.")
        for sums in latest
        for name, value in sums.items()
        if name.startswith("batch.") and value > 0
    }


def values(
    by_deployment: Mapping[str, Source], wanted: Sequence[str], t: float, *, step_s: float = 0.0
) -> list[Value]:
    """One value per key at ``t``. Windows are at least ``step_s`` wide, so that no sample is missed
    between two points of a coarse series."""
    empty = Source()
    found = []
    for key in wanted:
        metric, _, rest = key.partition(".")
        if metric == "batch":
            size, _, name = rest.partition(".")
            found.append(_batch_share(by_deployment.get(name, empty), size, t, step_s))
        else:
            found.append(_value(by_deployment.get(rest, empty), metric, t, step_s))
    return found


def _value(source: Source, metric: str, t: float, step_s: float) -> Value:
    if metric in QUANTILES:
        seen = _seen(source, t, max(MEAN_S, step_s))
        return quantile_us(merged(sample["histogram"] for sample in seen), QUANTILES[metric])
    if metric in MEANS:
        return _ratio(source, t, max(MEAN_S, step_s), MEANS[metric], "success")
    return _SINGLE[metric](source, t, step_s)


def _spans(source: Source, t: float, width_s: float) -> list[tuple[Track, tuple[int, int]]]:
    spans = ((one, one.window(t, width_s)) for one in source.tracks)
    return [(one, span) for one, span in spans if span is not None and one.seconds(span) > 0]


def _rate(source: Source, t: float, width_s: float, names: Sequence[str]) -> Value:
    spans = _spans(source, t, width_s)
    if not spans:
        return None
    return sum(
        sum(one.increase(name, span) for name in names) / one.seconds(span) for one, span in spans
    )


def _ratio(source: Source, t: float, width_s: float, above: str, below: str) -> Value:
    """ΣΔ above / ΣΔ below over replicas; None when nothing was counted below."""
    spans = _spans(source, t, width_s)
    total = sum(one.increase(below, span) for one, span in spans)
    if total <= 0:
        return None
    return sum(one.increase(above, span) for one, span in spans) / total


def _gauge(source: Source, t: float, name: str) -> Value:
    found = [
        getattr(one, name)[index] for one in source.tracks if (index := one.latest(t)) is not None
    ]
    return float(sum(found)) if found else None


def _batch_share(source: Source, size: str, t: float, step_s: float) -> Value:
    """Share of executions with this batch size."""
    spans = _spans(source, t, max(BATCH_S, step_s))
    counts: dict[str, float] = {}
    for one, span in spans:
        for name in one.sums[span[1]]:
            if name.startswith("batch."):
                counts[name] = counts.get(name, 0.0) + one.increase(name, span)
    total = sum(counts.values())
    return counts.get(f"batch.{size}", 0.0) / total if total > 0 else None


def _seen(source: Source, t: float, width_s: float) -> Sequence[Mapping[str, Any]]:
    """Gateway samples within (t - width_s, t]."""
    first = bisect_right(source.gateway_at, t - width_s)
    return source.gateway[first : bisect_right(source.gateway_at, t)]


def _error_rate(source: Source, t: float, step_s: float) -> Value:
    """Answers of 4xx and 5xx over all, as clients saw them; None when there were none at all."""
    seen = _seen(source, t, max(MEAN_S, step_s))
    total = sum(int(sample["requests"]) for sample in seen)
    if not total:
        return None
    return sum(_status(sample, "4xx") + _status(sample, "5xx") for sample in seen) / total


def _errors(source: Source, t: float, step_s: float, kind: str) -> Value:
    """Per second. Zero, not a gap, while replicas are sampled: an idle gateway says nothing."""
    width_s = max(RATE_S, step_s)
    seen = _seen(source, t, width_s)
    if not seen:
        return 0.0 if any(one.latest(t) is not None for one in source.tracks) else None
    longest = max([width_s, *(float(sample["interval_s"]) for sample in seen)])
    return sum(_status(sample, kind) for sample in seen) / longest


def _status(sample: Mapping[str, Any], kind: str) -> int:
    return int(sample["status_classes"].get(kind, 0))


_SINGLE: Final[Mapping[str, Callable[[Source, float, float], Value]]] = {
    "request_rate": lambda s, t, w: _rate(s, t, max(RATE_S, w), ("success", "failure")),
    "inference_rate": lambda s, t, w: _rate(s, t, max(RATE_S, w), ("inference_count",)),
    "error_rate": _error_rate,
    "errors_4xx": lambda s, t, w: _errors(s, t, w, "4xx"),
    "errors_5xx": lambda s, t, w: _errors(s, t, w, "5xx"),
    "mean_batch": lambda s, t, w: _ratio(s, t, max(MEAN_S, w), "inference_count", "exec_count"),
    "pending": lambda s, t, _: _gauge(s, t, "pending"),
    "memory_bytes": lambda s, t, _: _gauge(s, t, "memory_bytes"),
}
