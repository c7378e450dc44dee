"""What gateways counted of the candidate and of the stable version, in the same windows."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from controlplane.metrics.histogram import merged

FAILED, REFUSED = "5xx", "4xx"
MOST_REMEMBERED: Final = 20_000  # answers of the stable version that its quantiles are of
Histogram = Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Arm:
    """``histogram``: as ``wire.samples.GatewaySample`` has it; streams are not in it.
    ``total_us``: of what a replica answered, which counts no histogram."""

    requests: int = 0
    failed: int = 0
    refused: int = 0
    histogram: Histogram = field(default_factory=dict)
    total_us: float = 0.0


@dataclass(frozen=True, slots=True)
class Window:
    """What one gateway saw in one interval, which ended at ``at`` (Unix seconds)."""

    at: float
    candidate: Arm
    stable: Arm


def windows(samples: Iterable[Mapping[str, Any]], candidate: str) -> list[Window]:
    """From gateway samples as rows keep them; every deployment but ``candidate`` is stable.

    Requests that reached no deployment are nobody's.
    """
    by_moment: dict[float, tuple[list[Any], list[Any]]] = {}
    for sample in samples:
        if sample["deployment"]:
            arms = by_moment.setdefault(float(sample["at"]), ([], []))
            arms[sample["deployment"] != candidate].append(sample)
    return [Window(at, arm_of(new), arm_of(old)) for at, (new, old) in sorted(by_moment.items())]


def arm_of(samples: Sequence[Mapping[str, Any]]) -> Arm:
    """All of them together."""

    def answered(kind: str) -> int:
        return sum(int(one["status_classes"].get(kind, 0)) for one in samples)

    return Arm(
        requests=sum(int(one["requests"]) for one in samples),
        failed=answered(FAILED),
        refused=answered(REFUSED),
        histogram=merged(one["histogram"] for one in samples),
    )


def added(one: Histogram, other: Histogram) -> dict[int, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {*one, *other}}


def remembered(before: Histogram, more: Histogram) -> dict[int, int]:
    """Both; the older counts for half, and half again, the more there is."""
    whole = added(before, more)
    while sum(whole.values()) > MOST_REMEMBERED:
        whole = {bucket: count // 2 for bucket, count in whole.items() if count > 1}
    return whole


def bucket_at(histogram: Histogram, q: float) -> int:
    """The bucket with the ``q``-quantile of what was counted, which is something."""
    rank, seen = q * sum(histogram.values()), 0
    for bucket in sorted(histogram):
        seen += histogram[bucket]
        if seen >= rank:
            return bucket
    return max(histogram)


def above(histogram: Histogram, bucket: int) -> int:
    return sum(count for one, count in histogram.items() if one > bucket)
