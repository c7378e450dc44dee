"""The clock of servers that are mostly at rest: slow, and never late for a stop."""

import asyncio
import signal
from typing import Any

import pytest
import uvicorn

from controlplane.core import slow_clock


async def application(*_: Any) -> None:
    raise AssertionError("nobody calls it")


def made() -> slow_clock.Server:
    config = uvicorn.Config(application, lifespan="off", log_config=None)
    config.load()
    return slow_clock.Server(config)


async def test_a_stop_does_not_wait_for_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clock, "TICK_S", 3600.0)
    server = made()
    running = asyncio.create_task(server.main_loop())
    await asyncio.sleep(0)  # it waits for the next tick
    assert not running.done()
    server.handle_exit(signal.SIGTERM, None)
    await asyncio.wait_for(running, 10)


async def test_each_tick_renews_the_date_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_clock, "TICK_S", 0.001)
    server = made()
    running = asyncio.create_task(server.main_loop())
    for date in (b"yesterday", b"today"):
        server.server_state.default_headers = [(b"date", date)]
        async with asyncio.timeout(10):
            while (b"date", date) in server.server_state.default_headers:
                await asyncio.sleep(0.001)
    assert dict(server.server_state.default_headers)[b"date"].endswith(b"GMT")
    server.handle_exit(signal.SIGTERM, None)
    await asyncio.wait_for(running, 10)
