"""The judgement: wait, take the next step, or withdraw the candidate, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from controlplane.metrics.histogram import quantile_us
from controlplane.rollouts.agreement import inputs_missing, inputs_text
from controlplane.rollouts.counts import Window
from controlplane.rollouts.figures import Facts, Figure, figures_of
from controlplane.rollouts.golden import golden_text, golden_waits
from controlplane.rollouts.plan import Plan, Step
from controlplane.rollouts.saturation import SATURATION, pressed, saturation_text
from controlplane.rollouts.state import State, copied, learned, next_step

BEHIND: Final = "Not all that was counted is looked at yet."
SILENT_S: Final = 15.0  # gateways count every two seconds


class Action(StrEnum):
    WAIT = "wait"
    NEXT = "next"
    WITHDRAW = "withdraw"


class Cause(StrEnum):
    """A stable word for programs; a guardrail's own name stands where that was it."""

    HOLD_TIME = "hold_time"
    TOO_FEW_REQUESTS = "too_few_requests"
    TOO_FEW_INPUTS = "too_few_inputs"
    NO_SAMPLES = "no_samples"
    NODES_SILENT = "nodes_silent"
    CATCHING_UP = "catching_up"
    PAUSED = "paused"
    STEP_DONE = "step_done"
    NOT_READY = "not_ready"
    CHANGED = "changed"
    RESTARTS = "restarts"
    GOLDEN_WAITS = "golden_waits"
    SATURATED = "saturated"


@dataclass(frozen=True, slots=True)
class Judgement:
    """``reason``: one sentence with the figures. ``missing``: requests that a step waits for.
    ``answered``: by the candidate in the step that was judged. ``p95_us`` and ``p99_us``: of
    candidate and stable version. ``state``: for the next."""

    action: Action
    cause: str
    reason: str
    state: State
    figures: tuple[Figure, ...]
    missing: int = 0
    answered: int = 0
    p95_us: tuple[float | None, float | None] = (None, None)
    p99_us: tuple[float | None, float | None] = (None, None)


def judge(
    plan: Plan,
    state: State,
    windows: Iterable[Window],
    facts: Facts,
    now: float,
    copies: Iterable[Window] = (),
) -> Judgement:
    """``windows``: counted since the last look, none of them twice. ``copies``: by replicas, while
    the candidate gets copies.

    It may be withdrawn at any moment, also while somebody has paused it; the next step is taken
    only where the present one has lasted long enough, both arms have answered enough requests in
    it, and gateways are heard of.
    """
    state = copied(learned(state, windows, plan, now), copies, plan)
    if max(state.since, state.measured_at or 0.0) > now:  # the clock was set back
        state = replace(state, since=min(state.since, now), measured_at=now)
    state = _pressed(plan, state, facts, now)
    figures = tuple(figures_of(plan, state, facts, now))
    action, cause, reason, missing = _found(plan, state, facts, figures, now)
    new, old = state.latencies
    return Judgement(
        action=action,
        cause=cause,
        reason=reason,
        state=next_step(state, now) if action == Action.NEXT else state,
        answered=state.candidate_requests,
        figures=figures,
        missing=missing,
        p95_us=(quantile_us(new, 0.95), quantile_us(old, 0.95)),
        p99_us=(quantile_us(new, 0.99), quantile_us(old, 0.99)),
    )


def _pressed(plan: Plan, state: State, facts: Facts, now: float) -> State:
    guardrail = plan.guardrails.get(SATURATION)
    if guardrail is None:
        return state
    used, alone = (facts.own.used, facts.stable.used), plan.is_watched(state.step)
    most = guardrail.tolerance
    return replace(state, saturation=pressed(state.saturation, *used, most, now, alone=alone))


def _found(
    plan: Plan, state: State, facts: Facts, figures: tuple[Figure, ...], now: float
) -> tuple[Action, str, str, int]:
    name = facts.candidate
    if facts.changed:
        return Action.WITHDRAW, Cause.CHANGED, facts.changed, 0
    if not facts.own.ready and not facts.own.unknown and not facts.idle:
        text = f"{name} has no ready replica. {facts.overslept}".rstrip()
        return Action.WITHDRAW, Cause.NOT_READY, text, 0
    for figure in figures:
        if figure.broken:
            return Action.WITHDRAW, figure.measure, figure.text, 0
    return _onward(plan, state, facts, now)


