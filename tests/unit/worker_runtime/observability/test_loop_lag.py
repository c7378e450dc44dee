"""The histogram of the loop's lateness."""

import asyncio
import time

from worker_runtime.observability.metrics.loop import BOUNDS_S, LoopLag
from worker_runtime.observability.metrics.text import render
from worker_runtime.protocols.slices import at_once

HELD_S = 0.25


async def test_a_loop_that_is_held_up_is_late() -> None:
    lag = LoopLag()
    lag.start()
    while not sum(lag.counts):
        await asyncio.sleep(0.001)
    time.sleep(HELD_S)  # which is what is measured
    await asyncio.sleep(0.001)
    lag.stop()
    seen = sum(lag.counts)
    assert lag.total_s > HELD_S / 2
    assert sum(lag.counts[BOUNDS_S.index(0.1) + 1 :]) >= 1
    text = at_once(render(lag.collect())).decode()
    assert f'shoal_loop_lag_seconds_bucket{{le="+Inf"}} {seen}\n' in text
