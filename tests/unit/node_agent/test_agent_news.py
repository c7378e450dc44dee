"""What others wait for is reported at once; other changes wait for one another."""

import asyncio

import pytest

from node_agent.news import News
from wire.messages import ObservedReplica

FOREVER_S = 3600.0


def seen(state: str) -> ObservedReplica:
    return ObservedReplica(replica_id="a", generation=1, state=state)


def pauses(told: str, now: str) -> bool:
    """Whether the next report waits, after a change to ``now``."""

    async def ends_early() -> bool:
        news = News()
        news.tell([seen(told)], {"a": told})
        news.heard({"a": now})
        pause = asyncio.create_task(news.pause(FOREVER_S))
        for _ in range(5):
            await asyncio.sleep(0)
        done = pause.done()
        pause.cancel()
        return done

    return not asyncio.run(ends_early())


@pytest.mark.parametrize(
    ("told", "now", "waits"),
    [
        ("warming", "ready", False),
        ("loading", "warming", True),
        ("ready", "ready", True),
        ("ready", "draining", True),
        ("draining", "stopped", False),
        ("loading", "failed", False),
        ("failed", "failed", True),
        ("failed", "starting", True),
    ],
)
def test_only_a_state_that_others_wait_for_ends_the_pause(told: str, now: str, waits: bool) -> None:
    assert pauses(told, now) is waits


def test_what_became_ready_while_a_report_was_made_ends_it_too() -> None:
    async def run() -> None:
        news = News()
        news.heard({"a": "ready"})
        news.tell([seen("warming")], {"a": "ready"})
        await news.pause(FOREVER_S)

    asyncio.run(run())