def _onward(plan: Plan, state: State, facts: Facts, now: float) -> tuple[Action, str, str, int]:
    name, stage = facts.candidate, plan.stages[state.step]
    if facts.paused_by:
        text = f"{facts.paused_by} has paused it; guardrails go on."
        return Action.WAIT, Cause.PAUSED, text, 0
    if not facts.own.ready and not facts.idle:
        text = f"No replica of {name} is heard of: nothing is decided until its nodes report."
        return Action.WAIT, Cause.NODES_SILENT, text, 0
    few, whose = _fewest(plan, state, stage, name)
    missing = max(0, plan.min_requests - few)
    if facts.behind:
        return Action.WAIT, Cause.CATCHING_UP, BEHIND, missing
    silent_s = now - max(state.measured_at or 0.0, state.since)
    if silent_s > SILENT_S:
        text = (
            f"No gateway has counted a request for {silent_s:.0f} s: nobody asks, or gateways are "
            "silent. It holds until one does."
        )
        return Action.WAIT, Cause.NO_SAMPLES, text, missing
    if missing:
        text = (
            f"{few:,} of {plan.min_requests:,} {whose}: {missing:,} are missing before "
            f"{_next_told(plan, state, name)}."
        )
        if facts.golden is not None and facts.golden.at is not None:
            text += f" {golden_text(facts.golden, name)}"
        return Action.WAIT, Cause.TOO_FEW_REQUESTS, text, missing
    inputs = inputs_missing(facts.compared, plan.min_requests) if _switches(plan, state) else 0
    if inputs and facts.compared is not None:
        text = inputs_text(facts.compared, plan.min_requests, name, asleep=facts.idle)
        return Action.WAIT, Cause.TOO_FEW_INPUTS, text, inputs
    left_s = stage.hold_s - (now - state.since)
    if left_s > 0:
        return Action.WAIT, Cause.HOLD_TIME, f"{_stage_told(stage)} for {left_s:.0f} s more.", 0
    waits = golden_waits(facts.golden, state.since, name, asleep=facts.idle) if facts.golden else ""
    if waits:
        return Action.WAIT, Cause.GOLDEN_WAITS, waits, 0
    if state.saturation.since is not None:
        most = plan.guardrails[SATURATION].tolerance
        text = saturation_text(state.saturation, facts.own.used, name, most, now)
        return Action.WAIT, Cause.SATURATED, text, 0
    return Action.NEXT, Cause.STEP_DONE, _done_told(plan, state, stage, now), 0


def _fewest(plan: Plan, state: State, stage: Step, name: str) -> tuple[int, str]:
    """Of what there must be ``min_requests``, the fewest."""
    counted = {f"requests of {name} in this step": state.candidate_requests}
    if stage.mirror:
        counted = {f"copies answered by {name}": state.candidate_requests}
    beside = state.stable_requests, "requests of the stable version in this step"
    if plan.is_watched(state.step):
        return state.candidate_requests, f"requests of {name} since the switch"
    if not stage.percent:
        beside = state.reference.requests, "requests of the stable version to compare it with"
        counted = counted if stage.mirror else {}
    counted[beside[1]] = beside[0]
    whose = min(counted, key=lambda one: counted[one])
    return counted[whose], whose


def _stage_told(stage: Step) -> str:
    if stage.mirror:
        return f"Copies of {stage.mirror} % of the requests"
    return f"{stage.percent} %"


def _switches(plan: Plan, state: State) -> bool:
    """Whether the candidate gets all of the traffic next, and has none now."""
    if plan.is_watched(state.step):
        return False
    return plan.stages[state.step + 1].percent == 100 and not plan.stages[state.step].percent


def _next_told(plan: Plan, state: State, name: str) -> str:
    if plan.is_watched(state.step):
        return f"{name} keeps the traffic"
    more = "anything more is" if state.step or plan.stages[0].percent else "anything is"
    if _switches(plan, state):
        return f"{name} gets all of the traffic"
    return f"{more} sent to {name}"


def _done_told(plan: Plan, state: State, stage: Step, now: float) -> str:
    spent = f"in {now - state.since:.0f} s, and no guardrail is broken"
    if plan.is_watched(state.step):
        return f"{state.candidate_requests:,} requests since the switch {spent}: it stays."
    onward = plan.stages[state.step + 1].percent
    if stage.mirror:
        counted = f"{state.candidate_requests:,} copies"
    elif stage.percent:
        counted = f"{state.candidate_requests:,} requests at {stage.percent} %"
    else:
        counted = f"{state.reference.requests:,} requests of the stable version to compare it with"
    return f"{counted} {spent}: {onward} % now."
