"""Wake-up streams of nodes and gateways: responses that stay open and say just "look now".

``wire.wake_up`` has the lines. Each process that serves the web hears all wake-ups over one group
of the channel layer and passes them on to those whose agents listen here: nodes by name, gateways
all at once.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.http import StreamingHttpResponse

from controlplane.core import fanout
from controlplane.nodes import selectors
from wire.wake_up import ALIVE, LIFE_S, WAKE_UP

logger = logging.getLogger(__name__)

GROUP: Final = "wake_ups"
GATEWAYS_WOKEN: Final = "gateways.woken"
CHECK_S: Final = LIFE_S  # between two looks whether those who listen still may


def answer(listener: "Listener") -> StreamingHttpResponse:
    """It stays open; ``config.agent_pool`` keeps no thread for it."""
    return StreamingHttpResponse(
        listener,
        content_type="text/plain; charset=utf-8",
        headers={"X-Accel-Buffering": "no"},  # what nginx needs to pass lines on as they come
    )


def wake_on_commit(node_ids: Iterable[str]) -> None:
    """Tell the agents of these nodes to look now, once the transaction commits."""
    if nodes := list(node_ids):
        fanout.send_on_commit(GROUP, {"type": "nodes.woken", "nodes": nodes})


def gateways_wake_on_commit() -> None:
    """Tell the agents of all gateways to look now, once the transaction commits."""
    fanout.send_on_commit(GROUP, {"type": GATEWAYS_WOKEN})


class Listener:
    """What one open answer says: an asynchronous iterator of lines, for the event loop that sends.

    It ends when a newer one of its node or gateway comes, and when a node's credential is no longer
    valid. Gateways are not looked at again: a wake-up tells no secret.
    """

    def __init__(self, who: str, *, credential_hash: str | None = None) -> None:
        """``who``: the node's id, or ``gateway/<name>``; without a hash it is a gateway."""
        self.who = who
        self.credential_hash = credential_hash
        self._streams: WakeUpStreams | None = None
        self._due = asyncio.Event()
        self._over = False

    def __aiter__(self) -> "Listener":
        return self

    async def __anext__(self) -> bytes:
        if self._streams is None:
            self._streams = _of_this_loop()
            self._streams.enter(self)
        if not self._over:
            try:
                async with asyncio.timeout(LIFE_S):
                    await self._due.wait()
            except TimeoutError:
                return ALIVE
        if self._over:
            raise StopAsyncIteration
        self._due.clear()
        return WAKE_UP

    def wake(self) -> None:
        """However often before the next line is taken: it is one line."""
        self._due.set()

    def end(self) -> None:
        self._over = True
        self._due.set()

    def close(self) -> None:
        """Django calls this when the answer has ended, however it did."""
        if self._streams is not None:
            self._streams.leave(self)


class WakeUpStreams:
    """Who listens in this event loop, one listener for each node and gateway: the newest."""

    def __init__(self) -> None:
        self._listeners: dict[str, Listener] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def enter(self, listener: Listener) -> None:
        if older := self._listeners.get(listener.who):
            older.end()
        self._listeners[listener.who] = listener
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._hear()), asyncio.create_task(self._check())]

    def leave(self, listener: Listener) -> None:
        if self._listeners.get(listener.who) is listener:
            del self._listeners[listener.who]
        if not self._listeners:
            for task in self._tasks:
                task.cancel()
            self._tasks = []

    async def _hear(self) -> None:
        async for hint in fanout.heard(GROUP):
            if hint["type"] == GATEWAYS_WOKEN:
                woken = [one for one in self._listeners.values() if one.credential_hash is None]
            else:
                known = (self._listeners.get(node_id) for node_id in hint.get("nodes", ()))
                woken = [one for one in known if one is not None]
            for listener in woken:
                listener.wake()

    async def _check(self) -> None:
        """Ends the listeners whose node was removed or has a new credential; one query for all."""
        while True:
            await asyncio.sleep(CHECK_S)
            try:
                valid = await database_sync_to_async(selectors.credential_hashes)()
            except Exception:
                # why any: while the database is away they listen on; a wake-up tells no secret
                logger.warning("Cannot check who may hold a wake-up stream", exc_info=True)
                continue
            for listener in list(self._listeners.values()):
                known = listener.credential_hash
                if known is not None and valid.get(listener.who) != known:
                    listener.end()


_streams: WeakKeyDictionary[asyncio.AbstractEventLoop, WakeUpStreams] = WeakKeyDictionary()


def _of_this_loop() -> WakeUpStreams:
    return _streams.setdefault(asyncio.get_running_loop(), WakeUpStreams())
