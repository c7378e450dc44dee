"""The bars of ``make scale``."""

import math
from typing import Any

import pytest

from tests.scale.figures import CONFIGURED, FLAT, PLACED, quantile
from tests.scale.growth import MINUTE, node_ms, plotted


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


def grown(nodes: int, call_ms: float, jobs_ms: float) -> dict[str, Any]:
    """Where each call takes so long, and a job that comes once a minute."""
    return {
        "nodes": nodes,
        "costs": {name: [call_ms, 1, 1] for name in MINUTE},
        "jobs": {"look": [60, jobs_ms, 1]},
    }


def test_a_node_costs_its_calls_and_its_share_of_the_jobs() -> None:
    small, large = grown(100, 2.0, 100.0), grown(1000, 2.0, 1000.0)
    assert node_ms(small) == node_ms(large) == 2.0 * sum(MINUTE.values()) + 1.0
    worse = grown(1000, 2.0, 100_000.0)
    assert FLAT.verdict(node_ms(large) / node_ms(small))[0]
    assert not FLAT.verdict(node_ms(worse) / node_ms(small))[0]
    assert plotted([small, worse]).count("1,000 nodes") == 1
