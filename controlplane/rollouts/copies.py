"""Copies of requests that the candidate gets before it has any traffic, as its replicas counted
them: gateways throw their answers away, and count none of them.

Replicas count failures and sums of durations, no latencies one by one. So the mean of the candidate
stands beside the stable version's, window by window: if it is no slower, it is the slower one by so
much in at most half of them, and ``evidence`` weighs just that.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from controlplane.rollouts.counts import Arm, Window
from controlplane.rollouts.evidence import NOTHING, START, Tally, confidence, gained

LATENCY_MEAN: Final = "latency_mean"  # its name among the measures
EVEN: Final = 1.0  # odds


@dataclass(frozen=True, slots=True)
class Copies:
    """``until``: what replicas counted up to then is in it (Unix seconds). ``candidate`` and
    ``stable``: sums. ``slower``: windows in which the candidate's mean was above what nobody
    minds."""

    until: float | None = None
    candidate: Arm = field(default_factory=Arm)
    stable: Arm = field(default_factory=Arm)
    slower: Tally = NOTHING
    weights: tuple[float, ...] = START

    @property
    def confidence(self) -> float:
        return confidence(self.weights)


def copies_with(known: Copies, windows: Iterable[Window], times: float | None) -> Copies:
    """``times``: as long as the stable version's mean is no concern; None: nobody asks."""
    for window in windows:
        new, old = mean_us(window.candidate), mean_us(window.stable)
        known = replace(
            known,
            until=window.at,
            candidate=_sum(known.candidate, window.candidate),
            stable=_sum(known.stable, window.stable),
        )
        if times is None or new is None or old is None:
            continue
        one = Tally(int(new > times * old), 1)
        known = replace(
            known,
            slower=known.slower + one,
            weights=gained(known.weights, one.bad, one.of, EVEN, math.inf),
        )
    return known


def mean_us(arm: Arm) -> float | None:
    """Of what it answered; None where that is nothing."""
    answered = arm.requests - arm.failed
    return arm.total_us / answered if answered > 0 else None


def copies_text(known: Copies, candidate: str, times: float, needed: str, sure: str) -> str:
    """``needed`` and ``sure``: confidences, as the other guardrails write them."""
    means = " and ".join(
        "nothing" if mean is None else f"{mean / 1000:.3g} ms"
        for mean in (mean_us(known.candidate), mean_us(known.stable))
    )
    return (
        f"{candidate} took longer for copies than {times:g} times the stable version's mean in "
        f"{known.slower.bad:,} of {known.slower.of:,} windows (in all {means}): it is slower with "
        f"a confidence of {sure}, {needed} withdraws it."
    )


def _sum(one: Arm, other: Arm) -> Arm:
    return Arm(
        requests=one.requests + other.requests,
        failed=one.failed + other.failed,
        total_us=one.total_us + other.total_us,
    )


def copies_to_json(known: Copies) -> dict[str, Any]:
    return {
        "until": known.until,
        "arms": [
            [arm.requests, arm.failed, arm.total_us] for arm in (known.candidate, known.stable)
        ],
        "slower": [known.slower.bad, known.slower.of],
        "weights": list(known.weights),
    }


def copies_from_json(kept: Mapping[str, Any] | None) -> Copies:
    if not kept:
        return Copies()
    new, old = (Arm(requests, failed, total_us=us) for requests, failed, us in kept["arms"])
    return Copies(
        until=kept["until"],
        candidate=new,
        stable=old,
        slower=Tally(*kept["slower"]),
        weights=tuple(kept["weights"]),
    )
