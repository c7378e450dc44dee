"""How far a feature is from its baseline: the population stability index, and for numbers the
two-sample test of Kolmogorov and Smirnov.

The index says how much it matters; the test, whether it may be chance. Both are of the samples that
sketches keep. scipy's test is not used: it would come into the product for twenty lines, against
which it is the oracle in our tests.
"""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import quantiles
from typing import Final, cast

from controlplane.drift.sketch import Sketch, Value

LEAST_ROWS: Final = 300  # of both; with fewer the index is mostly noise
BINS: Final = 10  # by quantiles of the baseline
MODERATE_PSI: Final = 0.1  # what practice calls a moderate and a large shift
DRIFT_PSI: Final = 0.25
CHANCE: Final = 0.01  # of the test, for all features together
MISSING_SHIFT: Final = 0.05  # of the share that is missing, which the test does not see
TERMS: Final = 100
TINY: Final = 1e-12
SMALLEST_LAMBDA: Final = 0.2  # below, the series is 1 to twelve digits


class Verdict(StrEnum):
    NO_BASELINE = "no_baseline"
    TOO_LITTLE_DATA = "too_little_data"
    STABLE = "stable"
    MODERATE = "moderate"
    DRIFT = "drift"


@dataclass(frozen=True, slots=True)
class Comparison:
    """``told`` says what stands in the way of a verdict, as "120 of 300 rows"."""

    verdict: Verdict
    psi: float | None = None
    ks: float | None = None
    p_value: float | None = None
    told: str = ""


def compared(
    baseline: Sketch | None,
    now: Sketch | None,
    *,
    features: int = 1,
    least: int = LEAST_ROWS,
    besides: str = "",
) -> Comparison:
    """``features``: how many are compared at once; the more, the rarer chance must be in each.
    ``besides``: what is not in ``now``, in words, for who wonders where its rows are."""
    if baseline is None:
        return Comparison(Verdict.NO_BASELINE)
    if baseline.rows < least:
        return _too_little("baseline", baseline.rows, least)
    if now is None or now.rows < least:
        return _too_little("window", 0 if now is None else now.rows, least, besides)
    if baseline.kind != now.kind:
        told = f"it was a {baseline.kind}, and is a {now.kind}"
        return Comparison(Verdict.DRIFT, told=told)
    index = psi(baseline, now)
    if baseline.kind == "text" or not (baseline.sample and now.sample):
        return Comparison(_verdict(index, likely_chance=False), index)
    statistic, p_value = ks_test(_numbers(baseline), _numbers(now))
    missing = abs(baseline.missing_share - now.missing_share) >= MISSING_SHIFT
    chance = p_value >= CHANCE / features and not missing
    return Comparison(_verdict(index, likely_chance=chance), index, statistic, p_value)


def _too_little(what: str, rows: int, least: int, besides: str = "") -> Comparison:
    told = f"the {what} has {rows} of {least} rows{besides}"
    return Comparison(Verdict.TOO_LITTLE_DATA, told=told)


def _verdict(index: float, *, likely_chance: bool) -> Verdict:
    if likely_chance or index < MODERATE_PSI:
        return Verdict.STABLE
    return Verdict.DRIFT if index >= DRIFT_PSI else Verdict.MODERATE


def _numbers(sketch: Sketch) -> Sequence[float]:
    return cast(Sequence[float], sketch.values)


def psi(baseline: Sketch, now: Sketch) -> float:
    """Over deciles of the baseline, or its categories, and what is missing as one more bin. An
    empty bin counts as half a value: the index stays finite."""
    before, after = _shares(baseline, now)
    least = (0.5 / max(1, len(baseline.sample)), 0.5 / max(1, len(now.sample)))
    total = 0.0
    for was, is_now in zip(before, after, strict=True):
        if was == is_now:
            continue
        p, q = max(was, least[0]), max(is_now, least[1])
        total += (q - p) * math.log(q / p)
    return total


def _shares(baseline: Sketch, now: Sketch) -> tuple[list[float], list[float]]:
    distinct = set(baseline.values)
    if baseline.kind == "text" or len(distinct) <= BINS:
        order: list[Value] = [value for value, _ in Counter(baseline.values).most_common(BINS)]
        place = {value: at for at, value in enumerate(order)}
        bins = len(order) + 1
        placed = [[place.get(value, bins - 1) for value in one.values] for one in (baseline, now)]
    else:
        numbers = _numbers(baseline)
        edges = sorted(set(quantiles(numbers, n=BINS, method="inclusive")))
        bins = len(edges) + 1
        placed = [
            [bisect_right(edges, value) for value in _numbers(one)] for one in (baseline, now)
        ]
    found = []
    for one, places in zip((baseline, now), placed, strict=True):
        counted = Counter(places)
        present = 1.0 - one.missing_share
        each = [counted[at] / len(places) * present if places else 0.0 for at in range(bins)]
        found.append([*each, one.missing_share])
    return found[0], found[1]


def ks_test(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """The largest distance of the two distribution functions, and how likely chance alone makes
    one as large (asymptotic, with Stephens' correction)."""
    first, second = sorted(one), sorted(other)
    statistic = max(
        abs(bisect_right(first, value) / len(first) - bisect_right(second, value) / len(second))
        for value in {*first, *second}
    )
    root = math.sqrt(len(first) * len(second) / (len(first) + len(second)))
    return statistic, _kolmogorov((root + 0.12 + 0.11 / root) * statistic)


def _kolmogorov(scaled: float) -> float:
    """How likely the distance, so scaled, is at least this."""
    if scaled < SMALLEST_LAMBDA:
        return 1.0
    total = 0.0
    for term in range(1, TERMS):
        part = math.exp(-2.0 * term * term * scaled * scaled)
        total += part if term % 2 else -part
        if part < TINY:
            break
    return min(1.0, max(0.0, 2.0 * total))
