"""What a judgement rests on: replicas of both arms, and a figure for each guardrail."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from controlplane.rollouts.agreement import ANSWERS, Compared, compared_text
from controlplane.rollouts.copies import LATENCY_MEAN, Copies, copies_text
from controlplane.rollouts.evidence import confidence
from controlplane.rollouts.golden import GOLDEN, Golden, golden_text
from controlplane.rollouts.measures import MEASURES
from controlplane.rollouts.plan import Guardrail, Plan
from controlplane.rollouts.saturation import (
    SATURATION,
    Saturation,
    Used,
    peak,
    saturation_text,
    withdraws,
)
from controlplane.rollouts.state import Known, State


@dataclass(frozen=True, slots=True)
class Side:
    """Replicas of one arm. ``ready`` may serve, of ``unknown`` nobody hears; ``restarts`` since the
    rollout began. ``used``: shares of what they may use, empty where nobody has measured it."""

    replicas: int = 1
    ready: int = 1
    unknown: int = 0
    restarts: int = 0
    used: Used = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Facts:
    """What requests do not tell. ``candidate``: its name. ``idle``: its policy has taken it to
    zero, and a request wakes it, or is about to; ``overslept``: that takes too long. ``changed``:
    what it runs is not what the rollout began with. ``behind``: more has been counted, and is
    looked at next. ``golden``: what it answered to golden cases; None where there are none.
    ``compared``: what both answered to the same inputs; None where nobody asks."""

    candidate: str
    own: Side = Side()
    stable: Side = Side()
    idle: bool = False
    overslept: str = ""
    changed: str = ""
    behind: bool = False
    paused_by: str = ""
    golden: Golden | None = None
    compared: Compared | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """One guardrail. ``candidate`` and ``stable``: how many are bad, and of how many requests,
    replicas, inputs or cases (``counts``). ``confidence``: that the candidate is worse; None where
    that is no question."""

    measure: str
    title: str
    candidate: tuple[int, int]
    stable: tuple[int, int]
    confidence: float | None
    needed: float | None
    tolerance: float
    broken: bool
    text: str
    counts: str


def figures_of(plan: Plan, state: State, facts: Facts, now: float) -> Iterable[Figure]:
    """Of each guardrail that this rollout looks at."""
    alone = plan.is_watched(state.step)
    for name, guardrail in plan.guardrails.items():
        if name == GOLDEN:
            if facts.golden is not None and facts.golden.at is not None:
                yield _golden(guardrail, facts.golden, facts.candidate)
        elif name == ANSWERS:
            if facts.compared is not None:
                yield _answers(guardrail, facts.compared, facts.candidate)
        elif name == LATENCY_MEAN:
            if plan.shadow is not None:
                yield _copies(guardrail, state.copies, facts.candidate)
        elif name == SATURATION:
            yield _saturation(guardrail, state.saturation, facts, now)
        elif MEASURES[name].count is None:
            yield _restarts(name, guardrail, facts)
        else:
            known = state.known.get(name, Known())
            yield _compared(name, guardrail, known, facts.candidate, alone=alone)


def _compared(
    name: str, guardrail: Guardrail, known: Known, candidate: str, *, alone: bool
) -> Figure:
    measure, sure = MEASURES[name], confidence(known.weights)
    needed = guardrail.confidence or 1.0
    times = f" times {guardrail.tolerance:g}" if measure.scaled and guardrail.tolerance > 1 else ""
    new, old = known.candidate, known.stable
    text = (
        f"{_percent(new.share)} of {candidate}'s requests {measure.text}{times} ({new.bad:,} of "
        f"{new.of:,}), of the stable version's {_percent(old.share)} ({old.bad:,} of {old.of:,}"
        f"{', before it' if alone else ''}): "
        f"it is worse with a confidence of {_sure(sure)}, {_sure(needed)} withdraws it."
    )
    return Figure(
        measure=name,
        title=measure.title,
        candidate=(new.bad, new.of),
        stable=(old.bad, old.of),
        confidence=sure,
        needed=needed,
        tolerance=guardrail.tolerance,
        broken=sure >= needed,
        text=text,
        counts=measure.of,
    )


def _answers(guardrail: Guardrail, known: Compared, candidate: str) -> Figure:
    needed, sure = guardrail.confidence or 1.0, known.confidence
    return Figure(
        measure=ANSWERS,
        title=MEASURES[ANSWERS].title,
        candidate=(known.candidate.bad, known.candidate.of),
        stable=(known.stable.bad, known.stable.of),
        confidence=sure,
        needed=needed,
        tolerance=guardrail.tolerance,
        broken=sure >= needed,
        text=compared_text(known, candidate, _sure(needed), _sure(sure)),
        counts=MEASURES[ANSWERS].of,
    )


def _copies(guardrail: Guardrail, known: Copies, candidate: str) -> Figure:
    needed, sure = guardrail.confidence or 1.0, known.confidence
    return Figure(
        measure=LATENCY_MEAN,
        title=MEASURES[LATENCY_MEAN].title,
        candidate=(known.slower.bad, known.slower.of),
        stable=(0, 0),
        confidence=sure,
        needed=needed,
        tolerance=guardrail.tolerance,
        broken=sure >= needed,
        text=copies_text(known, candidate, guardrail.tolerance, _sure(needed), _sure(sure)),
        counts=MEASURES[LATENCY_MEAN].of,
    )


def _saturation(guardrail: Guardrail, known: Saturation, facts: Facts, now: float) -> Figure:
    """Of 100 what there is least left of; of 0 where nobody has measured it."""
    least = peak(facts.own.used)
    stable = (0, 0) if known.stable is None else (round(100 * known.stable), 100)
    text = saturation_text(known, facts.own.used, facts.candidate, guardrail.tolerance, now)
    return Figure(
        measure=SATURATION,
        title=MEASURES[SATURATION].title,
        candidate=(0, 0) if least is None else (round(100 * least[1]), 100),
        stable=stable,
        confidence=None,
        needed=None,
        tolerance=guardrail.tolerance,
        broken=withdraws(known, guardrail.tolerance, now),
        text=text,
        counts=MEASURES[SATURATION].of,
    )


def _golden(guardrail: Guardrail, golden: Golden, candidate: str) -> Figure:
    """The stable version is not asked: the cases say what is right."""
    return Figure(
        measure=GOLDEN,
        title=MEASURES[GOLDEN].title,
        candidate=(len(golden.wrong), golden.cases),
        stable=(0, 0),
        confidence=None,
        needed=None,
        tolerance=guardrail.tolerance,
        broken=len(golden.wrong) > guardrail.tolerance,
        text=golden_text(golden, candidate),
        counts=MEASURES[GOLDEN].of,
    )


def _restarts(name: str, guardrail: Guardrail, facts: Facts) -> Figure:
    """More than nobody minds, and more of each replica than the stable version's."""
    own, stable = facts.own, facts.stable
    more = own.restarts * max(stable.replicas, 1) > stable.restarts * max(own.replicas, 1)
    text = (
        f"Replicas of {facts.candidate} were restarted {own.restarts} times "
        f"({own.replicas} of them), of the stable version {stable.restarts} times "
        f"({stable.replicas}): more than {guardrail.tolerance:g} withdraw it."
    )
    return Figure(
        measure=name,
        title=MEASURES[name].title,
        candidate=(own.restarts, own.replicas),
        stable=(stable.restarts, stable.replicas),
        confidence=None,
        needed=None,
        tolerance=guardrail.tolerance,
        broken=own.restarts > guardrail.tolerance and more,
        text=text,
        counts=MEASURES[name].of,
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %" if share < 0.1 else f"{100 * share:.1f} %"


def _sure(confidence: float) -> str:
    """Rounded down: a text shall not say 100 %, and not what is not reached."""
    return f"{min(int(confidence * 100_000), 99_999) / 1000:g} %"
