"""Whose which hundredth of the clients is, and how few of them a new split moves."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.deployments.slots import slots_shared

Runs = list[tuple[str, int]]
NAMES = ("blue", "gold", "green", "red")


def flat(runs: Runs) -> list[str]:
    return [name for name, count in runs for _ in range(count)]


@st.composite
def splits(draw: st.DrawFn) -> dict[str, int]:
    cuts = sorted(draw(st.lists(st.integers(0, 100), min_size=3, max_size=3)))
    shares = [end - begin for begin, end in zip((0, *cuts), (*cuts, 100), strict=True)]
    return {name: share for name, share in zip(NAMES, shares, strict=True) if share}


@given(st.lists(splits(), min_size=2, max_size=6))
def test_no_split_moves_more_than_it_must(asked: list[dict[str, int]]) -> None:
    runs: Runs = []
    for before, after in zip(({}, *asked), asked, strict=False):
        old, runs = flat(runs), slots_shared(runs, after)
        new = flat(runs)
        assert Counter(new) == after
        moved = [(was, now) for was, now in zip(old, new, strict=False) if was != now]
        assert len(moved) == sum(max(0, share - after.get(n, 0)) for n, share in before.items())
        for was, _ in moved:  # who keeps or gains a share keeps its clients
            assert after.get(was, 0) < before[was]


def test_a_split_that_is_taken_back_gives_everybody_back() -> None:
    first = slots_shared([], {"blue": 60, "gold": 40})
    grown = slots_shared(first, {"blue": 50, "gold": 30, "green": 20})
    assert slots_shared(grown, {"blue": 60, "gold": 40}) == first


def test_three_deployments_of_which_the_last_shrinks() -> None:
    """In the order of names the middle one would lose clients to the first."""
    before = slots_shared([], {"blue": 50, "gold": 20, "green": 30})
    after = slots_shared(before, {"blue": 60, "gold": 30, "green": 10})
    kept = sum(a == b == "gold" for a, b in zip(flat(before), flat(after), strict=True))
    assert kept == 20


@pytest.mark.parametrize("before", [[], [("gone", 100)], [("blue", 300)], [("blue", 7)]])
def test_whatever_was_stored_gives_the_shares(before: Runs) -> None:
    traffic = {"blue": 75, "green": 25}
    assert Counter(flat(slots_shared(before, traffic))) == traffic
    assert slots_shared(before, {}) == []
