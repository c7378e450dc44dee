"""What a run is worth, by objective."""

import pytest

from controlplane.tuning.outcome import Outcome, outcome_of
from wire.load import LoadPlan, LoadPoint

MOST = LoadPlan("m", "concurrency", (1.0, 8.0), 1.0)
WITHIN = LoadPlan("m", "concurrency", (1.0, 8.0), 1.0, slo_percentile=99, slo_us=10_000)
AT_RATE = LoadPlan("m", "rate", (100.0,), 1.0)


def point(level: float, throughput: float, p99_us: float, failed: int = 0) -> LoadPoint:
    errors = {"HTTP 503": failed} if failed else {}
    return LoadPoint(
        level, 1.0, int(throughput), throughput, p95_us=p99_us / 2, p99_us=p99_us, errors=errors
    )


FEW, MANY, FAILING = point(1, 100, 5000), point(8, 400, 20_000), point(8, 500, 5000, failed=50)


@pytest.mark.parametrize(
    ("points", "plan", "expected"),
    [
        ([], MOST, Outcome(None, within=False, point=None)),
        ([point(1, 0, 0)], MOST, Outcome(None, within=False, point=None)),
        ([FEW, MANY], MOST, Outcome(400, within=True, point=MANY)),
        ([FEW, FAILING], MOST, Outcome(100, within=True, point=FEW)),
        ([FAILING], MOST, Outcome(500, within=False, point=FAILING)),
        ([FEW, MANY], WITHIN, Outcome(100, within=True, point=FEW)),
        ([MANY], WITHIN, Outcome(100, within=False, point=MANY)),  # half as fast: a quarter
        ([point(100, 99, 4000)], AT_RATE, Outcome(250, within=True, point=point(100, 99, 4000))),
        ([point(100, 50, 4000)], AT_RATE, Outcome(62.5, within=False, point=point(100, 50, 4000))),
    ],
)
def test_a_run_is_worth(points: list[LoadPoint], plan: LoadPlan, expected: Outcome) -> None:
    assert outcome_of(points, plan) == expected
