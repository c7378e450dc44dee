"""The decision: how many replicas from now on, and why."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from controlplane.autoscaling.demands import Demand, demands, knee_learned
from controlplane.autoscaling.loads import Load
from controlplane.autoscaling.policy import Policy
from controlplane.autoscaling.schedules import Bounds, bounds_at
from controlplane.autoscaling.state import (
    MINUTE_S,
    State,
    asked,
    changed,
    count_before,
    fell_lately,
    queue_seen,
    quiet_seen,
    rising,
    set_back,
    standing,
    within,
)

# What stands in the way of a decision, where that needs no names or figures.
PAUSED: Final = "Somebody paused the deployment: it has no replicas."
CHANGED: Final = "Somebody has just changed the deployment."
LOOKED_AT: Final = "Another look at it has just been taken."
MAY_TAKE_BACK: Final = (
    "A rollout may give the traffic back to it until that ends: it keeps its replicas."
)


@dataclass(frozen=True, slots=True)
class Decision:
    """``asked``: what the load alone asks for, None where it is not known. ``reason``: one
    sentence with the figures. ``figures``: what one replica carries, by target. ``state``: to be
    given to the next."""

    wanted: int
    reason: str
    state: State
    asked: int | None = None
    figures: dict[str, float] = field(default_factory=dict)


def decide(
    policy: Policy,
    load: Load | None,
    state: State,
    current: int,
    now: datetime,
    *,
    needed: str = "",
) -> Decision:
    """How many replicas, where there are ``current``.

    Within the bounds at ``now``; fewer only where all that serve were sampled without a gap for
    the whole window, and every target was measured. None only where that is the least, nothing has
    been asked of it for long enough, and nothing is ``needed``: why it must not be without one.
    """
    moment = now.timestamp()
    state = replace(set_back(state, moment), soon=False)
    if state.count != current:
        state = changed(state, current, moment)
    if not policy.enabled:
        return Decision(current, "The policy is paused.", state)
    bounds = bounds_at(policy, now)
    state = quiet_seen(state, load, moment, needed=bool(needed) or not current)
    rested = _rested(policy, load, state, current, bounds, needed, moment)
    if rested is not None:
        return rested
    if not policy.targets.set():
        why = f"at least {bounds.awake}, and no target asks for more"
        return Decision(bounds.awake, _reason(bounds.awake, why, bounds), state, bounds.awake)
    if load is None or moment - load.at > load.fresh_s:
        age = f"for {moment - load.at:.0f} s" if load else "yet"
        return _held(current, f"nothing was measured {age}", bounds, state)
    gap_s = max(load.fresh_s, 3 * policy.interval_s)
    state = queue_seen(state, load, moment, gap_s)
    fell = fell_lately(state, moment)
    found = demands(policy, load, current, state.knee, standing(state), fell=fell)
    figures = {one.target: one.figure for one in found if one.figure is not None}
    known = [one for one in found if one.wanted is not None]
    if not known:
        return _held(current, "; ".join(one.text for one in found), bounds, state)
    leading = max(known, key=lambda one: one.wanted or 0)
    blind = _blind(load, found)
    # why one where there may be none: that is the clock's to say, and not the targets'
    raw = max(leading.wanted or 0, current if blind else 0, 1 if bounds.least == 0 else 0)
    knee = knee_learned(policy, load, state.knee)
    state = asked(state, raw, moment, policy, knee, gap_s)
    patience_s = min([one.patience_s for one in known if (one.wanted or 0) > current], default=0.0)
    patience_s *= patience_s > policy.interval_s  # one look is as good as that
    paced, pace = _paced(policy, state, raw, current, moment, patience_s)
    wanted = min(max(paced, bounds.awake), bounds.most)
    waits = min(raw, bounds.most) > max(wanted, current)
    state = rising(state, policy, figures, more=waits)
    limit = _limit(paced, wanted)
    left = _until_idle(policy, state, bounds, moment)
    notes = [leading.text, blind if leading.wanted != raw else "", limit or pace or left]
    reason = _reason(wanted, "; ".join(part for part in notes if part), bounds)
    return Decision(wanted, reason, state, raw, figures)


def _rested(
    policy: Policy,
    load: Load | None,
    state: State,
    current: int,
    bounds: Bounds,
    needed: str,
    now: float,
) -> Decision | None:
    """To zero, at zero, and from it at once; None: it is, or must be, awake."""
    if bounds.least:
        return None
    if current == 0:
        why = needed or "idle, a request wakes it"
        wanted = 1 if needed else 0
        return Decision(wanted, _reason(wanted, why, bounds), state, wanted)
    known = load is not None and load.whole and now - load.at <= load.fresh_s
    if needed or not known or state.quiet is None or now - state.quiet < policy.idle.after_s:
        return None
    why = f"no request for {_duration(policy.idle.after_s)}"
    return Decision(0, _reason(0, why, bounds), state, 0)


def _until_idle(policy: Policy, state: State, bounds: Bounds, now: float) -> str:
    if bounds.least or state.quiet is None:
        return ""
    return f"0 after {policy.idle.after_s - (now - state.quiet):.0f} s more without a request"


def _duration(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 or seconds % 60 else f"{seconds // 60} min"


def _held(current: int, why: str, bounds: Bounds, state: State) -> Decision:
    """As many as there are, within the bounds: those are somebody's word, not a measurement."""
    wanted = min(max(current, bounds.awake), bounds.most)
    limit = _limit(current, wanted)
    return Decision(wanted, _reason(wanted, f"{why}; {limit}" if limit else why, bounds), state)


