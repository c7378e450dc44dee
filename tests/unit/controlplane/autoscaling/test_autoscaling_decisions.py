"""Single decisions as a table: figures in, replicas and a sentence out."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.autoscaling import (
    Load,
    Policy,
    Schedule,
    Side,
    State,
    Targets,
    decide,
    state_from_json,
    state_to_json,
)

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)  # a Monday
AT_ONCE = Side(window_s=0, cooldown_s=0)
PER_FOUR = Targets(in_flight=4)


def policy(**values: Any) -> Policy:
    return Policy(**{"max": 10, "targets": PER_FOUR, "up": AT_ONCE, "down": AT_ONCE, **values})


def load(at: datetime = NOW, serving: int = 2, **values: Any) -> Load:
    return Load(at=at.timestamp(), **{"serving": serving, "sampled": serving, **values})


@pytest.mark.parametrize(
    ("targets", "carried", "current", "wanted", "words"),
    [
        (PER_FOUR, {"in_flight": 40.0}, 2, 10, "40 requests in flight, target 4 for each"),
        (PER_FOUR, {"in_flight": 8.7}, 2, 2, "8.7 requests in flight"),  # 10 % more is nothing
        (PER_FOUR, {"in_flight": 8.9}, 2, 3, ""),
        (PER_FOUR, {"in_flight": 3.7}, 2, 2, ""),  # one alone would carry 10 % less than 4
        (PER_FOUR, {"in_flight": 3.5}, 2, 1, ""),
        (PER_FOUR, {"in_flight": 0.0}, 5, 1, "0 but for the least"),
        (PER_FOUR, {"in_flight": 400.0}, 5, 10, "100 but for the most"),
        (PER_FOUR, {}, 5, 5, "requests in flight were not measured"),
        (Targets(requests_per_second=50), {"requests_per_second": 240.0}, 2, 5, "240 requests/s"),
        (Targets(cpu_percent=70), {"cpu": 1.8}, 2, 3, "90 % of a replica's processors, target 70"),
        (Targets(gpu_percent=50), {"gpu": 0.4}, 2, 1, "20 % of a replica's GPUs, target 50"),
        (Targets(queue_ms=10), {"queue_ms": 15.0, "busy": 0.9}, 2, 3, "15 ms in the queue"),
        (Targets(queue_ms=10), {"queue_ms": 900.0, "busy": 1.0}, 3, 6, ""),  # twice at most
        (Targets(queue_ms=10), {"queue_ms": 1.0, "busy": 0.3}, 4, 2, "30% busy"),
        (Targets(queue_ms=10), {"queue_ms": 1.0, "busy": 0.6}, 4, 4, ""),  # three were too busy
        (Targets(queue_ms=10), {"queue_ms": 1.0}, 4, 4, ""),
        (Targets(queue_ms=10), {}, 4, 4, "the wait in the queue was not measured"),
        (Targets(in_flight=4, cpu_percent=50), {"in_flight": 4.0, "cpu": 1.5}, 2, 3, "75 %"),
        (Targets(in_flight=4, cpu_percent=50), {"in_flight": 30.0}, 2, 8, "30 requests"),
        (Targets(in_flight=4, cpu_percent=50), {"in_flight": 0.0}, 2, 2, "were not measured"),
    ],
)
def test_the_largest_of_what_targets_want_is_taken(
    targets: Targets, carried: dict[str, float], current: int, wanted: int, words: str
) -> None:
    found = decide(policy(targets=targets), load(serving=current, **carried), State(), current, NOW)
    assert (found.wanted, words in found.reason) == (wanted, True), found.reason


def test_no_replica_goes_where_one_was_not_sampled() -> None:
    idle = load(serving=3, sampled=2, in_flight=0.0)
    held = decide(policy(), idle, State(), 3, NOW)
    assert (held.wanted, "1 of 3 replicas were not sampled" in held.reason) == (3, True)
    assert decide(policy(), replace(idle, in_flight=40.0), State(), 3, NOW).wanted == 10


@pytest.mark.parametrize("seen", [None, load(NOW - timedelta(seconds=11), in_flight=0.0)])
def test_without_samples_nothing_changes_but_what_the_bounds_say(seen: Load | None) -> None:
    assert decide(policy(), seen, State(), 5, NOW).wanted == 5
    assert decide(policy(min=6), seen, State(), 5, NOW).wanted == 6
    assert decide(policy(max=4), seen, State(), 5, NOW).wanted == 4


def run(wanted: Policy, loads: list[float | None], current: int = 1, step_s: int = 10) -> list[int]:
    """Counts over time; a change is carried out at once. None: no sample."""
    state, counts = State(), []
    for index, carried in enumerate(loads):
        now = NOW + timedelta(seconds=index * step_s)
        seen = None if carried is None else load(now, current, in_flight=carried)
        found = decide(wanted, seen, state, current, now)
        state, current = state_from_json(state_to_json(found.state)), found.wanted
        counts.append(current)
    return counts


def test_windows_want_the_load_for_so_long() -> None:
    slow = policy(up=replace(AT_ONCE, window_s=20), down=replace(AT_ONCE, window_s=30))
    assert run(slow, [40.0, 40.0, 40.0]) == [1, 1, 10]
    assert run(slow, [4.0, 4.0, 40.0, 4.0, 40.0, 20.0, 20.0]) == [1, 1, 1, 1, 1, 1, 5]
    assert run(slow, [0.0] * 4, current=8) == [8, 8, 8, 1]
    assert run(slow, [0.0, 0.0, 20.0, 0.0, 0.0, 0.0, 0.0], current=8) == [8, 8, 8, 6, 6, 6, 1]


def test_a_window_begins_anew_after_a_gap() -> None:
    slow = policy(down=replace(AT_ONCE, window_s=20))
    assert run(slow, [0.0, 0.0, None, None, 0.0, 0.0, 0.0], current=8) == [8] * 6 + [1]


def test_a_cool_down_rests_after_any_change() -> None:
    rests = policy(up=replace(AT_ONCE, cooldown_s=20), down=replace(AT_ONCE, cooldown_s=30))
    assert run(rests, [8.0, 40.0, 40.0, 0.0, 0.0, 0.0]) == [2, 2, 2, 2, 1, 1]
    assert run(rests, [8.0, 40.0, 40.0, 40.0]) == [2, 2, 2, 10]


def test_rates_are_of_a_minute() -> None:
    up = policy(up=replace(AT_ONCE, per_minute=2))
    assert run(up, [40.0] * 8) == [3, 3, 3, 3, 3, 3, 3, 5]
    down = policy(down=replace(AT_ONCE, per_minute=3))
    assert run(down, [0.0] * 8, current=9) == [6, 6, 6, 6, 6, 6, 6, 3]


def test_who_changes_the_count_by_hand_is_left_to_it_for_the_cool_down() -> None:
    rests = policy(down=replace(AT_ONCE, cooldown_s=30))
    first = decide(rests, load(serving=1, in_flight=1.0), State(), 1, NOW)
    later = NOW + timedelta(seconds=10)
    held = decide(rests, load(later, 5, in_flight=1.0), first.state, 5, later)
    assert (held.wanted, "after the cool-down, in 30 s" in held.reason) == (5, True), held.reason


def test_a_queue_that_was_too_long_is_remembered() -> None:
    """Half busy was too slow, so of four that are busy for a quarter one goes, and not two."""
    wanted = policy(targets=Targets(queue_ms=5))
    up = decide(wanted, load(queue_ms=20.0, busy=0.5), State(), 2, NOW)
    assert up.wanted == 4
    later = NOW + timedelta(seconds=5)
    calm = decide(wanted, load(later, 4, queue_ms=0.1, busy=0.25), up.state, 4, later)
    assert calm.wanted == 3


@pytest.mark.parametrize(
    ("answered", "carried", "after"),
    [
        (100.0, 10.0, 0),  # a hundred requests/s are no chance
        (1.0, 80.0, 0),  # nor are ten times the target, however few they are
        (1.0, 12.0, 16),
        (0.2, 10.0, 60),  # never more than a minute
    ],
)
def test_the_fewer_requests_the_longer_a_little_more_must_last(
    answered: float, carried: float, after: int
) -> None:
    state, seconds = State(), -2
    wanted = 2
    while wanted == 2 and seconds < 100:
        seconds += 2
        now = NOW + timedelta(seconds=seconds)
        seen = load(now, 2, in_flight=carried, requests_per_second=answered)
        found = decide(policy(), seen, state, 2, now)
        state, wanted = found.state, found.wanted
    assert (wanted > 2, after <= seconds <= after + 2) == (True, True), seconds


def test_what_waits_counts_by_how_quickly_it_shall_be_gone() -> None:
    """Two that answer 20/s while 180/s more pile up need twenty, and a few for those that wait."""
    flooded = load(
        in_flight=604.0, waiting=600.0, growth=180.0, requests_per_second=20.0, serving=2
    )
    found = decide(policy(targets=Targets(in_flight=2), max=50), flooded, State(), 2, NOW)
    assert (found.wanted, "with the 600 that wait" in found.reason) == (22, True), found.reason
    refusing = load(in_flight=4.0, refused=180.0, requests_per_second=20.0)
    assert (
        decide(policy(targets=Targets(in_flight=2), max=50), refusing, State(), 2, NOW).wanted == 20
    )


def in_a_loop(
    goal: float, callers: list[int], current: int = 1, serves_after: int = 0
) -> list[int]:
    """Counts, look by look, where so many callers ask again once they are answered, and a replica
    does one at a time. ``serves_after``: looks until a new one answers."""
    wanted = policy(targets=Targets(in_flight=goal), max=100)
    state, counts, at_work, waited = State(), [], current, 0
    for index, asking in enumerate(callers):
        now = NOW + timedelta(seconds=index * 2)
        at_work = current if index > waited or current < at_work else at_work
        running, odd = min(asking, at_work), (-1.0) ** index
        seen = load(  # where one more or less waits at one moment than in the mean
            now, at_work, in_flight=asking + odd, waiting=asking - running + odd,
            queued=float(asking - running), requests_per_second=20.0 * running,
            busy=running / at_work,
        )  # fmt: skip
        found = decide(wanted, seen, state, current, now)
        waited = index + serves_after if found.wanted > current else waited
        state, current = state_from_json(state_to_json(found.state)), found.wanted
        counts.append(current)
    return counts


@pytest.mark.parametrize(
    ("goal", "callers", "path"),
    [
        (1, 4, [1, 4]),
        (2, 4, [1, 2]),
        (4, 4, [1]),
        (1, 1, [1]),
        (1, 20, [1, 5, 10, 20]),  # four more, then twice as many
    ],
)
def test_callers_in_a_loop_get_as_many_replicas_as_their_requests_need(
    goal: float, callers: int, path: list[int]
) -> None:
    counts = in_a_loop(goal, [callers] * 20)
    assert list(dict.fromkeys(counts)) == path
    assert counts == sorted(counts)
    assert counts[:4] == [1] * 4  # and not before it is known that they stay


def test_a_queue_is_looked_at_anew_once_those_that_were_started_for_it_answer() -> None:
    counts = in_a_loop(1, [20] * 20, serves_after=5)
    assert counts[4:15] == [5] * 10 + [10]


def test_fewer_callers_need_fewer() -> None:
    counts = in_a_loop(2, [8] * 6 + [2] * 2)
    assert counts[5:] == [4, 3, 3]  # two would have no time to spare


def test_a_queue_by_chance_is_none_that_stays() -> None:
    """As long in the mean as that of four callers, of instances that have time to spare."""
    state, wanted = State(), policy(targets=Targets(in_flight=1))
    for index in range(10):
        now = NOW + timedelta(seconds=2 * index)
        seen = load(
            now, 1, in_flight=1.0, queued=2.5, requests_per_second=140.0, busy=0.75,
        )  # fmt: skip
        found = decide(wanted, seen, state, 1, now)
        state = found.state
        assert found.wanted == 1, found.reason


@pytest.mark.parametrize("change", [0.9, 1.1], ids=["passes", "grows"])
def test_a_queue_that_changes_counts_by_what_comes(change: float) -> None:
    state, wanted = State(), policy(targets=Targets(in_flight=1), max=1000)
    for index in range(10):
        waiting = 500 * change**index
        now = NOW + timedelta(seconds=2 * index)
        seen = load(
            now, 9, in_flight=9 + waiting, waiting=waiting, queued=waiting,
            growth=waiting * (change - 1) / 2, requests_per_second=9_000.0, busy=1.0,
        )  # fmt: skip
        found = decide(wanted, seen, state, 9, now)
        state = found.state
        assert found.wanted in (9, 10), found.reason


def test_a_clock_that_is_set_back_holds_nothing_up() -> None:
    rests = policy(up=Side(window_s=0, cooldown_s=30), down=AT_ONCE)
    first = decide(rests, load(serving=1, in_flight=8.0), State(), 1, NOW)
    before = decide(rests, load(in_flight=8.0), first.state, 2, NOW)
    earlier = NOW - timedelta(hours=1)
    assert decide(rests, load(earlier, in_flight=40.0), before.state, 2, earlier).wanted == 10


def test_paused_it_leaves_everything_alone() -> None:
    assert decide(policy(enabled=False, min=3), load(in_flight=99.0), State(), 1, NOW).wanted == 1


def test_a_schedule_alone_sets_the_count() -> None:
    day = Schedule(start="0 8 * * *", end="0 18 * * *", min=3)
    wanted = policy(targets=Targets(), schedules=(day,))
    assert decide(wanted, None, State(), 1, NOW).wanted == 3
    assert decide(wanted, None, State(), 3, NOW + timedelta(hours=7)).wanted == 1
