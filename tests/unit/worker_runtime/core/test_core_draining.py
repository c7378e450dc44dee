"""Waiting for what may never end: as long as something moves, and no longer."""

import asyncio
import itertools

import pytest

from worker_runtime.core.draining import wait_unless_hurried, wait_while_progressing


async def test_work_that_ends_is_waited_for() -> None:
    assert await wait_while_progressing(asyncio.sleep(0), lambda: 0, 5) is None


async def test_work_that_moves_may_take_longer_than_the_timeout() -> None:
    ends = asyncio.Event()
    looks = itertools.count()

    def progress() -> int:
        number = next(looks)
        if number > 3:
            ends.set()
        return number

    async def work() -> None:
        await ends.wait()

    assert await wait_while_progressing(work(), progress, 0.01) is None


async def test_work_that_does_not_move_is_given_back() -> None:
    task = await wait_while_progressing(asyncio.Event().wait(), lambda: 7, 0.01)  # type: ignore[arg-type]
    assert task is not None
    assert not task.done()
    task.cancel()


async def test_what_work_raises_is_raised() -> None:
    async def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await wait_while_progressing(work(), lambda: 0, 0)


async def test_what_still_runs_is_told_when_somebody_is_in_a_hurry_or_the_time_is_over() -> None:
    gate, hurried = asyncio.Event(), asyncio.Event()
    quick, slow = asyncio.ensure_future(asyncio.sleep(0)), asyncio.ensure_future(gate.wait())
    assert await wait_unless_hurried([quick, slow], 0.01, hurried) == {slow}
    hurried.set()
    assert await wait_unless_hurried([quick, slow], 3600, hurried) == {slow}
    gate.set()
    assert await wait_unless_hurried([slow], 3600, asyncio.Event()) == set()
    assert await wait_unless_hurried([], 3600, asyncio.Event()) == set()
