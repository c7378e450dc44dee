"""What the autoscaler remembers of a deployment from one look to the next."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from controlplane.autoscaling.demands import PATIENCE_MOST_S
from controlplane.autoscaling.loads import STALE_S
from controlplane.autoscaling.policy import Policy

MINUTE_S = 60.0
REGRET_S = 600.0
Moments = tuple[tuple[float, int], ...]  # Unix seconds, replicas


@dataclass(frozen=True, slots=True)
class State:
    """``count``: replicas when it last looked. ``changes``: what it became, and when, over the last
    minute and the last one before. ``since``: measured without a gap since then, None: not at all;
    ``at``: last measured. ``highs`` and ``lows``: what the load asked for within the windows, of
    each value the newest that no later one hides. ``knee``: share of busy time up to which the
    queue has been short enough."""

    count: int | None = None
    changes: Moments = ()
    since: float | None = None
    at: float | None = None
    highs: Moments = ()
    lows: Moments = ()
    knee: float = 1.0


def state_to_json(state: State) -> dict[str, Any]:
    return asdict(state)


def state_from_json(kept: Mapping[str, Any]) -> State:
    """What rows keep; what an older version did not know has its default."""
    known = {part.name: kept[part.name] for part in fields(State) if part.name in kept}
    for name in ("changes", "highs", "lows"):
        if name in known:
            known[name] = tuple((float(at), int(count)) for at, count in known[name])
    return State(**known)


def changed(state: State, count: int, now: float) -> State:
    """``count`` replicas from now on."""
    kept = [moment for moment in state.changes if moment[0] > now - MINUTE_S]
    before = [moment for moment in state.changes if moment[0] <= now - MINUTE_S]
    return replace(state, count=count, changes=(*before[-1:], *kept, (now, count)))


def set_back(state: State, now: float) -> State:
    """Without what lies in the future: the clock was set back, and nobody waits until then."""
    moments = (state.at or 0.0, *(at for at, _ in state.changes[-1:]))
    if max(moments) <= now + STALE_S:
        return state
    return State(count=state.count, knee=state.knee)


def fell_lately(state: State, now: float) -> bool:
    """Whether the last change took replicas away, a short time ago."""
    if len(state.changes) < 2:
        return False
    (_, before), (at, after) = state.changes[-2:]
    return after < before and now - at < REGRET_S


def count_before(state: State, seconds: float, now: float, current: int) -> int:
    """Replicas so long ago, as far as is remembered."""
    found = [count for at, count in state.changes if at <= now - seconds]
    if found:
        return found[-1]
    return state.changes[0][1] if state.changes else current


def asked(
    state: State, wanted: int, now: float, policy: Policy, knee: float, fresh_s: float
) -> State:
    """The load asks for ``wanted`` now; what is older than the windows is forgotten."""
    gap_s = max(fresh_s, 3 * policy.interval_s)
    highs: Moments = ()
    lows: Moments = ()
    since = now
    if state.at is not None and now - state.at <= gap_s:
        since = now if state.since is None else state.since
        first = now - policy.down.window_s
        highs = tuple(one for one in state.highs if one[0] >= first and one[1] > wanted)
        first = now - max(policy.up.window_s, PATIENCE_MOST_S)
        lows = tuple(one for one in state.lows if one[0] >= first and one[1] < wanted)
    moment = (now, wanted)
    return State(state.count, state.changes, since, now, (*highs, moment), (*lows, moment), knee)


def within(moments: Moments, seconds: float, now: float) -> list[int]:
    """The counts of the last ``seconds``; the newest at least."""
    return [count for at, count in moments if at >= now - seconds] or [moments[-1][1]]
