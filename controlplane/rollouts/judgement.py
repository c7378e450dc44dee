"""The judgement: wait, take the next step, or withdraw the candidate, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from controlplane.metrics.histogram import quantile_us
from controlplane.rollouts.agreement import ANSWERS, Compared, compared_text
from controlplane.rollouts.counts import Window
from controlplane.rollouts.evidence import confidence
from controlplane.rollouts.golden import GOLDEN, Golden, golden_text, golden_waits
from controlplane.rollouts.measures import MEASURES
from controlplane.rollouts.plan import Guardrail, Plan
from controlplane.rollouts.state import Known, State, learned, next_step

SILENT_S: Final = 15.0  # gateways count every two seconds


class Action(StrEnum):
    WAIT = "wait"
    NEXT = "next"
    WITHDRAW = "withdraw"


class Cause(StrEnum):
    """A stable word for programs; a guardrail's own name stands where that was it."""

    HOLD_TIME = "hold_time"
    TOO_FEW_REQUESTS = "too_few_requests"
    NO_SAMPLES = "no_samples"
    NODES_SILENT = "nodes_silent"
    CATCHING_UP = "catching_up"
    PAUSED = "paused"
    STEP_DONE = "step_done"
    NOT_READY = "not_ready"
    CHANGED = "changed"
    RESTARTS = "restarts"
    GOLDEN_WAITS = "golden_waits"


