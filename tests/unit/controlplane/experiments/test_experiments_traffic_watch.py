"""Pure: what is said of those who got more of the traffic."""

from typing import Any

import pytest

from controlplane.experiments.traffic_watch import BEFORE_S, watched

CHANGED, ROUTED = 1_000.0, 1_002.0
MS_1, MS_100 = 60, 155  # buckets of the histogram: about a millisecond, about a hundred


def sample(
    deployment: str, at: float, of: int, failed: int = 0, refused: int = 0, bucket: int = MS_1
) -> dict[str, Any]:
    return {
        "deployment": deployment,
        "at": at,
        "requests": of,
        "status_classes": {"2xx": of - failed - refused, "5xx": failed, "4xx": refused},
        "histogram": {str(bucket): of},
    }


BEFORE = [sample("blue", CHANGED - 10, 500), sample("blue", CHANGED, 500)]
AFTER = ROUTED + 10


@pytest.mark.parametrize(
    ("samples", "verdict", "text"),
    [
        ([], "too_few", "green: too few requests so far (0) to say how it does."),
        ([*BEFORE, sample("green", AFTER, 19)], "too_few", "(19)"),
        ([*BEFORE, sample("green", AFTER, 100)], "fine", "green does no worse than before: "),
        ([*BEFORE, sample("green", AFTER, 100, failed=2)], "errors", "fails more requests"),
        ([*BEFORE, sample("green", AFTER, 100, refused=2)], "errors", "errors 2.00 %"),
        ([*BEFORE, sample("green", AFTER, 100, failed=1)], "fine", "errors 1.00 %"),
        ([*BEFORE, sample("green", AFTER, 100, bucket=MS_100)], "slower", "is slower than before"),
        # errors weigh more than time
        ([*BEFORE, sample("green", AFTER, 100, failed=5, bucket=MS_100)], "errors", "fails more"),
        # as many as before are no worse
        (
            [sample("blue", CHANGED, 100, failed=10), sample("green", AFTER, 100, failed=15)],
            "fine",
            "Before the change: errors 10.00 %",
        ),
        # nothing to compare with
        ([sample("green", AFTER, 100, bucket=MS_100)], "fine", "green answers: errors 0.00 %"),
        ([sample("green", AFTER, 100, failed=5)], "errors", "green has errors: errors 5.00 %"),
        # what was counted until gateways had confirmed it, and of others, is not green's now
        ([*BEFORE, sample("green", ROUTED, 100, failed=50)], "too_few", "(0)"),
        ([*BEFORE, sample("blue", AFTER, 100, failed=50)], "too_few", "(0)"),
        # older than five minutes is not compared with
        (
            [sample("blue", CHANGED - BEFORE_S, 500), sample("green", AFTER, 100)],
            "fine",
            "green answers",
        ),
    ],
)
def test_one_that_gains(samples: list[dict[str, Any]], verdict: str, text: str) -> None:
    found = watched(samples, ["green"], changed_at=CHANGED, since=ROUTED)
    assert found.verdict == verdict
    assert text in found.text


def test_the_worst_of_several_counts_and_each_is_told() -> None:
    samples = [*BEFORE, sample("blue", AFTER, 100), sample("green", AFTER, 100, failed=50)]
    found = watched(samples, ["blue", "green"], changed_at=CHANGED, since=ROUTED)
    assert found.verdict == "errors"
    assert [(one.deployment, one.verdict) for one in found.gaining] == [
        ("blue", "fine"),
        ("green", "errors"),
    ]
    assert "blue does no worse" in found.text
    assert "green fails more" in found.text
    assert (found.before.requests, found.before.error_share) == (1000, 0.0)


@pytest.mark.parametrize(
    ("gaining", "since", "nobody", "verdict", "text"),
    [
        ([], ROUTED, True, "nobody", "Nobody gets requests"),
        ([], ROUTED, False, "none_gains", "No deployment gets more"),
        (["green"], None, False, "too_few", "too few requests so far (0)"),
    ],
)
def test_nobody_gains_or_nothing_is_routed(
    gaining: list[str], since: float | None, nobody: bool, verdict: str, text: str
) -> None:
    samples = [*BEFORE, sample("green", AFTER, 100, failed=50)]
    found = watched(samples, gaining, changed_at=CHANGED, since=since, nobody=nobody)
    assert found.verdict == verdict
    assert text in found.text