def _blind(load: Load, found: list[Demand]) -> str:
    """Why nobody may go, however little is asked; empty where all is known."""
    if not load.whole:
        return f"{load.serving - load.sampled} of {load.serving} replicas were not sampled"
    unknown = [one.text for one in found if one.wanted is None]
    return unknown[0] if unknown else ""


def _paced(
    policy: Policy, state: State, raw: int, current: int, now: float, patience_s: float
) -> tuple[int, str]:
    """``raw`` held back by window, cool-down and rate, and what holds it."""
    if raw == current:
        return current, ""
    rising = raw > current
    side = policy.up if rising else policy.down
    window_s = max(side.window_s, patience_s) if rising else side.window_s
    watched = max(0.0, now - (now if state.since is None else state.since))
    if watched < window_s:
        return current, f"{raw} after {window_s - watched:.0f} s more of it"
    seen = within(state.lows if rising else state.highs, window_s, now)
    wanted = max(current, min(seen)) if rising else min(current, max(seen))
    if wanted == current:
        return current, f"{raw} if it stays so for {window_s:.0f} s"
    rested = now - state.changes[-1][0] if len(state.changes) > 1 else side.cooldown_s
    if rested < side.cooldown_s:
        return current, f"{wanted} after the cool-down, in {side.cooldown_s - rested:.0f} s"
    return _rated(side.per_minute, state, wanted, current, now)


def _rated(
    per_minute: int | None, state: State, wanted: int, current: int, now: float
) -> tuple[int, str]:
    if per_minute is None:
        return wanted, ""
    before = count_before(state, MINUTE_S, now, current)
    if wanted > current:
        paced = max(current, min(wanted, before + per_minute))
    else:
        paced = min(current, max(wanted, before - per_minute))
    return paced, f"{wanted} by {per_minute} a minute" if paced != wanted else ""


def _limit(count: int, wanted: int) -> str:
    if count == wanted:
        return ""
    return f"{count} but for the least" if count < wanted else f"{count} but for the most"


def _reason(wanted: int, why: str, bounds: Bounds) -> str:
    name = "replica" if wanted == 1 else "replicas"
    within = f" Bounds {bounds.least} to {bounds.most}"
    within += f" by schedule {bounds.schedule}." if bounds.schedule else "."
    return f"{wanted} {name}: {why}.{within}"
