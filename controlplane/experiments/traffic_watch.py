"""Pure: how those do who got more of the traffic, beside how the endpoint did before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from controlplane.metrics.histogram import quantile_us
from controlplane.rollouts import Arm, arm_of

BEFORE_S: Final = 300.0  # so much of the time before is compared with
FEW_REQUESTS: Final = 20  # fewer show little
ERROR_FACTOR, ERROR_SHARE = 2.0, 0.01  # so many times, and so much more, is worse
SLOWER_FACTOR, SLOWER_US = 1.5, 2_000.0  # likewise, of the p95


class WatchVerdict(StrEnum):
    FINE = "fine"
    TOO_FEW = "too_few"
    NONE_GAINS = "none_gains"
    NOBODY = "nobody"
    SLOWER = "slower"
    ERRORS = "errors"


_RANK: Final = list(WatchVerdict)  # the last is the worst


@dataclass(frozen=True, slots=True)
class Figures:
    requests: int
    error_share: float | None  # of answers from 400 on; None: there were no answers
    p95_us: float | None


@dataclass(frozen=True, slots=True)
class Gaining:
    deployment: str
    figures: Figures
    compared: bool  # enough came before
    verdict: WatchVerdict


@dataclass(frozen=True, slots=True)
class Watched:
    before: Figures
    gaining: tuple[Gaining, ...]
    verdict: WatchVerdict
    text: str


def watched(
    samples: Iterable[Mapping[str, Any]],
    gaining: Sequence[str],
    *,
    changed_at: float,
    since: float | None,
    nobody: bool = False,
) -> Watched:
    """``samples`` of gateways (``wire.samples.GatewaySample`` as parsed) from ``BEFORE_S`` before
    ``changed_at`` on. ``since``: when the change was routed; None: it is not yet. ``nobody``: the
    change leaves no deployment that answers."""
    rows = list(samples)
    earlier = [row for row in rows if changed_at - BEFORE_S < row["at"] <= changed_at]
    later = [row for row in rows if since is not None and row["at"] > since]
    before = figures(arm_of(earlier))
    found = tuple(
        _of_one(name, figures(arm_of([row for row in later if row["deployment"] == name])), before)
        for name in gaining
    )
    if not found:
        verdict = WatchVerdict.NOBODY if nobody else WatchVerdict.NONE_GAINS
    else:
        verdict = max((one.verdict for one in found), key=_RANK.index)
    return Watched(before, found, verdict, _text(verdict, found, before))


def figures(arm: Arm) -> Figures:
    failed = arm.failed + arm.refused
    return Figures(
        requests=arm.requests,
        error_share=failed / arm.requests if arm.requests else None,
        p95_us=quantile_us(arm.histogram, 0.95),
    )


def _of_one(name: str, now: Figures, before: Figures) -> Gaining:
    compared = before.requests >= FEW_REQUESTS
    return Gaining(name, now, compared, _verdict(now, before, compared))


def _verdict(now: Figures, before: Figures, compared: bool) -> WatchVerdict:
    if now.requests < FEW_REQUESTS:
        return WatchVerdict.TOO_FEW
    errors = now.error_share or 0.0
    errors_before = (before.error_share or 0.0) if compared else 0.0
    if errors > errors_before * ERROR_FACTOR and errors > errors_before + ERROR_SHARE:
        return WatchVerdict.ERRORS
    if not compared or now.p95_us is None or before.p95_us is None:
        return WatchVerdict.FINE
    slow = now.p95_us > before.p95_us * SLOWER_FACTOR and now.p95_us > before.p95_us + SLOWER_US
    return WatchVerdict.SLOWER if slow else WatchVerdict.FINE


def _text(verdict: WatchVerdict, found: Sequence[Gaining], before: Figures) -> str:
    if verdict == WatchVerdict.NOBODY:
        return "Nobody gets requests: every caller is answered 404."
    if verdict == WatchVerdict.NONE_GAINS:
        return "No deployment gets more requests than before."
    told = " ".join(_sentence(one) for one in found)
    if any(one.compared and one.verdict != WatchVerdict.TOO_FEW for one in found):
        return f"{told} Before the change: {_words(before)}."
    return told


def _sentence(one: Gaining) -> str:
    few = f"too few requests so far ({one.figures.requests}) to say how it does"
    said = {
        WatchVerdict.TOO_FEW: few,
        WatchVerdict.ERRORS: "fails more requests than before" if one.compared else "has errors",
        WatchVerdict.SLOWER: "is slower than before",
        WatchVerdict.FINE: "does no worse than before" if one.compared else "answers",
    }[one.verdict]
    if one.verdict == WatchVerdict.TOO_FEW:
        return f"{one.deployment}: {said}."
    return f"{one.deployment} {said}: {_words(one.figures)}."


def _words(found: Figures) -> str:
    p95 = "–" if found.p95_us is None else f"{found.p95_us / 1000:.1f} ms"
    return f"errors {100 * (found.error_share or 0.0):.2f} %, p95 {p95}"
