"""Rests between two calls: exact by time, of random length after a change that woke many nodes."""

import asyncio

import pytest

from node_agent.rest import LEAST_S, Rest


async def woken() -> Rest:
    change = asyncio.Event()
    rest = Rest(change)
    change.set()
    assert await rest.take(60.0), "woken: it would outlast the test"
    assert not change.is_set(), "the change was taken"
    return rest


@pytest.mark.parametrize("interval_s", [0.05, 1.0, 5.0, 60.0])
def test_nodes_rest_equally_long_until_a_change_wakes_them(interval_s: float) -> None:
    assert Rest(asyncio.Event()).length_s(interval_s) == interval_s


@pytest.mark.parametrize("interval_s", [5.0, 30.0])
async def test_nodes_that_one_change_woke_come_at_all_moments_of_the_interval(
    interval_s: float,
) -> None:
    rests = [await woken() for _ in range(1000)]
    tenths = {int(10 * rest.length_s(interval_s) / interval_s) for rest in rests}
    assert tenths == set(range(int(10 * LEAST_S / interval_s), 10))


@pytest.mark.parametrize("interval_s", [0.05, 0.5, LEAST_S])
async def test_short_rests_are_not_shortened(interval_s: float) -> None:
    assert (await woken()).length_s(interval_s) == interval_s


async def test_once_spread_they_keep_their_interval() -> None:
    rest = await woken()
    assert not await rest.take(0.001), "by time"
    assert rest.length_s(5.0) == 5.0
