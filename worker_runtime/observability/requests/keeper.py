"""Which of the requests that have ended are told of one by one: the slowest, some that failed, and
some of all.

Gateways choose by the same rules from what they see, so that mostly both keep the same requests:
what is slow is known at the end only, and of all others those are taken whose ids have the smallest
numbers (``rank``). What the numbers depend on clients do not know, so none can make its requests
those that are shown. Bounded, however many there are.

Nearly all requests are none of these, and that is seen without a call: the ids that gateways make
are random, so their last digit alone tells of most that their number is too large.
"""

import asyncio
from collections import deque
from functools import lru_cache
from heapq import heappush, heapreplace
from time import monotonic_ns, time
from typing import Any, Final, NamedTuple
from zlib import crc32

from worker_runtime.observability.requests.watched import (
    ALL,
    RANDOM,
    VERSION_AT,
    Note,
    Notebook,
    noted,
)
from worker_runtime.types.request import InferRequest

SLOW, FAILED, SAMPLED = "slow", "failed", "sampled"
OF_EACH: Final = {FAILED: 6, SLOW: 4, SAMPLED: 4}  # between two looks
MOST_TOLD: Final = 64  # that somebody may not have taken yet
LEASE_S: Final = 30.0  # nobody has looked for so long: nobody wants to know
_ANY: Final = 1 << 32  # more than any rank
_LOW_BITS: Final = 28
_LOW: Final = (1 << _LOW_BITS) - 1
_DIGITS: Final = b"0123456789abcdefABCDEF"
_US: Final = 1000


def rank(request_id: bytes, salt: int) -> int:
    """As gateways have it (``wire.samples.rank``), of an id that is ``padded``."""
    number, last = crc32(request_id, salt), request_id[-1:]
    if request_id[VERSION_AT : VERSION_AT + 1] == b"4" and last in _DIGITS:
        return _first(last, salt) << _LOW_BITS | number & _LOW
    return number


def _first(digit: bytes, salt: int) -> int:
    """What the rank of a random id begins with."""
    return int(digit, 16) ^ salt & 15


def skipped(salt: int, ranked_below: int) -> bytes:
    """The last digits of random ids that are all ranked higher."""
    return _skipped(salt & 15, ranked_below >> _LOW_BITS)


# why remembered: each request that is chosen asks, and mostly for the same ones
@lru_cache(1 << 8)
def _skipped(salt: int, first: int) -> bytes:
    return bytes(digit for digit in _DIGITS if _first(bytes((digit,)), salt) > first)


class _Ended(NamedTuple):
    """``below`` may still grow: an ensemble's answer is out before its last step has ended."""

    id: str
    at: float
    own: Note
    below: Notebook | None


class _Chosen:
    """The ``most`` with the largest keys, each id once where that is ``unique``."""

    def __init__(self, most: int, *, unique: bool) -> None:
        self.heap: list[tuple[int, int, _Ended]] = []
        self.ids: set[str] = set()
        self._most = most
        self._unique = unique

    def add(self, key: int, number: int, ended: _Ended) -> None:
        if self._unique and ended.id in self.ids:
            return
        self.ids.add(ended.id)
        if len(self.heap) < self._most:
            heappush(self.heap, (key, number, ended))
        else:
            _, _, gone = heapreplace(self.heap, (key, number, ended))
            self.ids.discard(gone.id)

    @property
    def bound(self) -> int | None:
        """Only what has a larger key would be taken; None while everything is."""
        return self.heap[0][0] if len(self.heap) >= self._most else None


