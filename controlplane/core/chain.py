"""The chain of keyed hashes over events, walked link by link, wherever an event lies."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.db import DatabaseError

from controlplane.core import seals
from controlplane.core.anchors import Anchor
from controlplane.core.models import Event

BROKEN: Final = "audit.broken"  # the verb of the mark that a forged end leaves in the chain
CHANGED, REMOVED, FORGED, REWOUND = "changed", "removed", "forged", "rewound"
OTHER_KEY: Final = "other_key"
START: Final = "0" * 64  # what the first link hangs on
# what a row that somebody else wrote raises when it is read
UNREADABLE: Final = (
    ValueError, TypeError, AttributeError, OverflowError, RecursionError, DatabaseError,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain does not hold, and what that looks like.

    ``kind``: an event was *changed*; events, an archive, or the end, were *removed*; one was
    *forged*, that is not written by Shoal; the log was *rewound* to an older state. *other_key*:
    nothing fits the secret key that this process has, so that nothing can be said of the log.
    """

    kind: str
    link: int
    seq: int | None
    reason: str


@dataclass(slots=True)
class Walk:
    """How far the chain was found to hold: to ``link``, whose hash is ``digest``.

    Events to ``boundary`` are from before there were keyed hashes of their own.
    """

    boundary: int
    anchors: Mapping[int, Anchor]
    link: int = 0
    digest: str = START

    def step(self, event: Event) -> Break | None:
        """To the next event; a break ends the walk. Raises one of ``UNREADABLE``."""
        before, self.link = self.digest, self.link + 1
        if found := _break_at(event, self.link, before, self.boundary):
            return found
        anchor = self.anchors.get(self.link)
        if anchor is not None and not seals.same(anchor.digest, event.digest):
            reason = f"Event {event.seq} is not what link {self.link} was anchored as at"
            reason += f" {anchor.at}. An older log was put back."
            return Break(REWOUND, self.link, event.seq, reason)
        self.digest = event.digest
        return None


def _break_at(event: Event, expected: int, before: str, boundary: int) -> Break | None:
    if event.link is None or event.link > expected:
        reason = f"No event holds link {expected}, here or in an archive: it was removed."
        return Break(REMOVED, expected, None, reason)
    if event.link < expected:
        reason = f"Event {event.seq} claims link {event.link}, where another is."
        return Break(FORGED, expected, event.seq, reason)
    if not seals.same(event.digest, seals.digest_of(before, expected, event)):
        reason = f"Event {event.seq} is not what was sealed: it, or the one before, was changed."
        return Break(CHANGED, expected, event.seq, reason)
    if expected > boundary and not seals.event_fits(event):
        reason = f"Event {event.seq} is not what Shoal wrote: slipped in, or changed at once."
        return Break(FORGED, expected, event.seq, reason)
    if event.verb == BROKEN:
        return Break(str(event.data.get("kind", REWOUND)), expected, event.seq, event.message)
    return None
