"""One thing that an attacker tries, and how it ended; the table of all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["refused", "held", "BROKEN", "not here"]


@dataclass(frozen=True)
class Try:
    """``refused``: an answer said no; ``held``: it stayed as promised; ``BROKEN``: it did not.

    ``not here``: this machine or kernel cannot show it; ``detail`` says why.
    """

    part: str
    tried: str
    outcome: Outcome
    detail: str = ""


def held(part: str, tried: str, wrong: Iterable[object]) -> Try:
    """It held if nothing is ``wrong``; else what is wrong is told."""
    found = [str(item) for item in wrong]
    return Try(part, tried, "BROKEN" if found else "held", "; ".join(found))


def refused(part: str, tried: str, *, no: bool, answer: str) -> Try:
    """Somebody had to say no; ``answer`` is what they said."""
    return Try(part, tried, "refused" if no else "BROKEN", answer)


def table(tries: Iterable[Try]) -> str:
    """A line for each, those that broke last."""
    rows = sorted(tries, key=lambda row: row.outcome == "BROKEN")
    return "\n".join(
        f"  {row.outcome:<8}  {row.part:<10}  {row.tried}"
        + (f"  ({row.detail})" if row.detail and row.outcome in ("BROKEN", "not here") else "")
        for row in rows
    )
