"""The slots of one instance: a line of requests and a state each. Pure: fed with time and requests.

A None in a line means that the sequence was ended from outside, by idleness or a cancelled request:
the slot goes to the next sequence when what stands before it has left.
"""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from worker_runtime.core.execution.sequence_tensors import SequenceState
from worker_runtime.core.scheduling.sequence.entries import Entry
from worker_runtime.core.scheduling.sequence.table import Seat, SequenceTable
from worker_runtime.types.request import InferRequest

FreshState = Callable[[], SequenceState | None]
Line = deque[InferRequest | None]


class SequenceBatcher(Protocol):
    """One instance as the scheduler sees it."""

    @property
    def waiting(self) -> int:
        """Requests that do not execute yet."""
        ...

    @property
    def queued(self) -> int:
        """Requests that ``decide`` could look at now."""
        ...

    def push(self, slot: int, request: InferRequest | None, now_ns: int) -> None:
        """One more request for a slot; None ends its sequence."""
        ...

    def decide(self, now_ns: int) -> tuple[list[Entry], int]:
        """The next batch, or none and when to look again (0: when something comes)."""
        ...

    def finished(self, entries: list[Entry], now_ns: int) -> None:
        """A batch is over and its states are up to date."""
        ...

    def withdraw(self, request: InferRequest, now_ns: int) -> list[InferRequest]:
        """End the sequence of a waiting request: it and what comes behind it, [] if not here."""
        ...

    def clear(self) -> list[InferRequest]:
        """Take out everything that waits."""
        ...


class Slots:
    def __init__(self, table: SequenceTable, index: int, slots: int, fresh: FreshState) -> None:
        self._table = table
        self._index = index
        self._fresh = fresh
        self._states: list[SequenceState | None] = [None] * slots
        self.lines: list[Line] = [deque() for _ in range(slots)]
        self.waiting = 0

    def append(self, slot: int, request: InferRequest | None) -> None:
        self.lines[slot].append(request)
        self.waiting += request is not None

    def front(self, slot: int, now_ns: int) -> InferRequest | None:
        """The request that is next in a slot, once ended sequences have made room."""
        line = self.lines[slot]
        while line:
            if line[0] is not None:
                return line[0]
            line.popleft()
            self._refill(slot, now_ns)
        return None

    def state(self, slot: int, request: InferRequest) -> SequenceState | None:
        """The state that the request at the front will see: START begins anew."""
        part = request.sequence
        if self._states[slot] is None or (part is not None and part.start):
            self._states[slot] = self._fresh()
        return self._states[slot]

    def take(self, slot: int, request: InferRequest, now_ns: int) -> Entry:
        """Take out the front request; its END gives the slot to the next sequence."""
        self.lines[slot].popleft()
        self.waiting -= 1
        entry = Entry(request, slot, state=self.state(slot, request))
        if request.sequence is not None and request.sequence.end:
            self._refill(slot, now_ns)
        return entry

    def cut(self, request: InferRequest) -> tuple[int, list[InferRequest]]:
        """Take out a request and all behind it, ending the sequence; its slot, -1: not here."""
        for slot, line in enumerate(self.lines):
            for position, waiting in enumerate(line):
                if waiting is request:
                    return slot, self.end(slot, request, position)
        return -1, []

    def end(self, slot: int, request: InferRequest, position: int = 0) -> list[InferRequest]:
        """End the sequence of ``request``, keeping ``position`` requests of the slot's line."""
        line = self.lines[slot]
        gone = [item for item in list(line)[position:] if item is not None]
        while len(line) > position:
            line.pop()
        line.append(None)
        self.waiting -= len(gone)
        if request.sequence is not None:
            self._table.forget(request.sequence.id, Seat(slot, self._index))
        return gone

    def clear(self) -> list[InferRequest]:
        gone = [item for line in self.lines for item in line if item is not None]
        for line in self.lines:
            line.clear()
        self.waiting = 0
        return gone

    def _refill(self, slot: int, now_ns: int) -> None:
        self._states[slot] = None
        came = self._table.release(Seat(slot, self._index), now_ns)
        self.lines[slot].extend(came)
        self.waiting += len(came)
