"""Pure: quantiles from the gateway's logarithmic histogram, the only ones that may be merged."""

from collections.abc import Iterable, Mapping
from typing import Final

FIRST_US: Final = 50.0
GROWTH: Final = 1.05
Histogram = Mapping[str, int]  # bucket index as text -> count; see wire.samples.GatewaySample


def merged(histograms: Iterable[Histogram]) -> dict[int, int]:
    total: dict[int, int] = {}
    for histogram in histograms:
        for bucket, count in histogram.items():
            total[int(bucket)] = total.get(int(bucket), 0) + count
    return total


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
