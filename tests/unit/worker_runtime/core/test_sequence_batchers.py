"""Which requests leave an instance's slots together: both strategies, with our own clock."""

from worker_runtime.core.scheduling.batching import BatchingConfig, BatchPolicy
from worker_runtime.core.scheduling.sequence.batchers import (
    DirectBatcher,
    OldestBatcher,
    SequenceBatcher,
    Slots,
)
from worker_runtime.core.scheduling.sequence.entries import Entry
from worker_runtime.core.scheduling.sequence.table import SequenceTable
from worker_runtime.types.request import InferRequest, Plan, PlannedInput, SequencePart
from worker_runtime.types.tensor import BY_NAME

MS = 1_000_000


def part(sequence: int, flags: str = "", *, at: int = 0, size: int = 1) -> InferRequest:
    item = PlannedInput("x", BY_NAME["INT32"], (1, size), (1, size), 4 * size)
    plan = Plan((item,), None, 1, _KEYS.setdefault(size, (size,)), ("y",))
    return InferRequest(
        plan=plan,
        inputs=[bytes(4 * size)],
        sink=None,  # type: ignore[arg-type]
        id=f"{sequence}{flags}",
        queued_ns=at,
        sequence=SequencePart(sequence, start="s" in flags, end="e" in flags),
    )


_KEYS: dict[int, tuple[int]] = {}


class Bench:
    """One instance: requests are admitted, batches shown as ids with '-' for empty rows."""

    def __init__(self, batcher: SequenceBatcher, table: SequenceTable) -> None:
        self.batcher = batcher
        self.table = table
        self._running: list[Entry] = []

    def send(self, *requests: InferRequest, now: int = 0) -> "Bench":
        for request in requests:
            seat = self.table.admit(request, now).seat
            if seat is not None:
                self.batcher.push(seat.slot, request, now)
        return self

    def next(self, now: int = 0) -> list[str]:
        """End what runs; the next batch."""
        self.batcher.finished(self._running, now)
        self._running, _ = self.batcher.decide(now)
        return [entry.request.id if entry.ready else "-" for entry in self._running]

    def wake(self, now: int) -> int:
        entries, wake_ns = self.batcher.decide(now)
        assert not entries
        return wake_ns


def direct(slots: int = 4, delay: int = 0, utilization: float = 0.0) -> Bench:
    table = SequenceTable("m", 1, slots, 1000 * MS)
    lines = Slots(table, 0, slots, lambda: None)
    return Bench(DirectBatcher(lines, delay_ns=delay, utilization=utilization), table)


def oldest(slots: int = 4, config: BatchingConfig | None = None) -> Bench:
    table = SequenceTable("m", 1, slots, 1000 * MS)
    policy = BatchPolicy(config or BatchingConfig(max_rows=4, preferred=(4,), dynamic=True))
    return Bench(OldestBatcher(Slots(table, 0, slots, lambda: None), policy), table)


def test_direct_slot_is_row() -> None:
    bench = direct().send(part(1, "s"), part(2, "s"), part(3, "s"), part(1), part(2), part(3))
    assert bench.next() == ["1s", "2s", "3s"]
    assert bench.next() == ["1", "2", "3"]
    assert bench.next() == []


def test_direct_fills_holes_but_no_tail() -> None:
    bench = direct().send(part(1, "s"), part(2, "s"), part(3, "s"))
    bench.next()
    assert bench.send(part(2)).next() == ["-", "2"]
    assert bench.send(part(1)).next() == ["1"]
    assert bench.send(part(3)).next() == ["-", "-", "3"]


def test_direct_rounds_as_in_the_skip_batch_test_of_triton() -> None:
    bench = direct()
    bench.send(*[part(2, f) for f in ("s", "", "", "e")], *[part(4, f) for f in ("s", "", "", "e")])
    bench.send(part(1, "s"), part(1, "e"), part(3, "s"), part(3, "e"))
    assert [len(bench.next()) for _ in range(5)] == [4, 4, 2, 2, 0]


def test_direct_end_gives_the_slot_to_the_backlog_one_batch_later() -> None:
    bench = direct(slots=1).send(part(1, "s"), part(2, "s"), part(2, "e"), part(1, "e"))
    assert [bench.next() for _ in range(5)] == [["1s"], ["1e"], ["2s"], ["2e"], []]