@dataclass(frozen=True, slots=True)
class Side:
    """Replicas of one arm. ``ready`` may serve, of ``unknown`` nobody hears; ``restarts`` since the
    rollout began."""

    replicas: int = 1
    ready: int = 1
    unknown: int = 0
    restarts: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What requests do not tell. ``candidate``: its name. ``idle``: its policy has taken it to
    zero, and a request wakes it. ``changed``: what it runs is not what the rollout began with.
    ``behind``: more has been counted, and is looked at next. ``golden``: what it answered to golden
    cases; None where there are none. ``compared``: what both answered to the same inputs; None
    where nobody asks."""

    candidate: str
    own: Side = Side()
    stable: Side = Side()
    idle: bool = False
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


@dataclass(frozen=True, slots=True)
class Judgement:
    """``reason``: one sentence with the figures. ``missing``: requests that a step waits for.
    ``p95_us`` and ``p99_us``: of candidate and stable version. ``state``: for the next."""

    action: Action
    cause: str
    reason: str
    state: State
    figures: tuple[Figure, ...]
    missing: int = 0
    p95_us: tuple[float | None, float | None] = (None, None)
    p99_us: tuple[float | None, float | None] = (None, None)


def judge(
    plan: Plan, state: State, windows: Iterable[Window], facts: Facts, now: float
) -> Judgement:
    """``windows``: counted since the last look, none of them twice.

    It may be withdrawn at any moment, also while somebody has paused it; the next step is taken
    only where the present one has lasted long enough, both arms have answered enough requests in
    it, and gateways are heard of.
    """
    state = learned(state, windows, plan, now)
    if max(state.since, state.measured_at or 0.0) > now:  # the clock was set back
        state = replace(state, since=min(state.since, now), measured_at=now)
    figures = tuple(_figures(plan, state, facts))
    action, cause, reason, missing = _found(plan, state, facts, figures, now)
    new, old = state.latencies
    return Judgement(
        action=action,
        cause=cause,
        reason=reason,
        state=next_step(state, now) if action == Action.NEXT else state,
        figures=figures,
        missing=missing,
        p95_us=(quantile_us(new, 0.95), quantile_us(old, 0.95)),
        p99_us=(quantile_us(new, 0.99), quantile_us(old, 0.99)),
    )


def _found(
    plan: Plan, state: State, facts: Facts, figures: tuple[Figure, ...], now: float
) -> tuple[Action, str, str, int]:
    name = facts.candidate
    if facts.changed:
        return Action.WITHDRAW, Cause.CHANGED, facts.changed, 0
    if not facts.own.ready and not facts.own.unknown and not facts.idle:
        return Action.WITHDRAW, Cause.NOT_READY, f"{name} has no ready replica.", 0
    for figure in figures:
        if figure.broken:
            return Action.WITHDRAW, figure.measure, figure.text, 0
    return _onward(plan, state, facts, now)


def _onward(plan: Plan, state: State, facts: Facts, now: float) -> tuple[Action, str, str, int]:
    name, step = facts.candidate, plan.steps[state.step]
    if facts.paused_by:
        text = f"{facts.paused_by} has paused it; guardrails go on."
        return Action.WAIT, Cause.PAUSED, text, 0
    if not facts.own.ready and not facts.idle:
        text = f"No replica of {name} is heard of: nothing is decided until its nodes report."
        return Action.WAIT, Cause.NODES_SILENT, text, 0
    missing = _missing(plan, state)
    if facts.behind:
        return Action.WAIT, Cause.CATCHING_UP, "Not all that was counted is looked at yet.", missing
    silent_s = now - max(state.measured_at or 0.0, state.since)
    if silent_s > SILENT_S:
        text = (
            f"No gateway has counted a request for {silent_s:.0f} s: nobody asks, or gateways are "
            "silent. It holds until one does."
        )
        return Action.WAIT, Cause.NO_SAMPLES, text, missing
    if missing:
        few = min(state.candidate_requests, state.stable_requests)
        whose = name if few == state.candidate_requests else "the stable version"
        text = (
            f"{few:,} of {plan.min_requests:,} requests of {whose} in this step: {missing:,} are "
            f"missing before anything more is sent to {name}."
        )
        if facts.golden is not None and facts.golden.at is not None:
            text += f" {golden_text(facts.golden, name)}"
        return Action.WAIT, Cause.TOO_FEW_REQUESTS, text, missing
    left_s = step.hold_s - (now - state.since)
    if left_s > 0:
        return Action.WAIT, Cause.HOLD_TIME, f"{step.percent} % for {left_s:.0f} s more.", 0
    waits = golden_waits(facts.golden, state.since, name, asleep=facts.idle) if facts.golden else ""
    if waits:
        return Action.WAIT, Cause.GOLDEN_WAITS, waits, 0
    onward = plan.steps[state.step + 1].percent
    told = f"{state.candidate_requests:,} requests at {step.percent} %"
    reason = f"{told} in {now - state.since:.0f} s, and no guardrail is broken: {onward} % now."
    return Action.NEXT, Cause.STEP_DONE, reason, 0


def _missing(plan: Plan, state: State) -> int:
    return max(0, plan.min_requests - min(state.candidate_requests, state.stable_requests))


def _figures(plan: Plan, state: State, facts: Facts) -> Iterable[Figure]:
    for name, guardrail in plan.guardrails.items():
        if name == GOLDEN:
            if facts.golden is not None and facts.golden.at is not None:
                yield _golden(guardrail, facts.golden, facts.candidate)
        elif name == ANSWERS:
            if facts.compared is not None:
                yield _answers(guardrail, facts.compared, facts.candidate)
        elif MEASURES[name].count is None:
            yield _restarts(name, guardrail, facts)
        else:
            yield _compared(name, guardrail, state.known.get(name, Known()), facts.candidate)


def _compared(name: str, guardrail: Guardrail, known: Known, candidate: str) -> Figure:
    measure, sure = MEASURES[name], confidence(known.weights)
    needed = guardrail.confidence or 1.0
    times = f" times {guardrail.tolerance:g}" if measure.scaled and guardrail.tolerance > 1 else ""
    new, old = known.candidate, known.stable
    text = (
        f"{_percent(new.share)} of {candidate}'s requests {measure.text}{times} ({new.bad:,} of "
        f"{new.of:,}), of the stable version's {_percent(old.share)} ({old.bad:,} of {old.of:,}): "
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