class RequestKeeper:
    """``active`` is what the hot path looks at: False while nobody looks into it."""

    # why: each request looks at the last five, and finds them at one place so
    __slots__ = (
        "_failed",
        "_lease",
        "_number",
        "_sampled",
        "_slow",
        "_told",
        "active",
        "ranked_below",
        "salt",
        "skipped",
        "slower_than",
    )

    def __init__(self) -> None:
        self.active = False
        self.salt = 0
        self._number = 0
        self._told: deque[dict[str, Any]] = deque(maxlen=MOST_TOLD)
        self._lease: asyncio.TimerHandle | None = None
        self._begin()

    def _begin(self) -> None:
        self._failed = _Chosen(OF_EACH[FAILED], unique=True)
        self._slow = _Chosen(OF_EACH[SLOW], unique=False)
        self._sampled = _Chosen(OF_EACH[SAMPLED], unique=True)
        # why apart from these: most requests are compared with both and are neither
        self.slower_than = ALL
        self.skipped = b""
        self.ranked_below = _ANY

    def ended(self, request: InferRequest, error: str = "") -> None:
        """As ``Watch`` has it: of a client's request that led to no other."""
        found = request.x_request_id
        if (
            not error
            and monotonic_ns() - request.arrived_ns <= self.slower_than
            and (
                (found[VERSION_AT] == RANDOM and found[-1] in self.skipped)
                or rank(found, self.salt) >= self.ranked_below
            )
        ):
            return
        self.choose(request, error)

    def notebooks(self, request: InferRequest) -> tuple[Notebook, ...]:
        """As ``Watch`` has it. From now on its notes are kept."""
        notes = request.watched = _WithNotes(self)
        return notes.notebooks(request)

    def choose(self, request: InferRequest, error: str, notebook: Notebook | None = None) -> None:
        own = noted(request, "", 0, error)
        took, ranked = own.ended - own.arrived, rank(request.x_request_id, self.salt)
        request_id = request.x_request_id.decode().rstrip()
        ended = _Ended(request_id, time() - took / 1e9, own, notebook)
        self._number = number = self._number + 1
        if error:
            bound = self._failed.bound
            if bound is None or -ranked > bound:
                self._failed.add(-ranked, number, ended)
            return
        if took > self.slower_than:
            self._slow.add(took, number, ended)
            self.slower_than = _or(self._slow.bound, ALL)
        if ranked < self.ranked_below:
            self._sampled.add(-ranked, number, ended)
            self.ranked_below = -_or(self._sampled.bound, -_ANY)
            self.skipped = skipped(self.salt, self.ranked_below)

    def look(self, salt: int, after: int) -> list[dict[str, Any]]:
        """What was chosen since the last look, and what of before has larger numbers than
        ``after``; each once, numbered. Whoever looks goes on doing so, or nothing is kept."""
        told: set[int] = set()
        for why, chosen in ((FAILED, self._failed), (SLOW, self._slow), (SAMPLED, self._sampled)):
            for _, number, ended in sorted(chosen.heap, key=lambda item: item[1]):
                if number not in told:
                    told.add(number)
                    self._told.append(shown(ended, why, number))
        self._begin()
        self.salt = salt
        self._renew()
        return [one for one in self._told if one["number"] > after]

    def _renew(self) -> None:
        self.active = True
        if self._lease is not None:
            self._lease.cancel()
        self._lease = asyncio.get_running_loop().call_later(LEASE_S, self.stop)

    def stop(self) -> None:
        self.active = False
        self._lease = None
        self._told.clear()
        self._begin()


class _WithNotes:
    """What a client's request carries that led to others."""

    __slots__ = ("_keeper", "_notebook")
    slower_than, skipped, salt, ranked_below = ALL, b"", 0, 0

    def __init__(self, keeper: RequestKeeper) -> None:
        self._keeper = keeper
        self._notebook = Notebook()

    def ended(self, request: InferRequest, error: str = "") -> None:
        self._keeper.choose(request, error, self._notebook)

    def notebooks(self, request: InferRequest) -> tuple[Notebook, ...]:  # noqa: ARG002 # Watch's
        return (self._notebook,)


def _arrival(note: Note) -> int:
    return note.arrived


def _or(found: int | None, otherwise: int) -> int:
    return otherwise if found is None else found


def shown(ended: _Ended, why: str, number: int) -> dict[str, Any]:
    """As ``wire.samples.TracedRequest`` has it, with its number."""
    own, notebook = ended.own, ended.below
    notes = [own]
    if notebook is not None:
        notes += sorted(notebook.notes, key=_arrival)
    places = {note.arrived: place for place, note in reversed(list(enumerate(notes)))}
    return {
        "number": number,
        "id": ended.id,
        "why": why,
        "at": ended.at,
        "left_out": 0 if notebook is None else notebook.left_out,
        "spans": [
            {
                "parent": -1 if note is own else places.get(note.parent, 0),
                "via": note.via,
                "model": note.model,
                "version": note.version,
                "error": note.error,
                "batch": note.batch,
                **_times(note, own.arrived),
            }
            for note in notes
        ],
    }


def _times(note: Note, begin: int) -> dict[str, Any]:
    """In microseconds. The stretches are one behind the other, from the model's start on."""
    times: dict[str, Any] = {
        "start_us": (note.arrived - begin) / _US,
        "total_us": (note.ended - note.arrived) / _US,
    }
    if note.timings is None:
        return times
    start, fed, computed, end = note.timings
    queued = note.queued or note.arrived
    return {
        **times,
        "execution": f"{start:x}",
        "accept_us": (queued - note.arrived) / _US,
        "queue_us": max(0, start - queued) / _US,
        "input_us": (fed - start) / _US,
        "infer_us": (computed - fed) / _US,
        "output_us": (end - computed) / _US,
    }