def test_direct_other_shapes_wait_for_a_later_batch() -> None:
    bench = direct().send(part(1, "s", size=2), part(2, "s", size=2), part(3, "s"), part(4, "s"))
    assert bench.next() == ["1s", "2s", "-", "-"]
    assert bench.next() == ["-", "-", "3s", "4s"]


def test_direct_ragged_inputs_may_differ() -> None:
    table = SequenceTable("m", 1, 2, 1000 * MS)
    lines = Slots(table, 0, 2, lambda: None)
    batcher = DirectBatcher(lines, delay_ns=0, utilization=0, ragged=frozenset({"x"}))
    bench = Bench(batcher, table).send(part(1, "s", size=2), part(2, "s", size=3))
    assert bench.next() == ["1s", "2s"]


def test_direct_waits_for_utilization_up_to_the_delay() -> None:
    bench = direct(slots=4, delay=10 * MS, utilization=0.5).send(part(1, "s", at=0))
    assert bench.next(now=5 * MS) == []
    assert bench.wake(5 * MS) == 10 * MS + 1
    assert bench.next(now=10 * MS + 1) == ["1s"]
    bench.send(part(1, at=20 * MS), part(2, "s", at=21 * MS))
    assert bench.next(now=21 * MS) == ["1", "2s"]


def test_direct_delay_alone_waits_for_nothing() -> None:
    assert direct(delay=10 * MS).send(part(1, "s")).next() == ["1s"]
    assert direct(utilization=1.0).send(part(1, "s")).next() == ["1s"]


def test_an_idle_end_comes_after_what_was_queued() -> None:
    bench = direct(slots=1).send(part(1, "s"), part(2, "s"))
    (seat,) = bench.table.idle(2000 * MS)
    bench.batcher.push(seat.slot, None, 0)
    assert bench.next() == ["1s"]
    assert bench.next() == ["2s"]


def test_cancelling_a_request_ends_its_sequence_and_frees_the_slot() -> None:
    for bench in (direct(slots=1), oldest(slots=1)):
        second = part(1)
        bench.send(part(1, "s"), second, part(1, "e"), part(2, "s"))
        assert [item.id for item in bench.batcher.withdraw(second, 0)] == ["1", "1e"]
        assert bench.next() == ["1s"]
        assert bench.next() == ["2s"]
        assert not bench.table.knows(1)


def test_cancelling_the_only_request_frees_the_slot_at_once() -> None:
    for bench in (direct(slots=1), oldest(slots=1)):
        first = part(1, "s")
        bench.send(first, part(2, "s"))
        assert bench.batcher.withdraw(first, 0) == [first]
        assert bench.next() == ["2s"]
        assert bench.batcher.withdraw(first, 0) == []


def test_oldest_takes_one_request_per_sequence() -> None:
    bench = oldest().send(part(1, "s"), part(1), part(2, "s"), part(2), part(3, "s"), part(3, "e"))
    assert bench.next() == ["1s", "2s", "3s"]
    assert bench.next() == ["1", "2", "3e"]


def test_oldest_end_lets_the_backlog_in_once_it_has_run() -> None:
    bench = oldest(slots=1).send(part(1, "se"), part(2, "s"), part(2, "e"))
    assert [bench.next() for _ in range(4)] == [["1se"], ["2s"], ["2e"], []]


def test_oldest_waits_for_a_preferred_size() -> None:
    config = BatchingConfig(max_rows=4, preferred=(2,), delay_ns=10 * MS, dynamic=True)
    bench = oldest(config=config).send(part(1, "s", at=0))
    assert bench.wake(1 * MS) == 10 * MS
    bench.send(part(2, "s", at=2 * MS))
    assert bench.next(now=2 * MS) == ["1s", "2s"]
    bench.send(part(1, at=20 * MS))
    assert bench.next(now=30 * MS) == ["1"]


def test_oldest_cancelling_an_ended_sequence_leaves_the_next_one_alone() -> None:
    bench = oldest(slots=1)
    last = part(1, "se")
    bench.send(last, part(2, "s"))
    assert bench.batcher.withdraw(last, 0) == [last]
    assert bench.next() == ["2s"]
    assert bench.table.knows(2)
