"""What the autoscaler remembers of a deployment from one look to the next."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from controlplane.autoscaling.demands import PATIENCE_MOST_S
from controlplane.autoscaling.loads import STALE_S, Load
from controlplane.autoscaling.policy import Policy

MINUTE_S = 60.0
ROSE, MUCH = 1.25, 0.5  # times what was carried before, and of what a target allows
REGRET_S = 600.0
STANDS_S = 8.0  # so long a queue stays as long as it is before it counts whole
AT_WORK = 0.9  # of the time: instances that always have a next request
PASSING = 0.2  # of its length: one that changes more meanwhile grows, or passes
Moments = tuple[tuple[float, int], ...]  # Unix seconds, replicas
Lengths = tuple[tuple[float, float], ...]  # Unix seconds, requests


@dataclass(frozen=True, slots=True)
class State:
    """``count``: replicas when it last looked. ``changes``: what it became, and when, over the last
    minute and the last one before. ``since``: measured without a gap since then, None: not at all;
    ``at``: last measured. ``highs`` and ``lows``: what the load asked for within the windows, of
    each value the newest that no later one hides. ``knee``: share of busy time up to which the
    queue has been short enough. ``quiet``: no request since then, by ``served``, the count of them;
    None: there was one. ``carried``: of what its targets allow, when it last looked; ``soon``: the
    next sample is worth a look, whenever that comes."""

    count: int | None = None
    changes: Moments = ()
    since: float | None = None
    at: float | None = None
    highs: Moments = ()
    lows: Moments = ()
    knee: float = 1.0
    queues: Lengths = ()
    quiet: float | None = None
    served: float | None = None
    carried: float | None = None
    soon: bool = False


def state_to_json(state: State) -> dict[str, Any]:
    return asdict(state)


def state_from_json(kept: Mapping[str, Any]) -> State:
    """What rows keep; what an older version did not know has its default."""
    known = {part.name: kept[part.name] for part in fields(State) if part.name in kept}
    for name, number in (("changes", int), ("highs", int), ("lows", int), ("queues", float)):
        if name in known:
            known[name] = tuple((float(at), number(count)) for at, count in known[name])
    return State(**known)


def rising(state: State, policy: Policy, figures: Mapping[str, float], *, more: bool) -> State:
    """``more``: replicas are asked for. ``figures``: what one replica carries, by target.

    A load that has just begun is half in a sample of two seconds: the next one tells all of it.
    """
    goals = policy.targets.set()
    carried = max((figure / goals[name] for name, figure in figures.items()), default=None)
    # why 0 where nothing was measured before: a load may begin as soon as there is a replica
    grows = carried is not None and carried >= MUCH and carried > ROSE * (state.carried or 0.0)
    return replace(state, carried=carried, soon=more or grows)


def changed(state: State, count: int, now: float) -> State:
    """``count`` replicas from now on."""
    kept = [moment for moment in state.changes if moment[0] > now - MINUTE_S]
    before = [moment for moment in state.changes if moment[0] <= now - MINUTE_S]
    return replace(state, count=count, changes=(*before[-1:], *kept, (now, count)), queues=())


def set_back(state: State, now: float) -> State:
    """Without what lies in the future: the clock was set back, and nobody waits until then."""
    moments = (state.at or 0.0, state.quiet or 0.0, *(at for at, _ in state.changes[-1:]))
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
    state: State, wanted: int, now: float, policy: Policy, knee: float, gap_s: float
) -> State:
    """The load asks for ``wanted`` now; what is older than the windows is forgotten."""
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
    highs, lows = (*highs, moment), (*lows, moment)
    return replace(state, since=since, at=now, highs=highs, lows=lows, knee=knee)


def quiet_seen(state: State, load: Load | None, now: float, *, needed: bool) -> State:
    """Since when there was no request. What was not measured for a while is known by the count of
    those that came, and no reason to begin anew."""
    if needed:
        return replace(state, quiet=None)
    if load is None or not load.whole or now - load.at > load.fresh_s:
        return state
    still = load.quiet and load.served == state.served
    since = now if state.quiet is None else state.quiet
    return replace(state, quiet=since if still else None, served=load.served)


def queue_seen(state: State, load: Load, now: float, gap_s: float) -> State:
    """With the requests that are in flight now, in the mean: at one moment there are a few more or
    less. Nothing is remembered unless all replicas that are asked for are at work all the time,
    which those that have time to spare, and a queue by chance, are not."""
    at_work = load.busy is not None and load.busy >= AT_WORK
    if load.in_flight is None or load.serving < (state.count or 0) or not at_work:
        return replace(state, queues=())
    known = () if state.at is None or now - state.at > gap_s else state.queues
    old = [one for one in known if one[0] <= now - STANDS_S]
    new = [one for one in known if one[0] > now - STANDS_S]
    length = load.in_flight - load.waiting + load.queued
    return replace(state, queues=(*old[-1:], *new, (now, length)))


def standing(state: State) -> float:
    """Requests that are in flight all the time, 0 where their number is not known to stay.

    A queue that neither grows nor passes is of callers who ask again once they are answered: it
    says nothing of how often they would, but how many replicas they keep busy.
    """
    if not state.queues or state.queues[-1][0] - state.queues[0][0] < STANDS_S:
        return 0.0
    lengths = [length for _, length in state.queues]
    return min(lengths) if min(lengths) >= (1 - PASSING) * max(lengths) else 0.0


def within(moments: Moments, seconds: float, now: float) -> list[int]:
    """The counts of the last ``seconds``; the newest at least."""
    return [count for at, count in moments if at >= now - seconds] or [moments[-1][1]]
