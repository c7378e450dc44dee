"""How arms compare: what is worse, what is better, and when nobody can tell yet."""

import pytest

from controlplane.experiments.comparison import Verdict, compared, interval
from controlplane.rollouts import Arm

ARMS = ("blue", "green")
QUICK, SLOW = 60, 75  # buckets: the second is twice as slow


def arm(requests: int, failed: int = 0, bucket: int = QUICK) -> Arm:
    return Arm(requests=requests, failed=failed, histogram={bucket: requests})


def moments(count: int, blue: Arm, green: Arm) -> dict[float, dict[str, Arm]]:
    return {60.0 * at: {"blue": blue, "green": green} for at in range(1, count + 1)}


@pytest.mark.parametrize(
    ("bad", "of", "low", "high"),
    [(0, 0, 0.0, 1.0), (0, 100, 0.0, 0.0370), (5, 100, 0.0215, 0.1118), (100, 100, 0.9630, 1.0)],
)
def test_the_interval_is_wilsons(bad: int, of: int, low: float, high: float) -> None:
    assert interval(bad, of) == pytest.approx((low, high), abs=5e-4)


def test_an_arm_that_fails_more_is_worse_and_the_other_way_round_better() -> None:
    seen = moments(20, arm(90), arm(30, 3))
    green = compared(seen, ARMS, 1e9)["green"]
    assert green.verdict == Verdict.WORSE
    assert "60 of 600 of green, 0 of 1,800 of blue" in green.text
    assert green.measured.failed_between[0] > 0.07
    blue = compared(seen, ARMS[::-1], 1e9)["blue"]
    assert blue.verdict == Verdict.BETTER
    assert blue.text.startswith("blue is better than green: Server errors (5xx)")


def test_an_arm_that_is_slower_is_worse() -> None:
    green = compared(moments(20, arm(90), arm(30, bucket=SLOW)), ARMS, 1e9)["green"]
    told = {one.measure: one.verdict for one in green.differences}
    assert told == {
        "errors": "no_difference", "refusals": "no_difference",
        "latency_p95": "worse", "latency_p99": "worse",
    }  # fmt: skip
    p50 = green.measured.quantiles_us[0]
    assert p50 is not None
    assert p50 > 1500


def test_the_same_on_both_is_no_difference_whatever_fails() -> None:
    seen = moments(30, arm(90, 9), arm(30, 3))
    for order in (ARMS, ARMS[::-1]):
        found = compared(seen, order, 1e9)[order[1]]
        assert (found.verdict, found.measured.missing) == (Verdict.NO_DIFFERENCE, 0)
        assert "No difference" in found.text


def test_too_little_data_says_how_much_is_missing() -> None:
    green = compared(moments(3, arm(90), arm(30, 30)), ARMS, 1e9)["green"]
    assert (green.verdict, green.measured.missing) == (Verdict.TOO_LITTLE_DATA, 110)
    assert green.text == "Too little for a verdict: 90 of 200 requests of green, 110 are missing."
    alone = compared({}, ARMS, 1e9)
    assert [alone[name].measured.missing for name in ARMS] == [200, 200]


def test_arms_that_never_answered_side_by_side_are_not_compared() -> None:
    early = {60.0 * at: {"blue": arm(100)} for at in range(5)}
    late = {60.0 * at: {"green": arm(100, 50)} for at in range(5, 10)}
    green = compared({**early, **late}, ARMS, 1e9)["green"]
    assert green.verdict == Verdict.TOO_LITTLE_DATA
    assert "in the same minutes" in green.text
