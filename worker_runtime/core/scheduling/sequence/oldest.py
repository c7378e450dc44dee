"""The oldest-first strategy: each slot gives one request at a time to a dynamic batcher."""

from worker_runtime.core.scheduling.batching import BatchPolicy
from worker_runtime.core.scheduling.sequence.entries import Entry
from worker_runtime.core.scheduling.sequence.slots import Slots
from worker_runtime.types.request import InferRequest


class OldestBatcher:
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
