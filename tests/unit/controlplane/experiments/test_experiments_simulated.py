"""Verdicts on made arms, seed by seed: the same ones are told apart hardly ever, others soon."""

import numpy as np
import pytest

from controlplane.experiments.comparison import Verdict, compared
from controlplane.metrics.histogram import FIRST_US, GROWTH
from controlplane.rollouts import Arm

SEEDS = 100
ARMS = ("blue", "green")
SHARES = (0.75, 0.25)


def made(rng: np.random.Generator, count: int, failing: float, times: float) -> Arm:
    micros = rng.lognormal(np.log(20_000), 0.35, count) * times
    buckets = np.floor(np.log(micros / FIRST_US) / np.log(GROWTH)).astype(int)
    keys, counts = np.unique(buckets, return_counts=True)
    return Arm(
        requests=count,
        failed=int(rng.binomial(count, failing)),
        histogram=dict(zip(keys.tolist(), counts.tolist(), strict=True)),
    )


def verdict(
    seed: int,
    *,
    failing: tuple[float, float] = (0.002, 0.002),
    times: float = 1.0,
    minutes: int = 30,
    outage: bool = False,
) -> Verdict:
    """Of green beside blue, 300 requests a minute; in an outage a third of both fail for five."""
    rng = np.random.default_rng(seed)
    moments = {}
    for minute in range(minutes):
        extra = 0.3 if outage and 10 <= minute < 15 else 0.0
        whole = int(rng.poisson(300))
        own = int(rng.binomial(whole, SHARES[1]))
        moments[60.0 * minute] = {
            "blue": made(rng, whole - own, failing[0] + extra, 1.0),
            "green": made(rng, own, failing[1] + extra, times),
        }
    return compared(moments, ARMS, 60.0 * minutes)["green"].verdict


@pytest.mark.parametrize("outage", [False, True])
@pytest.mark.parametrize("failing", [0.0, 0.002, 0.03])
def test_identical_arms_are_said_different_in_at_most_one_of_a_hundred(
    failing: float, outage: bool
) -> None:
    found = [verdict(seed, failing=(failing, failing), outage=outage) for seed in range(SEEDS)]
    different = [one for one in found if one in (Verdict.WORSE, Verdict.BETTER)]
    assert len(different) <= 1
    assert set(found) - set(different) == {Verdict.NO_DIFFERENCE}


@pytest.mark.parametrize(
    ("failing", "times", "expected"),
    [
        ((0.002, 0.05), 1.0, Verdict.WORSE),
        ((0.05, 0.002), 1.0, Verdict.BETTER),
        ((0.002, 0.002), 2.0, Verdict.WORSE),
        ((0.002, 0.002), 0.5, Verdict.BETTER),
    ],
)
def test_arms_that_differ_much_are_said_so_in_95_of_100(
    failing: tuple[float, float], times: float, expected: Verdict
) -> None:
    found = [verdict(seed, failing=failing, times=times, minutes=10) for seed in range(SEEDS)]
    assert found.count(expected) >= 95
    # the other way round no more often than where nothing differs
    assert sum(one not in (expected, Verdict.NO_DIFFERENCE) for one in found) <= 1
