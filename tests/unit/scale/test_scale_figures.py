"""The bars of ``make scale``."""

import math

import pytest

from tests.scale.figures import CONFIGURED, PLACED, quantile


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([3.0, 1.0, 2.0], 0.5, 2.0), ([1.0] * 98 + [9.0, 9.0], 0.99, 9.0), ([5.0], 0.99, 5.0)],
)
def test_a_quantile_is_one_of_the_values(
    values: list[float], share: float, expected: float
) -> None:
    assert quantile(values, share) == expected


def test_what_was_not_measured_keeps_no_bar() -> None:
    assert math.isnan(quantile([], 0.5))
    assert not CONFIGURED.verdict(math.nan)[0]
    assert not PLACED.verdict(math.nan)[0]


def test_bars_have_two_directions() -> None:
    assert CONFIGURED.verdict(4.9)[0]
    assert not CONFIGURED.verdict(5.1)[0]
    assert PLACED.verdict(201)[0]
    assert PLACED.verdict(199) == (
        False,
        "replicas placed in a rollout of all: 199.0 a second (wanted ≥ 200)",
    )
