"""Requests of clients that are asked again: how many there may be, and what is missing of them."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

CAPTURED: Final = "captured"  # its name among the sources of inputs
MOST_ASKED: Final = 1000  # of one rollout
MOST_REFUSED: Final = 5  # by the stable version, while it has answered no more
# So many inputs find 5 % of other answers in 95 of 100 rollouts (`make rollout-sim`).
ENOUGH: Final = 200


class Unusable(StrEnum):
    """Why a captured request cannot be asked again."""

    FAILED = "failed"
    HASHED = "hashed"
    LEFT_OUT = "left_out"
    OMITTED = "omitted"
    NOT_FINITE = "not_finite"
    NOT_TEXT = "not_text"
    OTHER_MODEL = "other_model"
    UNREADABLE = "unreadable"


REASONS: Final[Mapping[str, str]] = {
    Unusable.FAILED: "had failed",
    Unusable.HASHED: "have hashed fields",
    Unusable.LEFT_OUT: "lack fields that are not captured",
    Unusable.OMITTED: "were not captured whole",
    Unusable.NOT_FINITE: "have values that are no finite numbers, and were captured as missing",
    Unusable.NOT_TEXT: "have bytes that are no text",
    Unusable.OTHER_MODEL: "are of models that cannot be asked so",
    Unusable.UNREADABLE: "cannot be read",
}


@dataclass(frozen=True, slots=True)
class Captured:
    """What came of them so far. ``why``: why no more are asked now, a sentence, or empty.
    ``unusable``: how many of each kind the last look met. ``refused``: by the stable version.
    ``taken``: where the asked ones lie (``place``), so that none is asked twice."""

    why: str = ""
    unusable: Mapping[str, int] = field(default_factory=dict)
    refused: int = 0
    taken: tuple[str, ...] = ()

    @property
    def left(self) -> int:
        return max(0, MOST_ASKED - len(self.taken))

    @property
    def is_refused(self) -> bool:
        """Most of them, so that asking more would only be refused."""
        return self.refused >= MOST_REFUSED and 2 * self.refused > len(self.taken)


def place(file: str, line: int) -> str:
    return f"{file[:8]}:{line}"


def captured_met(known: Captured, unusable: Mapping[str, int] | None, why: str) -> Captured:
    """With what a look at them has found; None where it has not looked at any."""
    found = known.unusable if unusable is None else unusable
    return replace(known, unusable={one: found[one] for one in Unusable if one in found}, why=why)


def captured_asked(known: Captured, where: str, *, refused: bool) -> Captured:
    return replace(known, taken=(*known.taken, where), refused=known.refused + int(refused))


def captured_text(known: Captured, compared: int) -> str:
    """How many were ``compared``, and what is missing: sentences, without values."""
    few = ENOUGH - compared
    missing = f": {few:,} are missing before 5 % of other answers are likely to be noticed"
    told = [f"{compared:,} captured requests were compared{missing if few > 0 else ''}."]
    if known.unusable:
        which = ", ".join(f"{count:,} {REASONS[one]}" for one, count in known.unusable.items())
        met = sum(known.unusable.values())
        told.append(f"Of those looked at last {met:,} cannot be asked again: {which}.")
    if known.why:
        told.append(known.why)
    return " ".join(told)


def captured_to_json(known: Captured) -> dict[str, Any]:
    return {**asdict(known), "unusable": dict(known.unusable), "taken": list(known.taken)}


def captured_from_json(kept: Mapping[str, Any] | None) -> Captured:
    return Captured(**{**kept, "taken": tuple(kept["taken"])}) if kept else Captured()
