"""What does not belong is found by halves, and within the tries."""

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.gateway.halves import NoneAccepted, Tries, refused_of


class Judge:
    def __init__(self, bad: set[int]) -> None:
        self.bad = bad
        self.asked = 0
        self.holding: set[int] = set()

    def accepts(self, chosen: Sequence[int]) -> bool:
        self.asked += 1
        if self.bad & set(chosen):
            return False
        self.holding = set(chosen)
        return True


@given(count=st.integers(0, 80), bad=st.sets(st.integers(0, 79), max_size=80))
def test_exactly_what_is_bad_is_refused(count: int, bad: set[int]) -> None:
    judge = Judge({number for number in bad if number < count})
    found = refused_of(range(count), judge.accepts, Tries(10_000))
    assert sorted(found) == sorted(judge.bad)
    assert judge.holding == set(range(count)) - judge.bad, "all others hold at the end"


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_one_of_many_costs_twice_the_logarithm(count: int) -> None:
    judge = Judge({count // 3})
    assert refused_of(range(count), judge.accepts, Tries(64)) == [count // 3]
    assert judge.asked <= 2 * math.ceil(math.log2(count)) + 3


def test_where_the_tries_end_what_is_not_proved_is_refused() -> None:
    judge = Judge(set(range(0, 1000, 2)))
    found = refused_of(range(1000), judge.accepts, Tries(64))
    assert judge.asked <= 64 + 2
    assert judge.bad <= set(found)
    assert judge.holding == set(range(1000)) - set(found)


def test_a_fault_that_is_with_none_of_them_is_said() -> None:
    with pytest.raises(NoneAccepted):
        refused_of([1, 2], lambda chosen: False, Tries(64))
