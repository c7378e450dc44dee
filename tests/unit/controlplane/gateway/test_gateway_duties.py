"""When a gateway's agent polls: soon after it was woken, and not more often than that."""

import pytest

from controlplane.gateway.duties import Timers


@pytest.mark.parametrize(
    ("polls", "woken_at", "due"),
    [
        ([0.0], 1.0, 1.0),
        ([0.0, 1.0, 1.1], 1.1, 1.1),
        ([1.0, 1.1, 1.2], 1.3, 1.5),
        ([0.9, 1.0, 1.1, 1.4], 1.4, 1.5),
    ],
)
def test_of_being_woken_come_three_polls_in_half_a_second(
    polls: list[float], woken_at: float, due: float
) -> None:
    timers = Timers()
    for at in polls:
        timers.has_polled(at, 3.0)
    assert timers.poll == polls[-1] + 3.0
    timers.woken()
    assert max(timers.poll, woken_at) == pytest.approx(due)
    assert timers.report == timers.sample == timers.poll


@pytest.mark.parametrize(("now", "rest_s"), [(0.0, 1.0), (0.9, 0.3), (1.199, 0.01), (2.0, 0.01)])
def test_it_rests_until_a_duty_is_due(now: float, rest_s: float) -> None:
    due = {"poll": 3.0, "report": 3.0, "sample": 3.0}
    for duty in due:
        timers = Timers(**{**due, duty: 1.2})
        assert timers.rest_s(now) == pytest.approx(rest_s)
