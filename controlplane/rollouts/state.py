"""What is known of a rollout from one look to the next."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controlplane.rollouts.counts import Histogram, Window, added, remembered
from controlplane.rollouts.evidence import NOTHING, START, Tally, weighed
from controlplane.rollouts.measures import MEASURES
from controlplane.rollouts.plan import Plan


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
    stable version in this rollout."""

    since: float
    step: int = 0
    candidate_requests: int = 0
    stable_requests: int = 0
    measured_at: float | None = None
    known: Mapping[str, Known] = field(default_factory=dict)
    before: Histogram = field(default_factory=dict)
    latencies: tuple[Histogram, Histogram] = ({}, {})


def learned(state: State, windows: Iterable[Window], plan: Plan, now: float) -> State:
    """With what has been counted since, in order of time."""
    for window in windows:
        state = replace(_with(state, window, plan), measured_at=now)
    return state


def _with(state: State, window: Window, plan: Plan) -> State:
    candidate, stable = window.candidate, window.stable
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
    new_latencies, old_latencies = state.latencies
    return replace(
        state,
        candidate_requests=state.candidate_requests + candidate.requests,
        stable_requests=state.stable_requests + stable.requests,
        known=known,
        before=remembered(state.before, stable.histogram),
        latencies=(
            remembered(new_latencies, candidate.histogram),
            remembered(old_latencies, stable.histogram),
        ),
    )


def next_step(state: State, now: float) -> State:
    return replace(state, step=state.step + 1, since=now, candidate_requests=0, stable_requests=0)


def started(now: float, before: Iterable[Histogram]) -> State:
    """``before``: latencies of the stable version up to now."""
    whole: dict[int, int] = {}
    for histogram in before:
        whole = added(whole, histogram)
    return State(since=now, before=remembered({}, whole))


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
    )


def _keyed(histogram: Histogram) -> dict[str, int]:
    return {str(bucket): count for bucket, count in histogram.items()}


def _counted(kept: Mapping[str, int]) -> dict[int, int]:
    return {int(bucket): count for bucket, count in kept.items()}
