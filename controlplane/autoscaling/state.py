"""What the autoscaler remembers of a deployment from one look to the next."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

MINUTE_S = 60.0
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
    return _with(state, count=count, changes=(*before[-1:], *kept, (now, count)))


def count_before(state: State, seconds: float, now: float, current: int) -> int:
    """Replicas so long ago, as far as is remembered."""
    found = [count for at, count in state.changes if at <= now - seconds]
    if found:
        return found[-1]
    return state.changes[0][1] if state.changes else current


def asked(
    state: State, wanted: int, now: float, *, gap_s: float, windows: tuple[int, int]
) -> State:
    """The load asks for ``wanted``; ``windows``: seconds, up and down."""
    gap = state.at is None or now - state.at > gap_s
    if gap:
        return _with(state, since=now, at=now, highs=((now, wanted),), lows=((now, wanted),))
    up_s, down_s = windows
    highs = [moment for moment in state.highs if moment[0] >= now - down_s and moment[1] > wanted]
    lows = [moment for moment in state.lows if moment[0] >= now - up_s and moment[1] < wanted]
    return _with(state, at=now, highs=(*highs, (now, wanted)), lows=(*lows, (now, wanted)))


def _with(state: State, **values: Any) -> State:
    return State(**{**{part.name: getattr(state, part.name) for part in fields(State)}, **values})
