"""Whether the candidate's replicas have anything left: what they use beside what they may use."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

SATURATION: Final = "saturation"  # its name among the measures
LASTS_S: Final = 120.0  # so long an autoscaler has to help
WORDS: Final = {
    "cpu": "of their processors",
    "gpu": "of their GPUs",
    "instances": "of the time of their instances",
}
Used = Mapping[str, float]  # by the name of what: a share of what one replica may use, in the mean


@dataclass(frozen=True, slots=True)
class Saturation:
    """``since``: from when on the candidate has been above its bound, None where it is not.
    ``stable``: what the stable version used at last while it answered."""

    since: float | None = None
    stable: float | None = None


def peak(used: Used) -> tuple[str, float] | None:
    """What there is least left of; None where nothing was measured."""
    name = max(used, key=lambda one: used[one], default=None)
    return None if name is None else (name, used[name])


def pressed(
    known: Saturation, own: Used, stable: Used, most: float, now: float, *, alone: bool
) -> Saturation:
    """``alone``: the stable version has no traffic any more, so what it uses says nothing."""
    least, beside = peak(own), peak(stable)
    if beside is not None and not alone:
        known = replace(known, stable=beside[1])
    if least is None or least[1] < most:
        return replace(known, since=None)
    return known if known.since is not None else replace(known, since=now)


def withdraws(known: Saturation, most: float, now: float) -> bool:
    """Above it for long, and the stable version was not."""
    if known.since is None or known.stable is None or known.stable >= most:
        return False
    return now - known.since >= LASTS_S


def saturation_text(known: Saturation, own: Used, candidate: str, most: float, now: float) -> str:
    least = peak(own)
    if least is None:
        return f"Nobody has measured what {candidate} uses."
    name, share = least
    beside = "not measured" if known.stable is None else f"{100 * known.stable:.0f} %"
    lasts = "" if known.since is None else f" for {now - known.since:.0f} s"
    return (
        f"Replicas of {candidate} use {100 * share:.0f} % {WORDS.get(name, name)}{lasts}, of the "
        f"stable version {beside}: {100 * most:g} % holds it."
    )


def saturation_to_json(known: Saturation) -> dict[str, Any]:
    return {"since": known.since, "stable": known.stable}


def saturation_from_json(kept: Mapping[str, Any] | None) -> Saturation:
    return Saturation(kept["since"], kept["stable"]) if kept else Saturation()
