"""Pure: the traffic rule, and how a share moves from one deployment to another."""

from collections.abc import Collection, Mapping

from controlplane.deployments.errors import MirrorInvalid, TrafficInvalid

LARGEST_MIRROR = 50
HINT_SUM = "Shares are percent: they add up to 100, or to 0 to answer nobody."


def moved_percent(before: Mapping[str, int], after: Mapping[str, int]) -> int:
    """How much of the traffic goes elsewhere than before, or begins, or ends."""
    names = before.keys() | after.keys()
    steps = [after.get(name, 0) - before.get(name, 0) for name in names]
    return max(sum(step for step in steps if step > 0), -sum(step for step in steps if step < 0))


def traffic_check(
    traffic: Mapping[str, int], *, deployments: Collection[str], unready: Mapping[str, str]
) -> dict[str, int]:
    """``traffic`` without its zeros. Raises TrafficInvalid.

    ``unready`` says of the deployments that may not get any why not.
    """
    for name, percent in traffic.items():
        if name not in deployments:
            known = ", ".join(sorted(deployments)) or "none yet"
            raise TrafficInvalid(
                f"There is no deployment {name}; the endpoint has {known}.", field="traffic"
            )
        if not 0 <= percent <= 100:
            raise TrafficInvalid(
                f"{name}: {percent} is no percentage.", field="traffic", hints=(HINT_SUM,)
            )
    total = sum(traffic.values())
    if total not in (0, 100):
        raise TrafficInvalid(f"The shares add up to {total}.", field="traffic", hints=(HINT_SUM,))
    kept = {name: percent for name, percent in traffic.items() if percent}
    if waiting := sorted(set(kept) & set(unready)):
        raise TrafficInvalid(
            " ".join(f"{name} {unready[name]}." for name in waiting),
            field="traffic",
            hints=("Wait until it is Succeeded and has a ready replica, or see why it is not.",),
        )
    return kept


def mirror_check(
    mirror: Mapping[str, int], *, deployments: Collection[str], traffic: Mapping[str, int]
) -> dict[str, int]:
    """``mirror`` without its zeros. Raises MirrorInvalid."""
    kept = {name: percent for name, percent in mirror.items() if percent}
    if len(kept) > 1:
        raise MirrorInvalid("One deployment at most gets copies.", field="mirror_traffic")
    for name, percent in kept.items():
        if name not in deployments:
            known = ", ".join(sorted(deployments)) or "none yet"
            raise MirrorInvalid(
                f"There is no deployment {name}; the endpoint has {known}.", field="mirror_traffic"
            )
        if not 0 < percent <= LARGEST_MIRROR:
            raise MirrorInvalid(
                f"{name}: {percent} %; copies are 0 to {LARGEST_MIRROR} percent of the requests.",
                field="mirror_traffic",
            )
        if traffic.get(name):
            raise MirrorInvalid(
                f"{name} answers {traffic[name]} % of the requests itself.",
                field="mirror_traffic",
                hints=("Copies go to a deployment without traffic.",),
            )
    return kept


def mirror_beside(
    mirror: Mapping[str, int], *, traffic: Mapping[str, int], gone: str = ""
) -> dict[str, int]:
    """What remains of the copies once ``traffic`` holds and the deployment ``gone`` is leaving."""
    return {
        name: percent for name, percent in mirror.items() if not traffic.get(name) and name != gone
    }


def traffic_shift(current: Mapping[str, int], name: str, percent: int) -> dict[str, int]:
    """``name`` gets ``percent``, the others keep their proportions; the sum is 100 or 0.

    Without others to share with, anything above 0 is all of it.
    """
    others = {other: share for other, share in current.items() if other != name and share}
    if percent == 0:
        return _scaled(others, 100) if others else {}
    if not others:
        return {name: 100}
    return _scaled(others, 100 - percent) | {name: percent}


def traffic_without(current: Mapping[str, int], name: str) -> dict[str, int]:
    """The others take over what ``name`` had; nobody left means nobody answers."""
    return traffic_shift(current, name, 0)


def _scaled(shares: Mapping[str, int], total: int) -> dict[str, int]:
    """Whole percents in proportion that add up to ``total`` (largest remainders first)."""
    whole = sum(shares.values())
    exact = {name: share * total / whole for name, share in shares.items()}
    floors = {name: int(value) for name, value in exact.items()}
    left = total - sum(floors.values())
    by_remainder = sorted(exact, key=lambda name: (floors[name] - exact[name], name))
    for name in by_remainder[:left]:
        floors[name] += 1
    return {name: share for name, share in floors.items() if share}
