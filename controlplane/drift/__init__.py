"""Statistics of captured tensors, and how far they are from a baseline: pure, from records."""

from controlplane.drift.comparison import (
    DRIFT_PSI,
    LEAST_ROWS,
    Comparison,
    Verdict,
    compared,
    ks_test,
    psi,
)
from controlplane.drift.histogram import Bar, bars
from controlplane.drift.records import (
    Malformed,
    Summary,
    merged_summaries,
    summarised,
)
from controlplane.drift.sketch import Sketch, merged, sketch_of

__all__ = [
    "DRIFT_PSI",
    "LEAST_ROWS",
    "Bar",
    "Comparison",
    "Malformed",
    "Sketch",
    "Summary",
    "Verdict",
    "bars",
    "compared",
    "ks_test",
    "merged",
    "merged_summaries",
    "psi",
    "sketch_of",
    "summarised",
]
