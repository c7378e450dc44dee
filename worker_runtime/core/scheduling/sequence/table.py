"""Which sequence sits in which slot, and which ones wait for a slot. Pure: it is fed with time.

A sequence begins with START and takes the free slot with the lowest number, over all instances.
When there is none it waits in the backlog as a whole, first in first out. END frees the slot once
that request has left; a sequence whose last request came too long ago loses its slot silently.
"""

import heapq
from collections import deque
from itertools import count
from typing import NamedTuple

from msgspec import Struct, field

from worker_runtime.errors import InvalidArgument, QueueFull, Unavailable
from worker_runtime.types.request import InferRequest

SequenceId = int | str
_STOPPING = "Server is stopping, scheduler for model has stopped accepting new inference requests"

# A sequence that sat in the backlog for longer than it may be idle still gets this much time to go
# on, as in Triton, whose reaper looks at such sequences that often.
_GRACE_NS = 50_000_000


class Seat(NamedTuple):
    """A slot of an instance."""

    slot: int
    instance: int


class _Live(Struct, eq=False):
    """A sequence that more requests may come for; without a seat it collects in the backlog."""

    last_ns: int
    seat: Seat | None = None


class _Backlog(Struct, eq=False):
    """A sequence, or the first part of one, without a slot. ``live`` is None after its END."""

    id: SequenceId
    live: _Live | None
    requests: deque[InferRequest] = field(default_factory=deque)
    expires_ns: int = 0


class Admission(NamedTuple):
    """Where a request belongs: a seat, or None for the backlog. ``conflict``: a START too many."""

    seat: Seat | None
    conflict: bool = False


