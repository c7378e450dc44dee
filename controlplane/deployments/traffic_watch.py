"""Pure: how long the last change of an endpoint's traffic is watched, and what takes it back.

Shares are what ``shares_of`` makes of an endpoint: its traffic, copies and rules.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

WATCHED: Final = timedelta(minutes=2)  # from when gateways have confirmed it
TOLD_BACK: Final = timedelta(minutes=2)  # so long it is said that it was taken back
KEPT: Final = timedelta(hours=1)  # so long after it the change is told of at all
SHARES: Final = ("traffic", "mirror_traffic", "traffic_rules")
Shares = Mapping[str, Any]


class WatchState(StrEnum):
    ROUTING = "routing"  # gateways have not confirmed it
    WATCHING = "watching"
    WATCHED = "watched"
    UNDONE = "undone"


def shares_of(endpoint: Any) -> dict[str, Any]:
    return {name: getattr(endpoint, name) for name in SHARES}


def moved(before: Shares, after: Shares) -> bool:
    """Whether callers are answered by others than before. Nobody reads the answers to copies."""
    return not (same_traffic(before, after) and before["traffic_rules"] == after["traffic_rules"])


def same_traffic(one: Shares, other: Shares) -> bool:
    """A deployment that is not named has no share."""
    return given(one) == given(other)


def given(shares: Shares) -> dict[str, int]:
    """Who has a share of the requests."""
    return {name: percent for name, percent in shares["traffic"].items() if percent}


def takes_back(before: Shares, after: Shares, new: Shares) -> bool:
    """Whether ``new`` is again what a change from ``before`` to ``after`` has replaced: the
    shares, or the rules where it replaced them alone."""
    if same_traffic(before, after):
        return bool(before["traffic_rules"] == new["traffic_rules"])
    return same_traffic(before, new)


def state_of(
    *, changed_at: datetime, routed_at: datetime | None, undone_at: datetime | None, now: datetime
) -> WatchState | None:
    """None once there is nothing to tell any more."""
    if undone_at is not None:
        return WatchState.UNDONE if now < undone_at + TOLD_BACK else None
    if now >= changed_at + KEPT:
        return None
    if routed_at is None:
        return WatchState.ROUTING
    return WatchState.WATCHING if now < routed_at + WATCHED else WatchState.WATCHED


def way_back(
    before: Shares, after: Shares, current: Shares, deployments: Collection[str]
) -> dict[str, Any] | None:
    """What an endpoint is to be given (``PATCH``) to take the change back: all that the change has
    replaced and nobody has changed since. None where what callers got then is not to be had."""
    if moved(after, current):
        return None
    changed = {name: before[name] for name in SHARES if before[name] != after[name]}
    if same_traffic(before, after):
        changed.pop("traffic", None)
    if current["mirror_traffic"] != after["mirror_traffic"]:
        changed.pop("mirror_traffic", None)
    named = {*given(before), *(rule["deployment"] for rule in changed.get("traffic_rules", ()))}
    if not named <= set(deployments):
        return None
    if not set(changed.get("mirror_traffic", ())) <= set(deployments):
        del changed["mirror_traffic"]
    if "traffic" in changed:
        changed["traffic"] = given(before)
    return changed


def gaining(before: Shares, after: Shares) -> list[str]:
    """Who answers more requests than before: a larger share, or a rule that was not there."""
    more = {name for name, share in given(after).items() if share > given(before).get(name, 0)}
    new = [rule for rule in after["traffic_rules"] if rule not in before["traffic_rules"]]
    return sorted(more | {rule["deployment"] for rule in new})
