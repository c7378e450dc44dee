"""Rules of probes: answers in a row count, and one that takes too long is a bad one."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from node_agent import health
from wire.messages import ProbeRule

QUICK = ProbeRule(initial_delay_s=0, period_s=0, timeout_s=0.05)


def answers(*good: bool) -> tuple[Callable[[float], Awaitable[bool]], list[bool]]:
    asked: list[bool] = []

    async def ask(timeout_s: float) -> bool:
        assert timeout_s == QUICK.timeout_s
        asked.append(good[len(asked)])
        return asked[-1]

    return ask, asked


@pytest.mark.parametrize(
    ("threshold", "given", "needed"),
    [
        (1, (True,), 1),
        (1, (False, False, True), 3),
        (2, (True, False, True, True), 4),
        (3, (True, True, False) * 5 + (True, True, True), 18),  # flapping: never three in a row
    ],
)
async def test_ready_after_good_answers_in_a_row(
    threshold: int, given: tuple[bool, ...], needed: int
) -> None:
    ask, asked = answers(*given)
    rule = ProbeRule(period_s=0, timeout_s=QUICK.timeout_s, success_threshold=threshold)
    await health.until_ready(rule, ask)
    assert len(asked) == needed


@pytest.mark.parametrize(
    ("threshold", "given", "needed"),
    [
        (1, (True, True, False), 3),
        (2, (False, True, False, False), 4),
        (3, (False, False, True) * 5 + (False, False, False), 18),
    ],
)
async def test_dead_after_bad_answers_in_a_row(
    threshold: int, given: tuple[bool, ...], needed: int
) -> None:
    ask, asked = answers(*given)
    rule = ProbeRule(0, 0, QUICK.timeout_s, failure_threshold=threshold)
    await health.until_dead(rule, ask)
    assert len(asked) == needed


async def test_an_answer_that_takes_too_long_is_a_bad_one() -> None:
    async def never(_: float) -> bool:
        await asyncio.Event().wait()
        return True

    await health.until_dead(ProbeRule(0, 0, 0.01, failure_threshold=2), never)
