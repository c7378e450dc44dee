"""Pure: quantiles from the gateway's logarithmic histogram, the only ones that may be merged."""

from collections.abc import Iterable, Mapping
from typing import Final

FIRST_US: Final = 50.0
GROWTH: Final = 1.05
# Of the exported histograms, in seconds. Objectives of latency name one of them.
BOUNDS_S: Final = (
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0,
)  # fmt: skip
Histogram = Mapping[str, int]  # bucket index as text -> count; see wire.samples.GatewaySample


def merged(histograms: Iterable[Histogram]) -> dict[int, int]:
    total: dict[int, int] = {}
    for histogram in histograms:
        for bucket, count in histogram.items():
            total[int(bucket)] = total.get(int(bucket), 0) + count
    return total


def edge_s(bucket: int) -> float:
    """The upper edge of a bucket in seconds."""
    return FIRST_US * GROWTH ** (bucket + 1) / 1e6


def within(histogram: Histogram, bound_s: float) -> int:
    """How many surely took no longer: a bucket counts by its upper edge, so that requests of the
    last 5 % below the bound count as slower. Prometheus is told the same."""
    return sum(count for bucket, count in histogram.items() if edge_s(int(bucket)) <= bound_s)


def quantile_us(histogram: Mapping[int, int], q: float) -> float | None:
    """The ``q``-quantile (0..1) in microseconds; None when nothing was counted.

    Within a bucket values are taken as spread evenly on its logarithmic scale, so that the error is
    below the bucket's width of 5 %.
    """
    total = sum(histogram.values())
    if total <= 0:
        return None
    rank = q * total
    seen = 0.0
    last = max(histogram)
    for bucket in sorted(histogram):
        count = histogram[bucket]
        if count and (seen + count >= rank or bucket == last):
            share = min(1.0, max(0.0, (rank - seen) / count))
            if bucket < 0:
                return FIRST_US * share
            return FIRST_US * float(GROWTH ** (bucket + share))
        seen += count
    return None
