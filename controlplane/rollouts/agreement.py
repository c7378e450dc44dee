"""The same inputs for both versions: how often the candidate answers otherwise, and how sure it is
that this is more than the stable version differs from itself.

The stable version answers an input, and both answer it again: the candidate once, the stable
version ``ASKED_AGAIN`` times. If the candidate is the same, random parts of the model and of
batching included, each of these answers is as likely as any other to differ from the first, so that
of those that differ the candidate has a share of 1 / (1 + ``ASKED_AGAIN``): ``evidence`` weighs
just that, one window for each input, and may be looked at any time. Where the stable version never
differs from itself, five inputs that the candidate answers otherwise are enough.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from controlplane.rollouts.captured import (
    CAPTURED,
    ENOUGH,
    Captured,
    captured_from_json,
    captured_to_json,
)
from controlplane.rollouts.evidence import NOTHING, START, Tally, confidence, weighed

ANSWERS: Final = "answers"  # its name among the measures
ASKED_AGAIN: Final = 4
LONGEST_KEPT: Final = 500  # characters of the example
MOST_DIFFERING: Final = 10  # that are kept, the newest


@dataclass(frozen=True, slots=True)
class Differing:
    """An input that the candidate answered otherwise. ``text`` may have values of the answers.
    ``file`` and ``line``: where a captured one lies; its own values are not kept here, so that they
    go when the file does."""

    source: str
    model: str
    at: float
    text: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Compared:
    """``candidate`` and ``stable``: answers that differed from the stable version's first, and how
    many were compared with it. ``unanswered``: inputs that nothing was learned from. ``refused``:
    saved cases, and models with random inputs, that the stable version refuses: neither is asked
    for them again. ``example``: how the candidate last differed, without values of clients.
    ``sources``: the candidate's tally of each. ``differing``: the newest last."""

    candidate: Tally = NOTHING
    stable: Tally = NOTHING
    weights: tuple[float, ...] = START
    unanswered: int = 0
    refused: tuple[str, ...] = ()
    example: str = ""
    sources: Mapping[str, Tally] = field(default_factory=dict)
    differing: tuple[Differing, ...] = ()
    captured: Captured = field(default_factory=Captured)

    @property
    def confidence(self) -> float:
        return confidence(self.weights)


def compared_with(
    known: Compared,
    own: str,
    again: tuple[str, ...],
    odds: float,
    *,
    source: str = "",
    differing: Differing | None = None,
) -> Compared:
    """With one more input. ``own`` and ``again``: how the candidate and the stable version differed
    from the first answer, empty where they did not. ``odds``: so many times as often is no
    concern."""
    new = Tally(int(bool(own)), 1)
    old = Tally(sum(map(bool, again)), len(again))
    sources = dict(known.sources)
    if source:
        sources[source] = sources.get(source, NOTHING) + new
    kept = known.differing
    if differing is not None:
        kept = (*kept, replace(differing, text=differing.text[:LONGEST_KEPT]))[-MOST_DIFFERING:]
    return replace(
        known,
        candidate=known.candidate + new,
        stable=known.stable + old,
        weights=weighed(known.weights, new, old, odds, math.inf),
        example=own[:LONGEST_KEPT] or known.example,
        sources=sources,
        differing=kept,
    )


def unanswered(known: Compared, refused: str = "") -> Compared:
    """With an input that said nothing. ``refused``: where it came from, and is not taken again."""
    more = (refused,) if refused and refused not in known.refused else ()
    return replace(known, unanswered=known.unanswered + 1, refused=(*known.refused, *more))


def compared_text(known: Compared, candidate: str, needed: str, sure: str) -> str:
    """``needed`` and ``sure``: confidences, as the other guardrails write them."""
    new, old = known.candidate, known.stable
    example = f" Of the last: {known.example}." if known.example else ""
    return (
        f"{candidate} answered {new.bad:,} of {new.of:,} inputs otherwise than the stable version, "
        f"which differed from itself in {old.bad:,} of {old.of:,}: it is worse with a confidence "
        f"of {sure}, {needed} withdraws it.{example}"
    )


def inputs_missing(known: Compared | None, min_requests: int) -> int:
    """How many more are to be compared before all of the traffic goes over at once: as many in all
    as a step has requests, and no more than find a bad version (``ENOUGH``). None asks for none."""
    return 0 if known is None else max(0, min(min_requests, ENOUGH) - known.candidate.of)


def inputs_text(known: Compared, min_requests: int, candidate: str, *, asleep: bool) -> str:
    """How many are missing, and what keeps them from being asked."""
    wanted, few = min(min_requests, ENOUGH), inputs_missing(known, min_requests)
    told = [
        f"{known.candidate.of:,} of {wanted:,} inputs were answered by both versions: {few:,} are "
        f"missing before {candidate} gets all of the traffic."
    ]
    if asleep:
        told.append(f"{candidate} is asleep: they are asked once a request wakes it.")
    if known.unanswered:
        told.append(f"Of {known.unanswered:,} more nothing was learned.")
    if known.captured.why and not known.sources.keys() - {CAPTURED}:  # of others it asks more
        told.append(known.captured.why)
    return " ".join(told)


def compared_to_json(known: Compared) -> dict[str, Any]:
    return {
        "candidate": [known.candidate.bad, known.candidate.of],
        "stable": [known.stable.bad, known.stable.of],
        "weights": list(known.weights),
        "unanswered": known.unanswered,
        "refused": list(known.refused),
        "example": known.example,
        "sources": {name: [one.bad, one.of] for name, one in known.sources.items()},
        "differing": [asdict(one) for one in known.differing],
        "captured": captured_to_json(known.captured),
    }


def compared_from_json(kept: Mapping[str, Any] | None) -> Compared:
    if not kept:
        return Compared()
    return Compared(
        candidate=Tally(*kept["candidate"]),
        stable=Tally(*kept["stable"]),
        weights=tuple(kept["weights"]),
        unanswered=kept["unanswered"],
        refused=tuple(kept["refused"]),
        example=kept["example"],
        # why defaults: rows from before there were these
        sources={name: Tally(*one) for name, one in kept.get("sources", {}).items()},
        differing=tuple(Differing(**one) for one in kept.get("differing", ())),
        captured=captured_from_json(kept.get("captured")),
    )
