"""Pure: values of the panels from raw samples, by the keys that the studio draws.

A key is ``<metric>.<deployment>``, with ``all`` for the whole endpoint and ``node:<name>`` for a
machine; the metrics of batch sizes are ``batch.<size>.all`` and ``batch_us.<size>.all``.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final

from controlplane.metrics import formulas
from controlplane.metrics.counters import STALE_S, Track, track
from controlplane.metrics.formulas import (
    BATCH_S,
    CLASSES,
    LARGEST,
    MEAN_S,
    METRICS,
    SIZED,
    Answers,
    Value,
)
from controlplane.metrics.histogram import merged
from controlplane.metrics.types import SAMPLE_INTERVAL_S

LOOKBACK_S: Final = BATCH_S + 10.0
MEAN_LOOKBACK_S: Final = MEAN_S + 10.0  # where nobody asks for batch sizes
# Gateways tell of an interval once it is over, and of an idle one not at all. What none has told
# after so long did not happen.
TOLD_AFTER_S: Final = SAMPLE_INTERVAL_S + 1.0
ALL: Final = "all"
NODE: Final = "node:"
# What a GPU may not tell: its gauge, the node's word for it.
TOLD: Final = (("util", "utilization"), ("temperature", "temperature_c"), ("power", "power_w"))
Sample = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """Samples of one scope: tracks of its replicas, gateway samples, samples of a machine."""

    tracks: tuple[Track, ...] = ()
    gateway: tuple[Sample, ...] = ()  # wire.samples.GatewaySample as parsed, by time
    gateway_at: tuple[float, ...] = ()
    gateway_until: Mapping[str, float] = field(default_factory=dict)  # name -> its last sample
    gateway_longest_s: float = 0.0  # interval of a sample
    host: tuple[Mapping[str, float], ...] = ()
    host_at: tuple[float, ...] = ()


@dataclass(slots=True)
class LiveWindow:
    """A ``formulas.Window`` over samples: ``width_s`` seconds that end at ``t``.

    ``told``: until when gateways have told of everything; each has until its last sample, too.
    Where ``t`` is later, ``answered`` is of the last ``width_s`` seconds that they told of.
    """

    source: Source
    t: float
    width_s: float
    told: float = inf
    spans: list[tuple[Track, tuple[int, int]]] = field(init=False)
    _seen: list[Answers | None] = field(init=False, default_factory=list)  # computed once
    _shares: list[tuple[Sample, float]] | None = field(init=False, default=None)  # likewise

    def __post_init__(self) -> None:
        spans = ((one, one.window(self.t, self.width_s)) for one in self.source.tracks)
        self.spans = [
            (one, span) for one, span in spans if span is not None and one.seconds(span) > 0
        ]

    def rate(self, name: str) -> Value:
        if not self.spans:
            return None
        return sum(one.increase(name, span) / one.seconds(span) for one, span in self.spans)

    def total(self, name: str) -> float:
        return sum(one.increase(name, span) for one, span in self.spans)

    def totals(self, prefix: str) -> dict[str, float]:
        start = f"{prefix}."
        names = {
            name for one, span in self.spans for name in one.sums[span[1]] if name.startswith(start)
        }
        return {name.removeprefix(start): self.total(name) for name in names}

    def gauge(self, name: str) -> Value:
        if self.source.host:
            last = bisect_right(self.source.host_at, self.t) - 1
            if last < 0 or self.t - self.source.host_at[last] > STALE_S:
                return None
            return self.source.host[last].get(name)
        found = [
            one.gauges[index].get(name, 0.0)
            for one in self.source.tracks
            if (index := one.latest(self.t)) is not None
        ]
        if not found:
            return None
        return float(max(found) if name in LARGEST else sum(found))

    def answers(self) -> Answers | None:
        if not self._seen:
            self._seen.append(self._add_up())
        return self._seen[0]

    def _add_up(self) -> Answers | None:
        at = self.source.gateway_at
        first = bisect_right(at, self.t - self.width_s)
        seen = self.source.gateway[first : bisect_right(at, self.t)]
        return answers(seen, self.width_s) if seen else None

    def answered(self, name: str) -> Value:
        if self._shares is None:
            self._shares = list(self._within())
        if not self._shares:
            return None
        return sum(share * _counted(one, name) for one, share in self._shares) / self.width_s

    def _within(self) -> Iterator[tuple[Sample, float]]:
        """Samples, and how much of each lies in the window.

        Why not whole ones: their intervals are a little longer than the window that is meant, so
        that it would hold none now and then, and a busy endpoint would seem idle.
        """
        of = self.source
        first = bisect_right(of.gateway_at, min(self.t, self.told) - self.width_s)
        last = bisect_right(of.gateway_at, self.t + of.gateway_longest_s)
        for sample in of.gateway[first:last]:
            at, interval_s = float(sample["at"]), float(sample["interval_s"])
            until = of.gateway_until[sample.get("gateway", "")]
            end = min(self.t, max(self.told, until))
            start = end - self.width_s
            within_s = min(at, end) - max(at - interval_s, start)
            if interval_s > 0 and within_s > 0:
                yield sample, within_s / interval_s
            elif interval_s <= 0 and start < at <= end:
                yield sample, 1.0


def _counted(sample: Sample, name: str) -> int:
    """Of ``formulas.ANSWERED``."""
    return int((sample["status_classes"] if name in CLASSES else sample).get(name, 0))


def answers(seen: Sequence[Sample], width_s: float) -> Answers:
    """Gateway samples added up."""
    classes: dict[str, int] = {}
    for sample in seen:
        for kind, count in sample["status_classes"].items():
            classes[kind] = classes.get(kind, 0) + int(count)
    return Answers(
        seconds=max([width_s, *(float(sample["interval_s"]) for sample in seen)]),
        requests=sum(int(sample["requests"]) for sample in seen),
        classes=classes,
        histogram=merged(sample["histogram"] for sample in seen),
        request_bytes=sum(int(sample.get("request_bytes", 0)) for sample in seen),
        response_bytes=sum(int(sample.get("response_bytes", 0)) for sample in seen),
    )


def tracks(replica_samples: Iterable[Sample], only: str = "") -> dict[tuple[str, str], Track]:
    """Deployment and replica -> its track; samples in the order in which they came."""
    by_replica: dict[tuple[str, str], list[Sample]] = {}
    for sample in replica_samples:
        by_replica.setdefault((sample["deployment"], sample["replica_id"]), []).append(sample)
    return {key: track(samples, only) for key, samples in by_replica.items()}


def source(found: Iterable[Track], gateway: Sequence[Sample] = ()) -> Source:
    return Source(
        tracks=tuple(found),
        gateway=tuple(gateway),
        gateway_at=tuple(float(sample["at"]) for sample in gateway),
        gateway_until={sample.get("gateway", ""): float(sample["at"]) for sample in gateway},
        gateway_longest_s=max((float(sample["interval_s"]) for sample in gateway), default=0.0),
    )


def sources(
    replica_samples: Iterable[Sample], gateway_samples: Iterable[Sample]
) -> dict[str, Source]:
    """Deployment -> its samples, and ``all``; those of replicas in the order in which they came,
    those of gateways in order of time."""
    return sources_of(tracks(replica_samples), gateway_samples)


def sources_of(
    found: Mapping[tuple[str, str], Track], gateway_samples: Iterable[Sample]
) -> dict[str, Source]:
    """The same of tracks by deployment and replica."""
    by_deployment: dict[str, list[Track]] = {ALL: []}
    for (deployment, _), made in found.items():
        by_deployment.setdefault(deployment, []).append(made)
        by_deployment[ALL].append(made)
    gateway: dict[str, list[Sample]] = {ALL: []}
    for sample in gateway_samples:
        gateway.setdefault(sample["deployment"], []).append(sample)
        gateway[ALL].append(sample)
    return {
        name: source(by_deployment.get(name, ()), gateway.get(name, ()))
        for name in {*by_deployment, *gateway}
    }


def host_source(samples: Sequence[tuple[float, Sample]]) -> Source:
    """From times and ``wire.messages.NodeInfo`` as parsed, in order of time."""
    return Source(
        host=tuple(host_gauges(info) for _, info in samples),
        host_at=tuple(at for at, _ in samples),
    )


def host_gauges(info: Sample) -> dict[str, float]:
    found = {
        "host_cpu": float(info.get("cpu_utilization", 0.0)),
        "host_memory": float(info.get("memory_used_bytes", 0)),
        "host_memory_total": float(info.get("memory_total_bytes", 0)),
        "disk_used": float(info.get("disk_total_bytes", 0) - info.get("disk_free_bytes", 0)),
        "disk_total": float(info.get("disk_total_bytes", 0)),
    }
    for gpu in info.get("gpus", ()):
        found[f"gpu{gpu['index']}_memory"] = float(gpu["memory_used_bytes"])
        found[f"gpu{gpu['index']}_memory_total"] = float(gpu["memory_total_bytes"])
        for gauge, reading in TOLD:
            if (value := gpu.get(reading)) is not None:
                found[f"gpu{gpu['index']}_{gauge}"] = float(value)
    return found


def keys(
    deployments: Iterable[str],
    sizes: Iterable[str],
    hosts: Mapping[str, Iterable[str]] | None = None,
) -> list[str]:
    """In a stable order: deployments by name, then all, then batch sizes, then machines."""
    names = [*sorted(set(deployments) - {ALL}), ALL]
    ordered = sorted(set(sizes), key=int)
    return (
        [f"{metric}.{name}" for name in names for metric in METRICS]
        + [f"{metric}.{size}.{ALL}" for metric in SIZED for size in ordered]
        + [
            f"{gauge}.{NODE}{host}"
            for host, gauges in sorted((hosts or {}).items())
            for gauge in sorted(gauges)
        ]
    )


def parse(key: str) -> tuple[str, str, str]:
    """Metric, batch size ("" for most) and scope of a key."""
    metric, _, rest = key.partition(".")
    if metric in SIZED:
        size, _, scope = rest.partition(".")
        return metric, size, scope
    return metric, "", rest


def batch_sizes(of: Source) -> set[str]:
    """Sizes that were executed since counting began, as text."""
    return {
        name.removeprefix("batch.")
        for one in of.tracks
        if one.sums
        for name in one.sums[-1]
        if name.startswith("batch.") and one.increase(name, one.all) > 0
    }


def windows(
    of: Source, t: float, step_s: float, told: float = inf
) -> Callable[[float], LiveWindow]:
    """Windows that end at ``t``, at least ``step_s`` wide: no sample is missed between two points
    of a coarse series."""
    made: dict[float, LiveWindow] = {}

    def window(width_s: float) -> LiveWindow:
        width_s = max(width_s, step_s)
        if width_s not in made:
            made[width_s] = LiveWindow(of, t, width_s, told)
        return made[width_s]

    return window


def values(
    by_scope: Mapping[str, Source],
    wanted: Sequence[str],
    t: float,
    *,
    step_s: float = 0.0,
    told: float = inf,
) -> list[Value]:
    """One value per key at ``t``."""
    empty = Source()
    of_scope: dict[str, Callable[[float], LiveWindow]] = {}
    found = []
    for key in wanted:
        metric, size, scope = parse(key)
        if scope not in of_scope:
            of_scope[scope] = windows(by_scope.get(scope, empty), t, step_s, told)
        found.append(formulas.value(of_scope[scope], metric, size))
    return found
