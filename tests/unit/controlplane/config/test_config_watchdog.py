"""A worker that has gone deaf is told from one that is busy, idle, or without a broker."""

import pytest

from controlplane.config.watchdog import DEAF_S, Watchdog


@pytest.mark.parametrize(
    ("busy", "waiting", "deaf"),
    [
        (False, 3, True),
        (True, 3, False),  # long tasks: what waits has to wait
        (False, 0, False),
        (False, None, False),  # the broker is away: the worker reconnects by itself
    ],
)
def test_only_who_could_take_and_does_not_is_deaf(
    busy: bool, waiting: int | None, deaf: bool
) -> None:
    now = [0.0]
    watchdog = Watchdog(now=lambda: now[0])
    for now[0] in (0.0, DEAF_S / 2, DEAF_S - 1):
        assert not watchdog.is_deaf(busy=busy, waiting=waiting)
    now[0] = DEAF_S
    assert watchdog.is_deaf(busy=busy, waiting=waiting) is deaf


def test_a_message_taken_starts_the_time_anew() -> None:
    now = [0.0]
    watchdog = Watchdog(now=lambda: now[0])
    now[0] = DEAF_S - 1
    watchdog.taken()
    now[0] = DEAF_S + 1
    assert not watchdog.is_deaf(busy=False, waiting=1)
    now[0] = 2 * DEAF_S - 1
    assert watchdog.is_deaf(busy=False, waiting=1)
