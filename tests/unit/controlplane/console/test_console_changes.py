"""What differs between two values, and that it makes the one of the other."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.console.changes import Change, change_of

# The same table is in frontend/src/live/changes.test.ts, for who applies them.
CASES: list[tuple[Any, Any, Change]] = [
    (1, 1, {}),
    (1, 2, [2]),
    (None, [], [[]]),
    ({"a": 1, "b": 2}, {"a": 1, "b": 3}, {"b": [3]}),
    ({"a": {"b": None}}, {"a": {"b": {"c": 1}}}, {"a": {"b": [{"c": 1}]}}),
    ({"a": 1}, {"a": 1, "b": 2}, [{"a": 1, "b": 2}]),
    ({"a": 1, "b": 2}, {"a": 1}, [{"a": 1}]),
    ([{"n": "x", "v": 1}, {"n": "y"}], [{"n": "x", "v": 2}, {"n": "y"}], {"0": {"v": [2]}}),
    ([1, 2], [1], [[1]]),
    ([[1, 2], [3]], [[1, 5], [3]], {"0": {"1": [5]}}),
]


@pytest.mark.parametrize(("before", "after", "expected"), CASES)
def test_a_change_names_what_differs_and_nothing_else(
    before: Any, after: Any, expected: Change
) -> None:
    assert change_of(before, after) == expected


def applied(value: Any, change: Change) -> Any:
    """As the studio does it."""
    if isinstance(change, list):
        return change[0]
    places = dict(enumerate(value)) if isinstance(value, list) else dict(value)
    for name, inner in change.items():
        key = int(name) if isinstance(value, list) else name
        places[key] = applied(places[key], inner)
    return list(places.values()) if isinstance(value, list) else places


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_a_change_makes_the_one_of_the_other(before: Any, after: Any) -> None:
    change = change_of(before, after)
    assert (before if change == {} else applied(before, change)) == after
