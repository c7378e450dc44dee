"""How soon a step of the load is decided on, whenever it comes between samples and looks."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.autoscaling import SOON_S, Load, Policy, State, Targets, decide

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
SAMPLE_S = 1.0  # between two samples of what is autoscaled
WIDTH_S = 2.0  # that a load is the mean of
EARLY_S = 0.5  # a look may come so much before its time
POLICY = Policy(max=6, targets=Targets(in_flight=1))
DECIDED_S = 3.0
ON_THE_WAY_S = 0.8  # a sample is taken and sent, a job looks and writes it down


def carried(seconds: float, before: float, after: float, growth: float) -> Load:
    """What a sample tells so long after a step, of one replica: ``growth`` requests/s are too
    many for it."""
    share = min(max(seconds, 0.0) / WIDTH_S, 1.0)
    waiting = growth * max(seconds, 0.0)
    executing = (
        before + (min(after, 1.0) - before) * share if growth else before + (after - before) * share
    )
    return Load(
        at=NOW.timestamp() + seconds,
        serving=1,
        sampled=1,
        in_flight=executing + waiting,
        waiting=waiting,
        queued=waiting / 2,
        growth=growth * share,
        requests_per_second=20 * executing,
        busy=min(executing, 1.0),
    )


def decided(phase: float, step: tuple[float, float, float], began: int) -> tuple[float, int]:
    """Seconds from a step to the decision, and how many looks there were before it.

    Samples begin ``began`` seconds before it (0: it is the first that is measured), at this
    ``phase``; the answer to one says when the
    next is to be: it knows the look at the one before, and what waits.
    """
    state, looked, looks = State(), float("-inf"), 0
    at = phase - began
    while at < 10:
        load = carried(at, *step)
        rest_s = SOON_S if state.soon or load.waiting else SAMPLE_S
        if at - looked >= POLICY.rest_s(soon=state.soon) - EARLY_S:
            moment = NOW + timedelta(seconds=at)
            found = decide(POLICY, load, state, 1, moment)
            if found.wanted > 1:
                return at + ON_THE_WAY_S, looks
            state, looked = found.state, at
            looks += at < 0
        at += rest_s
    raise AssertionError("it was never decided on")


@pytest.mark.parametrize(
    "step",
    [(0.15, 1.5, 10.0), (0.3, 3.0, 0.0), (0.05, 0.5, 40.0)],
    ids=["3 to 30 of 20 requests/s", "none waits", "from nearly nothing"],
)
@pytest.mark.parametrize("began", [0, 1, 60, 61])
def test_a_step_of_ten_times_is_decided_on_in_three_seconds(
    step: tuple[float, float, float], began: int
) -> None:
    took = [decided(phase / 50, step, began) for phase in range(50)]
    assert max(seconds for seconds, _ in took) <= DECIDED_S
    # a load that stays costs no more looks than one in two seconds
    assert max(looks for _, looks in took) <= 31


def test_who_asks_for_rare_looks_gets_them() -> None:
    assert [POLICY.rest_s(soon=soon) for soon in (False, True)] == [2, SOON_S]
    rare = replace(POLICY, interval_s=10)
    assert [rare.rest_s(soon=soon) for soon in (False, True)] == [10, 10]
