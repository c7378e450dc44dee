"""The batch policy, as a table: what waits, what is configured, what the time is -> what leaves."""

from collections import deque
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.worker_runtime.core.runtime_requests import request
from worker_runtime.core.scheduling.batching import BatchingConfig, BatchPolicy, Decision, Payload
from worker_runtime.core.scheduling.queue import QueueConfig, RequestQueue


@dataclass(frozen=True)
class Case:
    name: str
    rows: list[int]
    take: int
    wake_ns: int = 0
    config: dict[str, object] = field(default_factory=dict)
    keys: str = ""
    now: int = 0
    arrivals: list[int] = field(default_factory=list)


CASES = [
    Case("nothing waits, nothing leaves", [], 0),
    Case(
        "without dynamic batching requests leave one by one", [1, 1], 1, config={"dynamic": False}
    ),
    Case("no delay: everything that waits leaves", [1, 1, 1], 3),
    Case("max batch size bounds a batch", [3, 3, 3], 2),
    Case("a request is never split", [5, 4], 1),
    Case("the first request alone may fill the batch", [8, 1], 1),
    Case("another shape ends a batch", [1, 1, 1], 2, keys="aab"),
    Case("a request of another shape at the front goes alone", [1, 1], 1, keys="ba"),
    Case("delay: a lone request waits", [1], 0, 100, {"delay_ns": 100}),
    Case(
        "delay: counted from the oldest request",
        [1, 1],
        0,
        105,
        {"delay_ns": 100},
        now=50,
        arrivals=[5, 40],
    ),
    Case("delay over: all leave", [1, 1], 2, 0, {"delay_ns": 100}, now=100),
    Case("full batch leaves before the delay ends", [4, 4], 2, 0, {"delay_ns": 100}),
    Case("the next one does not fit: leave before the delay ends", [5, 4], 1, 0, {"delay_ns": 100}),
    Case("a change of shape does not wait for the delay", [1, 1], 1, 0, {"delay_ns": 100}, "ab"),
    Case("preferred size leaves at once", [1, 1, 1, 1], 4, 0, {"delay_ns": 100, "preferred": (4,)}),
    Case(
        "the largest preferred prefix wins",
        [1] * 7,
        6,
        0,
        {"delay_ns": 100, "preferred": (2, 4, 6)},
    ),
    Case(
        "preferred prefix is cut off while time remains",
        [2, 2, 1],
        2,
        0,
        {"delay_ns": 100, "preferred": (4,)},
    ),
    Case("below every preferred size: wait", [1], 0, 100, {"delay_ns": 100, "preferred": (4,)}),
    Case(
        "after the delay what is there leaves",
        [1, 1, 1],
        3,
        0,
        {"delay_ns": 100, "preferred": (2,)},
        now=100,
    ),
    Case(
        "above the largest preferred size no waiting",
        [3, 2],
        1,
        0,
        {"delay_ns": 100, "preferred": (4,)},
    ),
    Case(
        "a preferred size found before the crossing stays the best",
        [2, 1, 3],
        1,
        0,
        {"delay_ns": 100, "preferred": (2, 4)},
    ),
    Case("no delay: below the preferred size all leave", [1], 1, 0, {"preferred": (4,)}),
    Case("no delay: the preferred size cuts off the rest", [2, 2, 2], 2, 0, {"preferred": (4,)}),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_policy(case: Case) -> None:
    settings = {"max_rows": 8, "dynamic": True, **case.config}
    policy = BatchPolicy(BatchingConfig(**settings))  # type: ignore[arg-type]
    keys = case.keys or "a" * len(case.rows)
    arrivals = case.arrivals or [0] * len(case.rows)
    waiting = [
        request(rows, key=key, at=at)
        for rows, key, at in zip(case.rows, keys, arrivals, strict=True)
    ]
    decision = policy.decide(waiting, case.now)
    assert (decision.take, decision.wake_ns) == (case.take, case.wake_ns)


@dataclass(frozen=True)
class Growing:
    """A payload of ``held`` rows waits for an instance when ``rows`` more arrive at time 0."""

    name: str
    held: int
    rows: list[int]
    expected: Decision
    config: dict[str, object] = field(default_factory=dict)
    keys: str = ""
    now: int = 0


GROWING = [
    Growing("what is due grows at once", 2, [1, 1], Decision(2)),
    Growing("up to the largest preferred size", 2, [2], Decision(1)),
    Growing("beyond it once, by what does not fit below", 3, [2], Decision(1, full=True)),
    Growing("also from exactly that size", 4, [1], Decision(1, full=True)),
    Growing("never beyond max_batch_size", 7, [2], Decision(0, full=True)),
    Growing("another shape closes it", 2, [1], Decision(0, full=True), keys="b"),
    Growing(
        "a smaller preferred size waits for more", 2, [1], Decision(0, 100), {"preferred": (2, 4)}
    ),
    Growing("until the delay is over", 2, [1], Decision(1), {"preferred": (2, 4)}, now=100),
    Growing(
        "the next preferred size is taken at once",
        2,
        [1, 1, 1],
        Decision(2),
        {"preferred": (2, 4)},
    ),
]


@pytest.mark.parametrize("case", GROWING, ids=lambda case: case.name)
def test_a_payload_that_waits_for_an_instance_grows(case: Growing) -> None:
    settings = {"max_rows": 8, "dynamic": True, "delay_ns": 100, "preferred": (4,), **case.config}
    policy = BatchPolicy(BatchingConfig(**settings))  # type: ignore[arg-type]
    waiting = [
        request(rows, key=key) for rows, key in zip(case.rows, case.keys or "aaa", strict=False)
    ]
    key = request(key="a").plan.batch_key
    assert policy.decide(waiting, case.now, case.held, key) == case.expected


def test_payloads_behind_one_another_start_as_one_when_they_fit() -> None:
    policy = BatchPolicy(BatchingConfig(max_rows=8, dynamic=True, delay_ns=100))

    def payload(rows: int, key: str = "a") -> Payload:
        made = Payload()
        made.extend([request(rows, key=key)])
        return made

    assert policy.merges(payload(5), payload(3))
    assert not policy.merges(payload(5), payload(4))
    assert not policy.merges(payload(1), payload(1, "b"))


@given(
    rows=st.lists(st.integers(1, 8), min_size=1, max_size=12),
    preferred=st.sets(st.integers(1, 8), max_size=3),
    delay=st.sampled_from([0, 100]),
    now=st.integers(0, 200),
)
def test_every_decision_is_sound(
    rows: list[int], preferred: set[int], delay: int, now: int
) -> None:
    config = BatchingConfig(8, tuple(sorted(preferred)), delay, dynamic=True)
    decision = BatchPolicy(config).decide([request(n) for n in rows], now)
    if decision.take:
        assert sum(rows[: decision.take]) <= 8
    else:
        assert now < decision.wake_ns <= delay
    if now >= delay:
        assert decision.take, "nobody waits longer than the delay"


@given(
    steps=st.lists(
        st.tuples(
            st.lists(st.tuples(st.integers(1, 8), st.sampled_from("ab")), max_size=4),
            st.integers(0, 60),
            st.booleans(),
        ),
        max_size=30,
    ),
    preferred=st.sets(st.integers(1, 8), max_size=3),
    levels=st.integers(1, 3),
)
def test_batches_stay_in_bounds_keep_their_order_and_lose_nothing(
    steps: list[tuple[list[tuple[int, str]], int, bool]], preferred: set[int], levels: int
) -> None:
    policy = BatchPolicy(BatchingConfig(8, tuple(sorted(preferred)), 50, dynamic=True))
    queue, ready = RequestQueue(QueueConfig(levels, 1)), deque[Payload]()
    now, sent, batches = 1, 0, []
    for arrivals, pause, free in steps:
        now += pause
        for rows, key in arrivals:
            level = 1 + sent % levels
            queue.push(request(rows, key=key, at=now, name=str(sent), priority=level), now)
            sent += 1
        policy.gather(queue, ready, 2, now)
        assert len(ready) <= 2
        if free and ready:
            batches.append(policy.pop(ready))
    while len(queue) or ready:
        now += 50
        policy.gather(queue, ready, 2, now)
        batches.append(policy.pop(ready))
    assert sorted(int(r.id) for batch in batches for r in batch) == list(range(sent))
    for batch in batches:
        assert sum(r.plan.rows for r in batch) <= 8
        assert len({id(r.plan.batch_key) for r in batch}) == 1
    for level in range(1, levels + 1):
        numbers = [int(r.id) for batch in batches for r in batch if r.priority == level]
        assert numbers == sorted(numbers)
