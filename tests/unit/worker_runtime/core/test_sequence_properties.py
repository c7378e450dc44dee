"""Whatever comes in whatever order: nothing is lost, order holds, no slot is shared."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.worker_runtime.core.test_sequence_batchers import MS, part
from worker_runtime.core.scheduling.batching import BatchingConfig, BatchPolicy
from worker_runtime.core.scheduling.sequence.batchers import (
    DirectBatcher,
    OldestBatcher,
    SequenceBatcher,
    Slots,
)
from worker_runtime.core.scheduling.sequence.entries import Entry
from worker_runtime.core.scheduling.sequence.table import SequenceTable
from worker_runtime.errors import InvalidArgument
from worker_runtime.types.request import InferRequest

IDLE = 100 * MS
ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.integers(1, 6), st.sampled_from(["s", "", "", "e", "se"])),
        st.tuples(st.just("run"), st.integers(0, 1), st.just("")),
        st.tuples(st.just("cancel"), st.integers(0, 40), st.just("")),
        st.tuples(st.just("sleep"), st.integers(1, 120), st.just("")),
    ),
    max_size=60,
)


class World:
    """Two instances, driven as the scheduler does it, with everything that happens noted."""

    def __init__(self, slots: int, *, oldest: bool) -> None:
        self.now = 0
        self.table = SequenceTable("m", 2, slots, IDLE)
        self.batchers: list[SequenceBatcher] = []
        for index in range(2):
            lines = Slots(self.table, index, slots, lambda: None)
            config = BatchingConfig(max_rows=slots, dynamic=True)
            batcher: SequenceBatcher = (
                OldestBatcher(lines, BatchPolicy(config))
                if oldest
                else DirectBatcher(lines, delay_ns=0, utilization=0.0)
            )
            self.batchers.append(batcher)
        self.running: list[list[Entry]] = [[], []]
        self.accepted: list[InferRequest] = []
        self.executed: list[tuple[InferRequest, tuple[int, int]]] = []
        self.failed: list[InferRequest] = []

    def act(self, kind: str, number: int, flags: str) -> None:
        if kind == "send":
            self.send(part(number, flags, at=self.now))
        elif kind == "run":
            self.run(number)
        elif kind == "cancel":
            self.cancel(number)
        else:
            self.now += number * MS
            for seat in self.table.idle(self.now):
                self.batchers[seat.instance].push(seat.slot, None, self.now)

    def send(self, request: InferRequest) -> None:
        try:
            seat = self.table.admit(request, self.now).seat
        except InvalidArgument:
            return
        self.accepted.append(request)
        if seat is not None:
            self.batchers[seat.instance].push(seat.slot, request, self.now)

    def run(self, index: int) -> bool:
        """End what runs on an instance, start what comes next."""
        batcher = self.batchers[index]
        batcher.finished(self.running[index], self.now)
        entries, _ = batcher.decide(self.now)
        self.running[index] = entries
        ready = [entry for entry in entries if entry.ready]
        self.executed += [(entry.request, (index, entry.slot)) for entry in ready]
        assert len({entry.slot for entry in entries}) == len(entries)
        assert not entries or ready
        return bool(entries)

    def cancel(self, number: int) -> None:
        if number >= len(self.accepted):
            return
        request = self.accepted[number]
        gone = self.table.withdraw(request)
        for batcher in self.batchers:
            gone = gone or batcher.withdraw(request, self.now)
        self.failed += gone

    def finish(self) -> None:
        for sequence in range(1, 7):  # end what is open: every slot must come free again
            if self.table.knows(sequence):
                self.send(part(sequence, "e", at=self.now))
        while any([self.run(0), self.run(1)]):
            pass


def _ids(items: Any) -> list[int]:
    return [id(item) for item in items]


@settings(max_examples=300, deadline=None)
@given(actions=ACTIONS, slots=st.integers(1, 3), oldest=st.booleans())
def test_nothing_is_lost_order_holds_and_no_slot_is_shared(
    actions: list[tuple[str, int, str]], slots: int, oldest: bool
) -> None:
    world = World(slots, oldest=oldest)
    for action in actions:
        world.act(*action)
    world.finish()

    done = _ids(request for request, _ in world.executed) + _ids(world.failed)
    assert sorted(done) == sorted(_ids(world.accepted)), "every request ends exactly once"

    positions = {id(request): n for n, request in enumerate(world.accepted)}
    owners: dict[tuple[int, int], tuple[int | str, int] | None] = {}
    for request, seat in world.executed:
        assert request.sequence is not None
        position = positions[id(request)]
        if not request.sequence.start:
            owner = owners[seat]
            assert owner is not None, "a sequence goes on where it began"
            assert owner[0] == request.sequence.id, "a slot has one sequence at a time"
            assert owner[1] < position, "the requests of a sequence keep their order"
        owners[seat] = None if request.sequence.end else (request.sequence.id, position)

    assert world.table.live == 0
    assert world.table.waiting == 0
    free = {world.table.admit(part(100 + n, "s"), world.now).seat for n in range(2 * slots)}
    assert None not in free, "every slot is free again"
    assert len(free) == 2 * slots
