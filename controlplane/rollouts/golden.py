"""Golden cases as a guardrail: what the candidate answered to them, and what that decides."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

GOLDEN: Final = "golden"  # its name among the measures
PACE_S: Final = 60.0  # while a step holds, they are asked again so often
# After a time-out: the candidate may still be at work on what we gave up.
SLOW_PACE_S: Final = 600.0
LONGEST_KEPT: Final = 500  # characters of one


@dataclass(frozen=True, slots=True)
class Golden:
    """``at``: when the candidate was asked (Unix seconds), None where it has not been yet.

    ``wrong`` and ``unanswered`` have a part of a sentence for each such case. What was not answered
    says nothing of the candidate. ``slow``: one of them timed out. ``revision``: what it ran.
    """

    at: float | None = None
    revision: int = 0
    cases: int = 0
    wrong: tuple[str, ...] = ()
    unanswered: tuple[str, ...] = ()
    slow: bool = False

    @property
    def answered(self) -> int:
        return self.cases - len(self.unanswered)

    def to_json(self) -> dict[str, Any]:
        """As rows keep it and REST shows it."""
        return {
            "at": self.at,
            "revision": self.revision,
            "cases": self.cases,
            "wrong": [one[:LONGEST_KEPT] for one in self.wrong],
            "unanswered": [one[:LONGEST_KEPT] for one in self.unanswered],
            "slow": self.slow,
        }


def golden_from_json(kept: Mapping[str, Any] | None) -> Golden:
    if not kept:
        return Golden()
    return Golden(
        at=kept["at"],
        revision=kept["revision"],
        cases=kept["cases"],
        wrong=tuple(kept["wrong"]),
        unanswered=tuple(kept["unanswered"]),
        slow=kept["slow"],
    )


def golden_due(asked_at: float | None, since: float, now: float, *, slow: bool = False) -> bool:
    """Whether it is time to ask: once in each step, which began at ``since``, and at a pace."""
    if asked_at is None or asked_at < since:
        return True
    return (
        not 0 <= now - asked_at < (SLOW_PACE_S if slow else PACE_S)
    )  # the clock may have been set back


def golden_text(golden: Golden, candidate: str) -> str:
    """What they showed, a sentence."""
    if golden.wrong:
        more = len(golden.wrong) - 1
        others = f", and {more} more" if more else ""
        return (
            f"{candidate} answers {len(golden.wrong)} of {golden.cases} golden cases otherwise "
            f"than expected: {golden.wrong[0]}{others}."
        )
    if golden.answered:
        return f"{candidate} answers {golden.answered} of {golden.cases} golden cases as expected."
    return f"{candidate} has answered no golden case: {golden.unanswered[0]}."


def golden_waits(golden: Golden, since: float, candidate: str, *, asleep: bool) -> str:
    """Why the next step waits for them; empty where it does not."""
    if golden.at is None or golden.at < since:
        if asleep:
            return f"{candidate} is asleep: its golden cases are asked once a request wakes it."
        return f"{candidate} has not been asked the golden cases in this step yet."
    if golden.unanswered:
        more = len(golden.unanswered) - 1
        others = f", nor were {more} more" if more else ""
        return (
            f"{candidate} has not answered the golden case {golden.unanswered[0]}{others}. "
            "They are asked again."
        )
    return ""
