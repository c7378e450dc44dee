"""Which latency metrics are kept, as ``--metrics-config`` says."""

from msgspec import Struct

# quantile and the error that is allowed in it
QUANTILES = ((0.5, 0.05), (0.9, 0.01), (0.95, 0.001), (0.99, 0.001), (0.999, 0.001))


class MetricsConfig(Struct, frozen=True):
    """Defaults are Triton's. ``counters`` False freezes the success and count counters too."""

    counters: bool = True
    histograms: bool = False
    summaries: bool = False
    quantiles: tuple[tuple[float, float], ...] = QUANTILES
