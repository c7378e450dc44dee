"""The table of what a rollout is guarded by: one entry for each, and no other place names them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from controlplane.metrics.histogram import GROWTH
from controlplane.rollouts.agreement import ANSWERS
from controlplane.rollouts.copies import LATENCY_MEAN
from controlplane.rollouts.counts import Arm, Histogram, above, bucket_at
from controlplane.rollouts.evidence import NOTHING, Tally
from controlplane.rollouts.golden import GOLDEN
from controlplane.rollouts.saturation import SATURATION

LEAST_KNOWN: Final = 200  # timed answers of the stable version before its quantile is one
# A hiccup of one replica is no property of a version: of latencies a window says at most so much,
# so that there are three bad ones at least.
HICCUP: Final = 2.5

# Arms of a window, what the stable version's latencies were before it, tolerance -> both tallies.
Count = Callable[[Arm, Arm, Histogram, float], tuple[Tally, Tally]]


@dataclass(frozen=True, slots=True)
class Measure:
    """``count`` None: it is no share of requests, and ``of`` says of what: how many times replicas
    were restarted, how many golden cases are answered otherwise than expected, how much of what its
    replicas may use.

    ``tolerance``: the default of how many times as much as the stable version nobody minds, or how
    many, where it is not compared. ``confidence``: the default of what withdraws. The doubts of all
    that need no wish together are 1 %; ``answers``, which does, adds its own. ``scaled``: the
    tolerance is in ``count`` already. ``text`` goes on after "of its requests".
    """

    title: str
    text: str
    confidence: float | None
    tolerance: float
    count: Count | None = None
    of: str = "requests"
    scaled: bool = False
    most: float = math.inf  # of one window, as evidence.weighed takes it


def _share(counted: Callable[[Arm], int]) -> Count:
    def count(candidate: Arm, stable: Arm, _: Histogram, __: float) -> tuple[Tally, Tally]:
        one, other = (Tally(counted(arm), arm.requests) for arm in (candidate, stable))
        return one, other

    return count


def _slower(q: float) -> Count:
    """Answers above the stable version's ``q``-quantile of before; the candidate's may take
    ``tolerance`` times as long."""

    def count(
        candidate: Arm, stable: Arm, known: Histogram, tolerance: float
    ) -> tuple[Tally, Tally]:
        if sum(known.values()) < LEAST_KNOWN:
            return NOTHING, NOTHING
        limit = bucket_at(known, q)
        later = math.ceil(math.log(tolerance) / math.log(GROWTH) - 1e-9)
        return (
            Tally(above(candidate.histogram, limit + later), sum(candidate.histogram.values())),
            Tally(above(stable.histogram, limit), sum(stable.histogram.values())),
        )

    return count


MEASURES: Final[Mapping[str, Measure]] = {
    "errors": Measure(
        title="Server errors (5xx)",
        text="failed",
        confidence=0.993,
        tolerance=1.0,
        count=_share(lambda arm: arm.failed),
    ),
    "refusals": Measure(
        title="Refused requests (4xx)",
        text="were refused (4xx)",
        confidence=0.999,
        tolerance=1.0,
        count=_share(lambda arm: arm.refused),
    ),
    "latency_p95": Measure(
        title="Latency, p95",
        text="took longer than the stable version's p95",
        confidence=0.999,
        tolerance=1.2,
        count=_slower(0.95),
        scaled=True,
        most=HICCUP,
    ),
    "latency_p99": Measure(
        title="Latency, p99",
        text="took longer than the stable version's p99",
        confidence=0.999,
        tolerance=1.2,
        count=_slower(0.99),
        scaled=True,
        most=HICCUP,
    ),
    LATENCY_MEAN: Measure(
        title="Mean latency of copies",
        text="",
        confidence=0.9995,
        tolerance=1.2,
        of="windows",
    ),
    "restarts": Measure(
        title="Restarts of replicas",
        text="",
        confidence=None,
        tolerance=1,
        of="replicas",
    ),
    SATURATION: Measure(
        title="Use of its replicas",
        text="",
        confidence=None,
        tolerance=0.95,
        of="percent",
    ),
    ANSWERS: Measure(
        title="Answers to the same inputs",
        text="",
        confidence=0.995,
        tolerance=1.0,
        of="inputs",
    ),
    GOLDEN: Measure(
        title="Golden cases",
        text="",
        confidence=None,
        tolerance=0,
        of="cases",
    ),
}
