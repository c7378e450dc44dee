"""The sequential test: no more than it may say, whoever looks how often, and enough to act on."""

import math
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controlplane.rollouts.evidence import START, Tally, confidence, weighed

shares = st.floats(0, 1)


def chance(count: int, bad: int, share: float) -> float:
    return math.comb(count, bad) * share**bad * (1 - share) ** (count - bad)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 7), st.integers(1, 9), shares, shares, st.floats(1, 4))
def test_what_one_window_says_is_worth_one_at_most_where_the_candidate_is_no_worse(
    own: int, others: int, share: float, better: float, tolerance: float
) -> None:
    """By all outcomes there are; the odds of the candidate are the tolerated ones at most."""
    odds = tolerance * share / (1 - share) if share < 1 else math.inf
    worst = odds / (1 + odds) if math.isfinite(odds) else 1.0
    expected = sum(
        chance(own, bad, worst * better)
        * chance(others, worse, share)
        * sum(map(math.exp, weighed(START, Tally(bad, own), Tally(worse, others), tolerance, 99)))
        for bad, worse in product(range(own + 1), range(others + 1))
    )
    assert expected <= 1 + 1e-9


tallies = st.builds(lambda of, share: Tally(int(of * share), of), st.integers(0, 50_000), shares)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(tallies, tallies), max_size=30), st.floats(1, 100), st.floats(0.1, 99))
def test_it_stays_a_number_and_forgets_no_more_than_it_may(
    windows: list[tuple[Tally, Tally]], tolerance: float, most: float
) -> None:
    weights = START
    for new, old in windows:
        weights = weighed(weights, new, old, tolerance, most)
        assert all(map(math.isfinite, weights))
        assert 0 <= confidence(weights) <= 1
    # a candidate that has done well for long is noticed nevertheless: its last share is left
    assert max(weights) > math.log(0.05) - 0.01 * len(windows)


@pytest.mark.parametrize(
    ("new", "old", "sure"),
    [
        (Tally(0, 200), Tally(60, 19_800), False),
        (Tally(1, 200), Tally(60, 19_800), False),
        (Tally(3, 200), Tally(60, 19_800), False),
        (Tally(10, 200), Tally(60, 19_800), True),
        (Tally(3, 3), Tally(0, 300), True),  # few, but all of them
        (Tally(1, 1), Tally(0, 99), False),
        (Tally(10, 200), Tally(990, 19_800), False),  # the stable version fails as often
        (Tally(100, 200), Tally(9_900, 19_800), False),
        (Tally(0, 0), Tally(100, 100), False),
        (Tally(100, 100), Tally(0, 0), False),  # nothing to compare with
    ],
)
def test_what_withdraws(new: Tally, old: Tally, *, sure: bool) -> None:
    assert (confidence(weighed(START, new, old, 1.0, math.inf)) >= 0.993) is sure


def test_a_tolerance_takes_more() -> None:
    new, old = Tally(8, 200), Tally(60, 19_800)
    found = [confidence(weighed(START, new, old, times, math.inf)) for times in (1, 2, 8)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 0.99 > 0.2 > found[-1]
