"""The waiting line: order, bounds and deadlines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.unit.worker_runtime.core.runtime_requests import request
from worker_runtime.core.scheduling.queue import QueueConfig, QueuePolicy, RequestQueue
from worker_runtime.errors import QueueFull
from worker_runtime.types.request import InferRequest


def names(requests: list[InferRequest]) -> str:
    return "".join(item.id for item in requests)


def filled(config: QueueConfig, *items: tuple[str, int], now: int = 0) -> RequestQueue:
    queue = RequestQueue(config)
    for name, priority in items:
        queue.push(request(name=name, priority=priority), now)
    return queue


def test_without_levels_first_in_is_first_out() -> None:
    queue = filled(QueueConfig(), ("a", 0), ("b", 3), ("c", 1))
    assert names(list(queue)) == "abc"
    assert names(queue.take(2)) == "ab"
    assert len(queue) == 1


def test_lower_levels_go_first_and_unknown_levels_mean_the_default() -> None:
    config = QueueConfig(levels=3, default_level=2)
    queue = filled(config, ("c", 3), ("x", 0), ("a", 1), ("y", 9), ("b", 1))
    assert names(list(queue)) == "abxyc"


def test_a_full_level_refuses_but_another_takes() -> None:
    config = QueueConfig(levels=2, default_level=1, default=QueuePolicy(max_size=1))
    queue = filled(config, ("a", 1))
    with pytest.raises(QueueFull, match="Exceeds maximum queue size"):
        queue.push(request(name="b", priority=1), 0)
    queue.push(request(name="c", priority=2), 0)
    assert names(list(queue)) == "ac"


def test_expired_requests_are_swept_out() -> None:
    queue = filled(QueueConfig(default=QueuePolicy(timeout_ns=100)), ("a", 0), now=0)
    queue.push(request(name="b"), 50)
    assert queue.next_deadline() == 100
    assert queue.sweep(99) == []
    assert names(queue.sweep(100)) == "a"
    assert names(list(queue)) == "b"
    assert len(queue) == 1


def test_the_delay_action_moves_expired_requests_behind_the_others() -> None:
    queue = filled(QueueConfig(default=QueuePolicy(timeout_ns=100, delay=True)), ("a", 0))
    queue.push(request(name="b"), 50)
    assert queue.sweep(120) == []
    assert names(list(queue)) == "ba"
    assert len(queue) == 2


@pytest.mark.parametrize(
    ("policy", "requested", "deadline"),
    [
        (QueuePolicy(), 50, 0),
        (QueuePolicy(timeout_ns=100), 50, 1100),
        (QueuePolicy(timeout_ns=100, allow_override=True), 50, 1050),
        (QueuePolicy(timeout_ns=100, allow_override=True), 500, 1100),
        (QueuePolicy(timeout_ns=0, allow_override=True), 50, 0),
    ],
)
def test_a_request_can_only_shorten_a_timeout_that_the_model_has(
    policy: QueuePolicy, requested: int, deadline: int
) -> None:
    assert policy.deadline(1000, requested) == deadline


CAP = 100


@pytest.mark.parametrize(
    ("policy", "requested", "deadline"),
    [
        (QueuePolicy(), 0, 1100),
        (QueuePolicy(), 50, 1100),
        (QueuePolicy(), 500, 1100),
        (QueuePolicy(allow_override=True), 50, 1050),
        (QueuePolicy(timeout_ns=40), 0, 1040),
        (QueuePolicy(timeout_ns=400), 0, 1100),
        (QueuePolicy(timeout_ns=400, allow_override=True), 50, 1050),
        (QueuePolicy(timeout_ns=400, allow_override=True), 300, 1100),
        (QueuePolicy(timeout_ns=40, delay=True), 0, 1040),
        (QueuePolicy(timeout_ns=400, delay=True), 0, 1100),
    ],
)
def test_a_cap_shortens_what_a_model_allows_and_never_lengthens_it(
    policy: QueuePolicy, requested: int, deadline: int
) -> None:
    assert policy.capped(0) is policy
    assert policy.capped(CAP).deadline(1000, requested) == deadline


def test_a_cap_rejects_what_the_delay_action_would_keep() -> None:
    policy = QueuePolicy(timeout_ns=40, delay=True).capped(CAP)
    queue = filled(QueueConfig(default=policy), ("a", 0))
    queue.push(request(name="b", at=50), 50)
    assert queue.sweep(40) == []
    assert names(list(queue)) == "ba"  # moved back
    assert queue.next_deadline() == 90
    assert queue.sweep(99) == []
    assert names(queue.sweep(100)) == "a"
    assert queue.next_deadline() == 150
    assert names(queue.sweep(150)) == "b"
    assert (len(queue), queue.next_deadline()) == (0, 0)


def test_a_cap_rejects_at_once_who_was_not_looked_at_in_time() -> None:
    policy = QueuePolicy(timeout_ns=40, delay=True).capped(CAP)
    queue = filled(QueueConfig(default=policy), ("a", 0))
    assert names(queue.sweep(5000)) == "a"
    assert len(queue) == 0


def test_a_cap_holds_on_every_level() -> None:
    levels = {1: QueuePolicy(timeout_ns=40), 2: QueuePolicy(max_size=5)}
    config = QueueConfig(3, 3, QueuePolicy(), levels)
    config = replace(
        config,
        default=config.default.capped(CAP),
        by_level={level: policy.capped(CAP) for level, policy in levels.items()},
    )
    queue = filled(config, ("c", 3), ("b", 2), ("a", 1))
    assert names(queue.sweep(40)) == "a"
    assert queue.sweep(99) == []
    assert sorted(names(queue.sweep(100))) == ["b", "c"]


def test_removing_takes_exactly_that_request() -> None:
    queue = RequestQueue()
    first, second = request(name="a"), request(name="a")
    queue.push(first, 0)
    queue.push(second, 0)
    assert queue.remove(second)
    assert not queue.remove(second)
    assert list(queue) == [first]
    assert queue.take(1)[0] is first


def test_levels_are_sparse_and_forgotten_when_empty() -> None:
    last = 2**64 - 1
    queue = RequestQueue(QueueConfig(levels=last, default_level=5))
    for priority in range(100, 0, -1):
        queue.push(request(name=f"{priority},", priority=priority), 0)
    queue.push(request(name="last,", priority=last), 0)
    taken = names(queue.take(101)).split(",")[:-1]
    assert taken == [*map(str, range(1, 101)), "last"]
    assert len(queue) == 0
    queue.push(request(name="again", priority=7), 0)
    assert names(list(queue)) == "again"


def test_a_deadline_of_the_client_holds_without_any_policy() -> None:
    queue = RequestQueue()
    queue.push(request(name="a"), 0)
    hurried = request(name="b")
    hurried.deadline_ns = 50
    queue.push(hurried, 0)
    queue.push(request(name="c"), 0)
    assert queue.next_deadline() == 50
    assert names(queue.sweep(50)) == "b"
    assert names(queue.take(2)) == "ac"


@given(
    levels=st.integers(0, 4),
    arrivals=st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 30), st.integers(0, 3)), max_size=40
    ),
    delay=st.booleans(),
    cap=st.sampled_from([0, 10, 45]),
)
def test_nothing_is_lost_and_each_level_keeps_its_order(
    levels: int, arrivals: list[tuple[int, int, int]], delay: bool, cap: int
) -> None:
    config = QueueConfig(levels, 1, QueuePolicy(timeout_ns=20, delay=delay).capped(cap))
    queue = RequestQueue(config)
    now, pushed, out, expired = 0, 0, [], []
    for priority, pause, take in arrivals:
        now += pause
        queue.push(request(name=f"{pushed}", priority=priority, at=now), now)
        pushed += 1
        expired += queue.sweep(now)
        assert not cap or all(now - waiting.queued_ns < cap for waiting in queue)
        out += queue.take(take)
    out += queue.clear()
    assert sorted(int(r.id) for r in [*out, *expired]) == list(range(pushed))
    assert not (delay and expired and not cap)
    if not delay:
        for level in {r.priority for r in out}:
            numbers = [int(r.id) for r in out if r.priority == level]
            assert numbers == sorted(numbers)


def test_a_deadline_that_has_left_the_queue_only_costs_a_look() -> None:
    queue = RequestQueue(QueueConfig(default=QueuePolicy(timeout_ns=100)))
    queue.push(request(name="a"), 0)
    queue.push(request(name="b"), 50)
    assert names(queue.take(1)) == "a"
    assert queue.sweep(queue.next_deadline()) == []
    assert queue.next_deadline() == 150
    assert names(queue.sweep(150)) == "b"
    assert queue.next_deadline() == 0
