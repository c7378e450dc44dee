"""What is known of a rollout from one look to the next."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.rollouts.copies import (
    LATENCY_MEAN,
    Copies,
    copies_from_json,
    copies_to_json,
    copies_with,
)
from controlplane.rollouts.counts import Arm, Histogram, Window, remembered
from controlplane.rollouts.evidence import NOTHING, START, Tally, weighed, weighed_alone
from controlplane.rollouts.measures import MEASURES
from controlplane.rollouts.plan import Plan
from controlplane.rollouts.saturation import (
    Saturation,
    saturation_from_json,
    saturation_to_json,
)


@dataclass(frozen=True, slots=True)
class Known:
    """Of one measure since the rollout began; ``weights`` as ``evidence.weighed`` has them."""

    candidate: Tally = NOTHING
    stable: Tally = NOTHING
    weights: tuple[float, ...] = START


@dataclass(frozen=True, slots=True)
class State:
    """``step``: its index, begun at ``since`` (Unix seconds), with so many requests of both arms.
    ``measured_at``: when gateways were last heard of, by the clock of who looks. ``before``:
    latencies of the stable version that its quantiles are of. ``latencies``: of candidate and
    stable version in this rollout. ``reference``: what the stable version answered before the
    candidate had any traffic, and in the ten minutes before that. ``copies``: what came of them."""

    since: float
    step: int = 0
    candidate_requests: int = 0
    stable_requests: int = 0
    measured_at: float | None = None
    known: Mapping[str, Known] = field(default_factory=dict)
    before: Histogram = field(default_factory=dict)
    latencies: tuple[Histogram, Histogram] = ({}, {})
    reference: Arm = field(default_factory=Arm)
    copies: Copies = field(default_factory=Copies)
    saturation: Saturation = field(default_factory=Saturation)


def learned(state: State, windows: Iterable[Window], plan: Plan, now: float) -> State:
    """With what has been counted since, in order of time."""
    for window in windows:
        state = replace(_with(state, window, plan), measured_at=now)
    return state


def _with(state: State, window: Window, plan: Plan) -> State:
    candidate, stable = window.candidate, window.stable
    stage = plan.stages[state.step]
    if plan.is_watched(state.step):
        return _alone(state, candidate, plan)
    if not stage.percent:
        state = replace(state, reference=_sum(state.reference, stable))
    if stage.mirror:  # replicas count the copies: what gateways count of it are probes
        return replace(state, before=remembered(state.before, stable.histogram))
    known = dict(state.known)
    for name, guardrail in plan.guardrails.items():
        measure, so_far = MEASURES[name], state.known.get(name, Known())
        if measure.count is None:
            continue
        new, old = measure.count(candidate, stable, state.before, guardrail.tolerance)
        tolerance = 1.0 if measure.scaled else guardrail.tolerance
        known[name] = Known(
            so_far.candidate + new,
            so_far.stable + old,
            weighed(so_far.weights, new, old, tolerance, measure.most),
        )
    return replace(
        _timed(state, candidate, stable),
        stable_requests=state.stable_requests + stable.requests,
        known=known,
        before=remembered(state.before, stable.histogram),
    )


def _alone(state: State, candidate: Arm, plan: Plan) -> State:
    """The candidate has all of the traffic: what it does stands beside what the stable version did
    before."""
    seen, known = state.reference, dict(state.known)
    before = Arm(seen.requests, seen.failed, seen.refused, state.before)
    for name, guardrail in plan.guardrails.items():
        measure, so_far = MEASURES[name], state.known.get(name, Known())
        if measure.count is None:
            continue
        new, old = measure.count(candidate, before, state.before, guardrail.tolerance)
        tolerance = 1.0 if measure.scaled else guardrail.tolerance
        known[name] = Known(
            so_far.candidate + new,
            old,
            weighed_alone(so_far.weights, new, old, tolerance, measure.most),
        )
    return replace(_timed(state, candidate, before), known=known)


def _sum(one: Arm, other: Arm) -> Arm:
    return Arm(
        one.requests + other.requests, one.failed + other.failed, one.refused + other.refused
    )


def _timed(state: State, candidate: Arm, stable: Arm) -> State:
    new_latencies, old_latencies = state.latencies
    return replace(
        state,
        candidate_requests=state.candidate_requests + candidate.requests,
        latencies=(
            remembered(new_latencies, candidate.histogram),
            remembered(old_latencies, stable.histogram),
        ),
    )


def copied(state: State, windows: Iterable[Window], plan: Plan) -> State:
    """With what replicas have counted of copies since, in order of time."""
    counted = list(windows)
    slow, errors = plan.guardrails.get(LATENCY_MEAN), plan.guardrails.get("errors")
    known = dict(state.known)
    for window in counted if errors else ():
        so_far, most = known.get("errors", Known()), MEASURES["errors"].most
        new, old = (Tally(one.failed, one.requests) for one in (window.candidate, window.stable))
        known["errors"] = Known(
            so_far.candidate + new,
            so_far.stable + old,
            weighed(so_far.weights, new, old, errors.tolerance if errors else 1.0, most),
        )
    return replace(
        state,
        candidate_requests=state.candidate_requests
        + sum(one.candidate.requests for one in counted),
        stable_requests=state.stable_requests + sum(one.stable.requests for one in counted),
        known=known,
        copies=copies_with(state.copies, counted, slow.tolerance if slow else None),
    )


def next_step(state: State, now: float) -> State:
    return replace(state, step=state.step + 1, since=now, candidate_requests=0, stable_requests=0)


def started(now: float, before: Arm) -> State:
    """``before``: what the stable version answered up to now."""
    return State(
        since=now,
        before=remembered({}, before.histogram),
        reference=replace(before, histogram={}),
    )


def state_to_json(state: State) -> dict[str, Any]:
    return {
        "since": state.since,
        "step": state.step,
        "candidate_requests": state.candidate_requests,
        "stable_requests": state.stable_requests,
        "measured_at": state.measured_at,
        "known": {
            name: {
                "candidate": [one.candidate.bad, one.candidate.of],
                "stable": [one.stable.bad, one.stable.of],
                "weights": list(one.weights),
            }
            for name, one in state.known.items()
        },
        "before": _keyed(state.before),
        "latencies": [_keyed(histogram) for histogram in state.latencies],
        "reference": [state.reference.requests, state.reference.failed, state.reference.refused],
        "copies": copies_to_json(state.copies),
        "saturation": saturation_to_json(state.saturation),
    }


def state_from_json(kept: Mapping[str, Any]) -> State:
    new, old = (_counted(histogram) for histogram in kept["latencies"])
    return State(
        since=kept["since"],
        step=kept["step"],
        candidate_requests=kept["candidate_requests"],
        stable_requests=kept["stable_requests"],
        measured_at=kept["measured_at"],
        known={
            name: Known(Tally(*one["candidate"]), Tally(*one["stable"]), tuple(one["weights"]))
            for name, one in kept["known"].items()
        },
        before=_counted(kept["before"]),
        latencies=(new, old),
        # why defaults: rows from before there were these
        reference=Arm(*kept.get("reference", ())),
        copies=copies_from_json(kept.get("copies")),
        saturation=saturation_from_json(kept.get("saturation")),
    )


def _keyed(histogram: Histogram) -> dict[str, int]:
    return {str(bucket): count for bucket, count in histogram.items()}


def _counted(kept: Mapping[str, int]) -> dict[int, int]:
    return {int(bucket): count for bucket, count in kept.items()}
