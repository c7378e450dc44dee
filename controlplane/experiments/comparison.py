"""Pure: how the arms of a split compare with one of them, by the sequential test of rollouts.

Both directions are asked, so that an arm may be found better as well as worse. The test may be
looked at any time; the intervals of shares are of one look.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import NormalDist
from typing import Final

from controlplane.metrics.histogram import quantile_us
from controlplane.rollouts import (
    MEASURES,
    MIN_REQUESTS,
    Arm,
    Known,
    Plan,
    Tally,
    Window,
    confidence,
    learned,
    started,
)

COMPARED: Final = ("errors", "refusals", "latency_p95", "latency_p99")
SURE: Final = 0.95  # of the intervals
QUANTILES: Final = (0.5, 0.95, 0.99)


class Verdict(StrEnum):
    WORSE = "worse"
    BETTER = "better"
    NO_DIFFERENCE = "no_difference"  # that the test has found
    TOO_LITTLE_DATA = "too_little_data"


@dataclass(frozen=True, slots=True)
class Measured:
    """One arm over the whole time. ``missing``: requests until there is a verdict."""

    requests: int
    failed: int
    refused: int
    failed_between: tuple[float, float]
    quantiles_us: tuple[float | None, ...]
    missing: int


@dataclass(frozen=True, slots=True)
class Difference:
    """One measure of an arm beside the baseline's, in the windows in which both answered.
    ``worse`` and ``better``: how sure that is; ``needed``: from when on it is said."""

    measure: str
    title: str
    own: Tally
    baseline: Tally
    worse: float
    better: float
    needed: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Comparison:
    measured: Measured
    verdict: Verdict
    text: str
    differences: tuple[Difference, ...] = field(default_factory=tuple)


Moments = Mapping[float, Mapping[str, Arm]]  # by the end of a window, of each deployment


def compared(moments: Moments, arms: Sequence[str], now: float) -> dict[str, Comparison]:
    """By arm; the first is the baseline."""
    baseline = arms[0]
    measured = {name: _measured(moments, name) for name in arms}
    found = {baseline: Comparison(measured[baseline], *_alone(measured[baseline], baseline))}
    for name in arms[1:]:
        own, beside = measured[name], measured[baseline]
        differences = tuple(_differences(moments, name, baseline, now))
        verdict, text = _verdict(name, own, baseline, beside, differences)
        found[name] = Comparison(own, verdict, text, differences)
    return found


def interval(bad: int, of: int) -> tuple[float, float]:
    """Of a share, by Wilson's score: also of none, and of few, it is no nonsense."""
    if not of:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + SURE) / 2)
    share, less = bad / of, 1 + z * z / of
    middle = share + z * z / (2 * of)
    spread = z * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    low, high = (middle - spread) / less, (middle + spread) / less
    return (low if bad else 0.0), (high if bad < of else 1.0)


def _measured(moments: Moments, name: str) -> Measured:
    histogram: dict[int, int] = {}
    requests = failed = refused = 0
    for arms in moments.values():
        arm = arms.get(name, Arm())
        requests, failed = requests + arm.requests, failed + arm.failed
        refused += arm.refused
        for bucket, count in arm.histogram.items():
            histogram[bucket] = histogram.get(bucket, 0) + count
    return Measured(
        requests=requests,
        failed=failed,
        refused=refused,
        failed_between=interval(failed, requests),
        quantiles_us=tuple(quantile_us(histogram, q) for q in QUANTILES),
        missing=max(0, MIN_REQUESTS - requests),
    )


def _differences(moments: Moments, name: str, baseline: str, now: float) -> Iterable[Difference]:
    worse, better = (_known(moments, *pair, now) for pair in ((name, baseline), (baseline, name)))
    for measure in COMPARED:
        forth, back = worse.get(measure, Known()), better.get(measure, Known())
        needed = MEASURES[measure].confidence or 1.0
        sure = confidence(forth.weights), confidence(back.weights)
        few = min(forth.candidate.of, forth.stable.of) < MIN_REQUESTS
        if few:
            verdict = Verdict.TOO_LITTLE_DATA
        elif sure[0] >= needed:
            verdict = Verdict.WORSE
        elif sure[1] >= needed:
            verdict = Verdict.BETTER
        else:
            verdict = Verdict.NO_DIFFERENCE
        yield Difference(
            measure=measure,
            title=MEASURES[measure].title,
            own=forth.candidate,
            baseline=forth.stable,
            worse=sure[0],
            better=sure[1],
            needed=needed,
            verdict=verdict,
        )


def _known(moments: Moments, candidate: str, stable: str, now: float) -> Mapping[str, Known]:
    """What is known of one arm being worse than the other, from the windows that both are in."""
    windows = [
        Window(at, arms[candidate], arms[stable])
        for at, arms in moments.items()
        if candidate in arms and stable in arms
    ]
    guardrails = {name: guard for name, guard in Plan().guardrails.items() if name in COMPARED}
    return learned(started(now, Arm()), windows, Plan(guardrails=guardrails), now).known


def _alone(measured: Measured, name: str) -> tuple[Verdict, str]:
    if measured.missing:
        return Verdict.TOO_LITTLE_DATA, f"{_few(name, measured)}."
    return Verdict.NO_DIFFERENCE, f"The others are compared with {name}."


def _verdict(
    name: str,
    own: Measured,
    baseline: str,
    beside: Measured,
    differences: Sequence[Difference],
) -> tuple[Verdict, str]:
    """What is worse goes before what is better: who promotes must see it."""
    few = [_few(*arm) for arm in ((name, own), (baseline, beside)) if arm[1].missing]
    if few:
        return Verdict.TOO_LITTLE_DATA, f"Too little for a verdict: {' and '.join(few)}."
    known = [one for one in differences if one.verdict != Verdict.TOO_LITTLE_DATA]
    if not known:
        text = (
            f"{name} and {baseline} have not both answered {MIN_REQUESTS} requests in the same "
            "minutes."
        )
        return Verdict.TOO_LITTLE_DATA, text
    for verdict in (Verdict.WORSE, Verdict.BETTER):
        told = [_told(one, name, baseline) for one in known if one.verdict == verdict]
        if told:
            return verdict, f"{name} is {verdict} than {baseline}: {'; '.join(told)}."
    untimed = [one.title for one in differences if one.verdict == Verdict.TOO_LITTLE_DATA]
    left_out = f" Not compared: {', '.join(untimed)}." if untimed else ""
    return Verdict.NO_DIFFERENCE, f"No difference between {name} and {baseline} is seen.{left_out}"


def _few(name: str, measured: Measured) -> str:
    return (
        f"{measured.requests:,} of {MIN_REQUESTS:,} requests of {name}, "
        f"{measured.missing:,} are missing"
    )


def _told(one: Difference, name: str, baseline: str) -> str:
    sure = max(one.worse, one.better)
    return (
        f"{one.title}: {one.own.bad:,} of {one.own.of:,} of {name}, {one.baseline.bad:,} of "
        f"{one.baseline.of:,} of {baseline}, with a confidence of "
        f"{min(int(sure * 100_000), 99_999) / 1000:g} %"
    )
