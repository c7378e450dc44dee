"""Probes as a deployment sets them: when a runtime counts as ready, and when as dead.

Without a rule the agent has its own, quicker ways (``watch.Watch``); the gateway checks
readiness by the same rule for as long as the replica serves.
"""

import asyncio
from collections.abc import Awaitable, Callable

from wire.messages import ProbeRule

Probe = Callable[[float], Awaitable[bool]]  # with a time-out in seconds


async def until_ready(rule: ProbeRule, probe: Probe) -> None:
    """Return after ``success_threshold`` good answers in a row, one per period."""
    good = 0
    while True:
        good = good + 1 if await _answer(rule, probe) else 0
        if good >= rule.success_threshold:
            return
        await asyncio.sleep(rule.period_s)


async def until_dead(rule: ProbeRule, probe: Probe) -> None:
    """Return after ``failure_threshold`` bad answers in a row; the first is sent after
    ``initial_delay_s``."""
    await asyncio.sleep(rule.initial_delay_s)
    bad = 0
    while True:
        bad = 0 if await _answer(rule, probe) else bad + 1
        if bad >= rule.failure_threshold:
            return
        await asyncio.sleep(rule.period_s)


async def _answer(rule: ProbeRule, probe: Probe) -> bool:
    try:
        async with asyncio.timeout(rule.timeout_s):
            return await probe(rule.timeout_s)
    except TimeoutError:
        return False
