"""The lines of one instance, a slot each, and its batches: direct or oldest first.

Pure: fed with time and requests. A None in a line means that the sequence was ended from outside,
by idleness or a cancelled request: the slot goes to the next sequence when what stands before it
has left.
"""

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from worker_runtime.core.execution.sequence_tensors import SequenceState
from worker_runtime.core.scheduling.batching import BatchPolicy
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


class DirectBatcher:
    """Slot k of the instance is row k of every batch that it executes.

    ``delay_ns`` and ``utilization`` (0 to 1) let a batch wait for more slots to be ready.

    Inputs named in ``ragged`` may have different shapes in one batch.
    """

    def __init__(
        self,
        slots: Slots,
        *,
        delay_ns: int,
        utilization: float,
        ragged: frozenset[str] = frozenset(),
    ) -> None:
        self._slots = slots
        self._delay_ns = delay_ns
        self._utilization = utilization
        self._ragged = ragged

    @property
    def waiting(self) -> int:
        return self._slots.waiting

    @property
    def queued(self) -> int:
        return self._slots.waiting

    def push(self, slot: int, request: InferRequest | None, now_ns: int) -> None:
        self._slots.append(slot, request)
        if request is None:
            self._slots.front(slot, now_ns)  # why now: a slot that is free is free at once

    def decide(self, now_ns: int) -> tuple[list[Entry], int]:
        slots = self._slots
        fronts = [slots.front(slot, now_ns) for slot in range(len(slots.lines))]
        ready = [(slot, request) for slot, request in enumerate(fronts) if request is not None]
        if not ready:
            return [], 0
        if self._delay_ns and self._utilization:
            due = min(request.queued_ns for _, request in ready) + self._delay_ns
            # In single precision, as both sides are in Triton.
            if now_ns <= due and len(ready) / len(fronts) < self._utilization - 1e-7:
                return [], due + 1
        lead_slot, lead = ready[0]
        lead_state = slots.state(lead_slot, lead)
        form = self._form(lead_slot, lead)
        entries: list[Entry] = []
        for slot, request in enumerate(fronts[: ready[-1][0] + 1]):
            if request is not None and self._form(slot, request) == form:
                entries.append(slots.take(slot, request, now_ns))
            else:
                entries.append(Entry(lead, slot, ready=False, state=lead_state))
        return entries, 0

    def finished(self, entries: list[Entry], now_ns: int) -> None:
        for entry in entries:
            self._slots.front(entry.slot, now_ns)  # an end may have been behind what has left

    def withdraw(self, request: InferRequest, now_ns: int) -> list[InferRequest]:
        slot, gone = self._slots.cut(request)
        if slot >= 0:
            self._slots.front(slot, now_ns)
        return gone

    def clear(self) -> list[InferRequest]:
        return self._slots.clear()

    def _form(self, slot: int, request: InferRequest) -> tuple[Any, ...]:
        """What must be equal for two requests to share a batch."""
        state = self._slots.state(slot, request)
        inputs = tuple(
            (item.name, None if item.name in self._ragged else item.shape)
            for item in request.plan.inputs
        )
        return inputs, state.shapes if state is not None else ()


class OldestBatcher:
    """Each slot gives one request at a time to a dynamic batcher."""

    def __init__(self, slots: Slots, policy: BatchPolicy) -> None:
        self._slots = slots
        self._policy = policy
        self._busy = [False] * len(slots.lines)  # its request is in the batcher, or executes
        self._candidates: list[Entry] = []

    @property
    def waiting(self) -> int:
        return self._slots.waiting + len(self._candidates)

    @property
    def queued(self) -> int:
        return len(self._candidates)

    def push(self, slot: int, request: InferRequest | None, now_ns: int) -> None:
        self._slots.append(slot, request)
        self._advance(slot, now_ns)

    def decide(self, now_ns: int) -> tuple[list[Entry], int]:
        candidates = self._candidates
        decision = self._policy.decide([entry.request for entry in candidates], now_ns)
        take = decision.take
        # The policy knows the inputs; states may have shapes of their own.
        for position in range(1, take):
            if _shapes(candidates[position]) != _shapes(candidates[0]):
                take = position
                break
        batch = candidates[:take]
        del candidates[:take]
        return batch, decision.wake_ns

    def finished(self, entries: list[Entry], now_ns: int) -> None:
        for entry in entries:
            self._busy[entry.slot] = False
        for entry in entries:
            self._advance(entry.slot, now_ns)

    def withdraw(self, request: InferRequest, now_ns: int) -> list[InferRequest]:
        for position, entry in enumerate(self._candidates):
            if entry.request is request:
                del self._candidates[position]
                self._busy[entry.slot] = False
                gone = [request]
                if request.sequence is not None and not request.sequence.end:
                    gone += self._slots.end(entry.slot, request)
                self._advance(entry.slot, now_ns)
                return gone
        slot, gone = self._slots.cut(request)
        if slot >= 0:
            self._advance(slot, now_ns)
        return gone

    def clear(self) -> list[InferRequest]:
        gone = [entry.request for entry in self._candidates]
        self._candidates.clear()
        return gone + self._slots.clear()

    def _advance(self, slot: int, now_ns: int) -> None:
        """Let the slot's next request become a candidate, unless one is under way."""
        if self._busy[slot]:
            return
        request = self._slots.front(slot, now_ns)
        if request is not None:
            self._busy[slot] = True
            self._candidates.append(self._slots.take(slot, request, now_ns))


def _shapes(entry: Entry) -> tuple[tuple[int, ...], ...]:
    return entry.state.shapes if entry.state is not None else ()
