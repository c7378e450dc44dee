"""``make rollout-sim``: the judgement of rollouts against made versions, seed by seed.

Each seed sends made requests to both arms by the shares of the step, window by window; the
judgement is the very function that acts on endpoints. Exit 1 where a bar is missed: of bad versions
95 of 100 are withdrawn within their first 200 requests, of good ones at most 1 of 100, in the whole
rollout. Wrong answers are found by inputs that both versions are asked: there the first 200 are
inputs, of which the candidate gets one request each.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from controlplane.metrics.histogram import FIRST_US, GROWTH
from controlplane.rollouts import (
    ASKED_AGAIN,
    BLUE_GREEN,
    Action,
    Arm,
    Compared,
    Facts,
    Plan,
    Shadow,
    Step,
    Window,
    compared_with,
    judge,
    started,
)

WINDOW_S = 2.0
FIRST = 200  # requests of the candidate
SEEDS = 1000
STAGED = Plan(steps=(Step(1, 120), Step(10, 120), Step(50, 120), Step(100, 0)))
SWITCHED = Plan(steps=(Step(0, 60), Step(100, 600)), strategy=BLUE_GREEN)
COPIED = Plan(steps=STAGED.steps, shadow=Shadow(10, 300))
SAMPLED_S = 1.0  # between two samples of replicas, which count copies
LATE_S = 0.2  # from a sample until somebody can look at it
KNOWN_S = 3600.0  # before a switch, of what the stable version is known by
LONGEST_S = 3600.0
INPUTS = 1500  # that both versions are asked in a rollout of 50 minutes, 30 a minute


@dataclass(frozen=True, slots=True)
class Version:
    """``failing``: share of its requests that fail; ``times``: how much longer it takes; ``wrong``:
    share of its answers that are another than the stable version's; ``random``: share of the
    answers of both that are another than the same version gave before."""

    failing: float = 0.002
    times: float = 1.0
    wrong: float = 0.0
    random: float = 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """``outage``: share of all requests that fail besides, in both arms, from one second to
    another. ``bar``: the share of runs that must (``bad``) or may be withdrawn; None: only told."""

    name: str
    candidate: Version
    stable: Version = Version()
    bad: bool = False
    bar: float | None = None
    rate: float = 500.0  # requests per second
    outage: tuple[float, float, float] | None = None
    compares: bool = False  # answers to the same inputs, and nothing else
    plan: Plan = STAGED


GOOD = 0.01
CAUGHT = 0.95
CASES = (
    *(
        Case(f"5 % errors, stable {share:.1%}", Version(0.05), Version(share), True, bar)
        for share, bar in ((0.0, CAUGHT), (0.001, CAUGHT), (0.002, CAUGHT), (0.003, CAUGHT),
                           (0.005, None), (0.01, None))
    ),
    Case("10 % errors, stable 3 %", Version(0.1), Version(0.03), True),
    Case("twice as slow", Version(times=2.0), bad=True),
    Case("half as slow again", Version(times=1.5), bad=True),
    Case("the same version", Version(), bar=GOOD),
    Case("the same, few requests", Version(), bar=GOOD, rate=100.0),
    Case("the same, 3 % errors in both", Version(0.03), Version(0.03), bar=GOOD),
    Case("the same, an outage of both", Version(), bar=GOOD, outage=(60, 90, 0.3)),
    Case("a tenth slower", Version(times=1.1), bar=GOOD),
    *(
        Case(f"switch: 5 % errors, stable {share:.1%}", Version(0.05), Version(share), True, bar,
             rate, plan=SWITCHED)
        for share, rate, bar in ((0.0, 20.0, CAUGHT), (0.002, 20.0, CAUGHT), (0.003, 20.0, None),
                                 (0.01, 20.0, None), (0.002, 5.0, None))
    ),
    Case("switch: twice as slow", Version(times=2.0), bad=True, rate=20.0, plan=SWITCHED),
    Case("switch: the same version", Version(), bar=GOOD, rate=100.0, plan=SWITCHED),
    Case("switch: the same, few requests", Version(), bar=GOOD, rate=5.0, plan=SWITCHED),
    Case("switch: the same, 3 % errors", Version(0.03), Version(0.03), bar=GOOD, rate=50.0,
         plan=SWITCHED),
    Case("switch: the same, an outage", Version(), rate=50.0, outage=(120, 150, 0.3),
         plan=SWITCHED),
    *(
        Case(f"copies: 5 % errors, stable {share:.1%}", Version(0.05), Version(share), True, CAUGHT,
             100.0, plan=COPIED)
        for share in (0.0, 0.002)
    ),
    *(
        Case(f"copies of {percent} %: 5 % errors", Version(0.05), Version(0.0), True, None, 60.0,
             plan=replace(COPIED, shadow=Shadow(percent, 300)))
        for percent in (20, 50)
    ),
    Case("copies: twice as slow", Version(times=2.0), bad=True, rate=20.0, plan=COPIED),
    Case("copies: the same version", Version(), bar=GOOD, rate=100.0, plan=COPIED),
    Case("copies: the same, an outage", Version(), bar=GOOD, rate=100.0, outage=(60, 90, 0.3),
         plan=COPIED),
    Case("5 % wrong answers", Version(wrong=0.05), bad=True, bar=CAUGHT, compares=True),
    Case("10 % wrong answers", Version(wrong=0.1), bad=True, bar=CAUGHT, compares=True),
    Case("2 % wrong answers", Version(wrong=0.02), bad=True, compares=True),
    Case("5 % wrong, 1 % random", Version(wrong=0.05, random=0.01), bad=True, compares=True),
    Case("the same answers", Version(), bar=GOOD, compares=True),
    Case("the same, 1 % random", Version(random=0.01), bar=GOOD, compares=True),
    Case("the same, 20 % random", Version(random=0.2), bar=GOOD, compares=True),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """``requests``: of the candidate until it ended."""

    withdrawn: bool
    requests: int
    seconds: float
    cause: str
    reason: str = field(repr=False, default="")

    @property
    def early(self) -> bool:
        return self.withdrawn and self.requests <= FIRST


def simulated(case: Case, seed: int, plan: Plan | None = None) -> Run:
    """One rollout to its end."""
    rng = np.random.default_rng(seed)
    plan = plan or case.plan
    if case.compares:
        return _compared(case.candidate, rng, plan)
    known = case.rate * KNOWN_S if plan.strategy == BLUE_GREEN else 4000
    state, now, requests = started(0.0, _arm(rng, case.stable, int(known), 0.0)), 0.0, 0
    phase, unseen = float(rng.uniform(0, SAMPLED_S)), (Arm(), Arm())
    facts = Facts(candidate="green")
    while now < LONGEST_S:
        now += WINDOW_S
        if state.step >= plan.ends_at:
            return Run(False, requests, now, "done")
        stage = plan.stages[state.step]
        share, copies = stage.percent / 100, []
        extra = 0.0
        if case.outage is not None and case.outage[0] <= now < case.outage[1]:
            extra = case.outage[2]
        whole = int(rng.poisson(case.rate * WINDOW_S))
        own = int(rng.binomial(whole, share))
        window = Window(
            now, _arm(rng, case.candidate, own, extra), _arm(rng, case.stable, whole - own, extra)
        )
        if stage.mirror:
            heard = phase + SAMPLED_S * math.floor((now - LATE_S - phase) / SAMPLED_S)
            counted, own = _copies(rng, case, stage.mirror, heard - now + WINDOW_S, extra)
            copies = [Window(heard, *map(_both, unseen, counted))]
            unseen, more = _copies(rng, case, stage.mirror, now - heard, extra)
            own += more
        requests += own
        found = judge(plan, state, [window], facts, now, copies)
        state = found.state
        if found.action == Action.WITHDRAW:
            return Run(True, requests, now, found.cause, found.reason)
    return Run(False, requests, now, found.cause, found.reason)


def _compared(candidate: Version, rng: np.random.Generator, plan: Plan) -> Run:
    """One input after the other. Where the first answer is the odd one, all others differ."""
    known, state, now = Compared(), started(0.0, Arm()), 0.0
    for asked in range(1, INPUTS + 1):
        now += WINDOW_S
        first = rng.random() < candidate.random
        again = [first or odd < candidate.random for odd in rng.random(ASKED_AGAIN)]
        own = first or rng.random() < candidate.random or rng.random() < candidate.wrong
        known = compared_with(known, _odd(own), tuple(map(_odd, again)), 1.0)
        found = judge(plan, state, [], Facts(candidate="green", compared=known), now)
        if found.action == Action.WITHDRAW:
            return Run(True, asked, now, found.cause, found.reason)
    return Run(False, INPUTS, now, "done")


def _odd(differs: object) -> str:
    return "another answer" if differs else ""


def _micros(rng: np.random.Generator, version: Version, count: int) -> NDArray[np.float64]:
    """Latencies as servers have them: a lognormal body, and a tail of one in fifty."""
    micros = rng.lognormal(np.log(20_000), 0.35, count) * version.times
    micros[rng.random(count) < 0.02] *= 4
    return micros


def _counted(rng: np.random.Generator, version: Version, count: int, extra: float) -> Arm:
    """As replicas count: no latencies, but their sum over what did not fail."""
    failed = int(rng.binomial(count, 1 - (1 - version.failing) * (1 - extra)))
    return Arm(count, failed, total_us=float(_micros(rng, version, count - failed).sum()))


def _copies(
    rng: np.random.Generator, case: Case, percent: int, seconds: float, extra: float
) -> tuple[tuple[Arm, Arm], int]:
    """What replicas of candidate and stable version count in so many seconds, and the copies."""
    asked = int(rng.poisson(case.rate * seconds))
    own = int(rng.binomial(asked, percent / 100))
    arms = ((case.candidate, own), (case.stable, asked))
    new, old = (_counted(rng, *arm, extra) for arm in arms)
    return (new, old), own


def _both(one: Arm, other: Arm) -> Arm:
    return Arm(
        one.requests + other.requests,
        one.failed + other.failed,
        total_us=one.total_us + other.total_us,
    )


def _arm(rng: np.random.Generator, version: Version, count: int, extra: float) -> Arm:
    micros = _micros(rng, version, count)
    buckets = np.floor(np.log(micros / FIRST_US) / np.log(GROWTH)).astype(int)
    keys, counts = np.unique(buckets, return_counts=True)
    failing = 1 - (1 - version.failing) * (1 - extra)
    return Arm(
        requests=count,
        failed=int(rng.binomial(count, failing)),
        histogram=dict(zip(keys.tolist(), counts.tolist(), strict=True)),
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    case: Case
    runs: list[Run]

    @property
    def withdrawn(self) -> float:
        return sum(run.withdrawn for run in self.runs) / len(self.runs)

    @property
    def early(self) -> float:
        return sum(run.early for run in self.runs) / len(self.runs)

    @property
    def holds(self) -> bool:
        if self.case.bar is None:
            return True
        return self.early >= self.case.bar if self.case.bad else self.withdrawn <= self.case.bar


def outcome(case: Case, seeds: int, mapped: Callable[..., Iterable[Run]] = map) -> Outcome:
    runs = mapped(simulated, [case] * seeds, range(seeds))
    return Outcome(case, list(runs))


def told(outcomes: list[Outcome]) -> str:
    lines = [
        f"{'candidate':34} {'runs':>5} {'withdrawn':>9} {'in first 200':>12} {'requests':>16} "
        f"{'seconds':>7}  bar"
    ]
    for one in outcomes:
        middle, late = np.quantile([run.requests for run in one.runs], (0.5, 0.95))
        seconds = np.median([run.seconds for run in one.runs])
        lines.append(
            f"{one.case.name:34} {len(one.runs):5} {one.withdrawn:9.1%} {one.early:12.1%} "
            f"{middle:7.0f} {late:8.0f} {seconds:7.0f}  {_bar(one)}"
        )
    lines.append("requests: of the candidate until the end, median and 95th percentile of the runs")
    return "\n".join(lines)


def _bar(one: Outcome) -> str:
    if one.case.bar is None:
        return "told only"
    wanted = f"{'>=' if one.case.bad else '<='} {one.case.bar:.0%}"
    return f"{wanted} {'holds' if one.holds else 'MISSED'}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with ProcessPoolExecutor(options.workers) as pool:
        outcomes = [outcome(case, options.seeds, pool.map) for case in CASES]
    print(told(outcomes))
    return 0 if all(one.holds for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
