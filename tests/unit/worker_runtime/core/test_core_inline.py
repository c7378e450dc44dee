"""The governor of inline execution: only streaks of tiny runs, and back when they turn slow."""

from worker_runtime.core.scheduling.inline import InlineGovernor

QUICK, SLOW = 10_000, 5_000_000


def settled() -> InlineGovernor:
    governor = InlineGovernor()
    for _ in range(32):
        governor.ran_in_thread(QUICK)
    return governor


def test_a_streak_of_tiny_runs_switches_it_on() -> None:
    governor = InlineGovernor()
    for _ in range(31):
        governor.ran_in_thread(QUICK)
    assert not governor.on
    governor.ran_in_thread(QUICK)
    assert governor.on


def test_a_model_that_computes_never_gets_in() -> None:
    governor = InlineGovernor()
    for _ in range(1000):
        governor.ran_in_thread(SLOW)
        governor.ran_in_thread(QUICK)
    assert not governor.on


def test_a_long_wall_time_only_asks_for_the_cpu_time() -> None:
    governor = settled()
    for _ in range(10):
        governor.ran_inline(SLOW)
        assert governor.doubtful
        governor.ran_inline(SLOW, QUICK)
    assert governor.on
    governor.ran_inline(QUICK)
    assert not governor.doubtful


def test_two_slow_runs_are_forgiven_but_not_three() -> None:
    governor = settled()
    for wall in (SLOW, SLOW, QUICK, SLOW, SLOW):
        governor.ran_inline(wall, wall)
    assert governor.on
    governor.ran_inline(SLOW, SLOW)
    assert not governor.on


def test_one_very_slow_run_is_enough_and_the_way_back_is_longer() -> None:
    governor = settled()
    governor.ran_inline(50_000_000, 50_000_000)
    assert not governor.on
    for _ in range(32):
        governor.ran_in_thread(QUICK)
    assert not governor.on
    for _ in range(32):
        governor.ran_in_thread(QUICK)
    assert governor.on