class SequenceTable:
    def __init__(
        self,
        model: str,
        instances: int,
        slots: int,
        idle_ns: int,
        backlog_limit: int = 0,
        longest_wait_ns: int = 0,
    ) -> None:
        """``longest_wait_ns``: that a request may be in the backlog at most; 0: no cap."""
        self._model = model
        self._slots = slots
        self._idle_ns = idle_ns
        self._limit = backlog_limit
        self._longest_ns = longest_wait_ns
        self._tick = count()
        # Of slots with one number the one that was freed first: instances take turns.
        self._free: list[tuple[int, int, Seat]] = []
        self._leaving: dict[int, int] = {}  # slots still taken, by instances that go away
        for slot in range(slots):
            for instance in range(instances):
                self._offer(Seat(slot, instance))
        self._live: dict[SequenceId, _Live] = {}
        self._backlog: deque[_Backlog] = deque()
        self._collecting: dict[SequenceId, _Backlog] = {}
        self._idle: list[tuple[int, int, SequenceId, _Live]] = []
        self._timeout_ns = 0
        self.waiting = 0  # requests in the backlog
        self.closed = False

    @property
    def live(self) -> int:
        """Sequences that have begun and not ended."""
        return len(self._live)

    def knows(self, sequence: SequenceId) -> bool:
        return sequence in self._live

    def admit(self, request: InferRequest, now_ns: int) -> Admission:
        """Find the request's place; one without a seat is kept here.

        Raises InvalidArgument when its sequence never started, Unavailable or QueueFull for a new
        sequence that cannot be taken.
        """
        part = request.sequence
        if part is None:
            raise InvalidArgument(
                f"inference request to model '{self._model}' must specify a non-zero or non-empty "
                "correlation ID"
            )
        live = self._live.get(part.id)
        if part.start and self.closed:
            raise Unavailable(_STOPPING)
        if live is None and not part.start:
            raise InvalidArgument(
                f"inference request for sequence {part.id} to model '{self._model}' must specify "
                "the START flag on the first request of the sequence"
            )
        conflict = live is not None and part.start
        if live is None:
            live = self._begin(part.id, now_ns)
        live.last_ns = now_ns
        if part.end:
            del self._live[part.id]
        if live.seat is None:
            self._keep(request, live, now_ns)
        return Admission(live.seat, conflict)

    def release(self, seat: Seat, now_ns: int) -> deque[InferRequest]:
        """The slot is free: the requests of the sequence that takes it over, or nothing."""
        if seat.instance in self._leaving:
            self._leaving[seat.instance] -= 1
            return deque()
        if not self._backlog:
            self._offer(seat)
            return deque()
        backlog = self._backlog.popleft()
        self.waiting -= len(backlog.requests)
        if self._collecting.get(backlog.id) is backlog:
            del self._collecting[backlog.id]
        if backlog.live is not None:
            self._seat(backlog.id, backlog.live, seat, now_ns + _GRACE_NS)
        return backlog.requests

    def add(self, instance: int, now_ns: int) -> list[tuple[Seat, deque[InferRequest]]]:
        """One more instance: the seats in it that sequences from the backlog take at once."""
        for slot in range(self._slots):
            self._offer(Seat(slot, instance))
        taken = []
        while self._free and self._backlog:
            seat = heapq.heappop(self._free)[2]
            taken.append((seat, self.release(seat, now_ns)))
        return taken

    def retire(self, instance: int) -> None:
        """No sequence begins on this instance any more."""
        kept = [item for item in self._free if item[2].instance != instance]
        self._leaving[instance] = self._slots - (len(self._free) - len(kept))
        self._free = kept
        heapq.heapify(self._free)

    def left(self, instance: int) -> bool:
        """A retired instance has no sequence any more."""
        return not self._leaving.get(instance)

    def forget(self, sequence: SequenceId, seat: Seat) -> None:
        """No more requests may come for the sequence of this id in this seat."""
        live = self._live.get(sequence)
        if live is not None and live.seat == seat:
            del self._live[sequence]

    def seat_of(self, sequence: SequenceId) -> Seat | None:
        live = self._live.get(sequence)
        return live.seat if live is not None else None

    def withdraw(self, request: InferRequest) -> list[InferRequest]:
        """Take the whole sequence of a request out of the backlog; empty when it is not there."""
        for position, backlog in enumerate(self._backlog):
            if any(waiting is request for waiting in backlog.requests):
                del self._backlog[position]
                return self._dropped(backlog)
        return []

    def idle(self, now_ns: int) -> list[Seat]:
        """Forget the sequences that were silent for too long; their seats, to be force-ended."""
        ended: list[Seat] = []
        again: list[tuple[int, int, SequenceId, _Live]] = []
        while self._idle and self._idle[0][0] <= now_ns:
            _, _, sequence, live = heapq.heappop(self._idle)
            if self._live.get(sequence) is not live or live.seat is None:
                continue
            due = live.last_ns + self._idle_ns
            if due > now_ns:
                again.append((due, next(self._tick), sequence, live))
                continue
            del self._live[sequence]
            ended.append(live.seat)
        for item in again:
            heapq.heappush(self._idle, item)
        return ended

    def expired(self, now_ns: int) -> list[InferRequest]:
        """Take out the sequences that waited in the backlog beyond a request's timeout."""
        if not self._timeout_ns or now_ns < self._timeout_ns:
            return []
        gone = [b for b in self._backlog if b.expires_ns and b.expires_ns <= now_ns]
        kept = [b for b in self._backlog if not b.expires_ns or b.expires_ns > now_ns]
        self._backlog = deque(kept)
        self._timeout_ns = min((b.expires_ns for b in kept if b.expires_ns), default=0)
        return [request for backlog in gone for request in self._dropped(backlog)]

    def next_check(self) -> int:
        """When ``idle`` and ``expired`` should be asked again; 0: not before the next request."""
        idle = self._idle[0][0] if self._idle else 0
        if self._timeout_ns and (not idle or self._timeout_ns < idle):
            return self._timeout_ns
        return idle

    def clear(self) -> list[InferRequest]:
        """Forget everything; the requests that were waiting for a slot."""
        gone = [request for backlog in self._backlog for request in backlog.requests]
        self._backlog.clear()
        self._collecting.clear()
        self._live.clear()
        self._idle.clear()
        self.waiting = self._timeout_ns = 0
        return gone

    def _offer(self, seat: Seat) -> None:
        heapq.heappush(self._free, (seat.slot, next(self._tick), seat))

    def _begin(self, sequence: SequenceId, now_ns: int) -> _Live:
        if not self._free and self._limit and len(self._backlog) >= self._limit:
            raise QueueFull("Exceeds maximum queue size")
        live = self._live[sequence] = _Live(now_ns)
        if self._free:
            self._seat(sequence, live, heapq.heappop(self._free)[2], 0)
        return live

    def _seat(self, sequence: SequenceId, live: _Live, seat: Seat, earliest_ns: int) -> None:
        live.seat = seat
        due = max(live.last_ns + self._idle_ns, earliest_ns)
        heapq.heappush(self._idle, (due, next(self._tick), sequence, live))

    def _keep(self, request: InferRequest, live: _Live, now_ns: int) -> None:
        part = request.sequence
        assert part is not None  # noqa: S101  admit has seen it
        backlog = self._collecting.get(part.id)
        if backlog is None:
            backlog = self._collecting[part.id] = _Backlog(part.id, live)
            self._backlog.append(backlog)
        backlog.requests.append(request)
        self.waiting += 1
        timeout = request.timeout_ns
        if self._longest_ns and not 0 < timeout < self._longest_ns:
            timeout = self._longest_ns
        if timeout:
            expires = now_ns + timeout
            backlog.expires_ns = min(backlog.expires_ns or expires, expires)
            self._timeout_ns = min(self._timeout_ns or expires, expires)
        if part.end:
            # A sequence that starts again with this id collects in a backlog of its own.
            backlog.live = None
            del self._collecting[part.id]

    def _dropped(self, backlog: _Backlog) -> list[InferRequest]:
        self.waiting -= len(backlog.requests)
        if self._collecting.get(backlog.id) is backlog:
            del self._collecting[backlog.id]
        if backlog.live is not None and self._live.get(backlog.id) is backlog.live:
            del self._live[backlog.id]
        return list(backlog.requests)
