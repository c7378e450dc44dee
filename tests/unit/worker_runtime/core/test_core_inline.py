"""The governor of inline execution: only streaks of tiny runs, and back when they turn slow."""

from worker_runtime.core.inline import InlineGovernor

QUICK, SLOW = 10_000, 5_000_000


def settled() -> InlineGovernor:
    governor = InlineGovernor()
    for _ in range(32):
        governor.ran_in_thread(QUICK, QUICK)
    return governor


def test_a_streak_of_tiny_runs_switches_it_on() -> None:
    governor = InlineGovernor()
    for _ in range(31):
        governor.ran_in_thread(QUICK, QUICK)
    assert not governor.on
    governor.ran_in_thread(QUICK, QUICK)
    assert governor.on


def test_a_model_that_sleeps_never_gets_in() -> None:
    governor = InlineGovernor()
    for _ in range(1000):
        governor.ran_in_thread(QUICK, SLOW)
    assert not governor.on


def test_one_hiccup_is_forgiven_but_not_three() -> None:
    governor = settled()
    governor.ran_inline(SLOW)
    governor.ran_inline(QUICK)
    governor.ran_inline(SLOW)
    governor.ran_inline(SLOW)
    assert governor.on
    governor.ran_inline(SLOW)
    assert not governor.on


def test_one_very_slow_run_is_enough_and_the_way_back_is_longer() -> None:
    governor = settled()
    governor.ran_inline(50_000_000)
    assert not governor.on
    for _ in range(32):
        governor.ran_in_thread(QUICK, QUICK)
    assert not governor.on
    for _ in range(32):
        governor.ran_in_thread(QUICK, QUICK)
    assert governor.on
