"""Wake-up streams of nodes: responses that stay open and say just "look now" (``wire.wake_up``).

Each process that serves the web hears all wake-ups over one group of the channel layer and passes
them on to those nodes whose agents listen here.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async

from controlplane.core import fanout
from controlplane.nodes import selectors
from controlplane.nodes.models import Node
from wire.wake_up import ALIVE, LIFE_S, WAKE_UP

logger = logging.getLogger(__name__)

GROUP: Final = "wake_ups"
CHECK_S: Final = LIFE_S  # between two looks whether those who listen still may


def wake_on_commit(node_ids: Iterable[str]) -> None:
    """Tell the agents of these nodes to look now, once the transaction commits."""
    if nodes := list(node_ids):
        fanout.send_on_commit(GROUP, {"type": "nodes.woken", "nodes": nodes})


class Listener:
    """What one open answer says: an asynchronous iterator of lines, for the event loop that sends.

    It ends when a newer one of its node comes, and when the node's credential is no longer valid.
    """

    def __init__(self, node: Node) -> None:
        self.node_id = node.id
        self.credential_hash = node.credential_hash
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
    """Who listens in this event loop, one listener for each node: the newest."""

    def __init__(self) -> None:
        self._listeners: dict[str, Listener] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def enter(self, listener: Listener) -> None:
        if older := self._listeners.get(listener.node_id):
            older.end()
        self._listeners[listener.node_id] = listener
        if not self._tasks:
            self._tasks = [asyncio.create_task(self._hear()), asyncio.create_task(self._check())]

    def leave(self, listener: Listener) -> None:
        if self._listeners.get(listener.node_id) is listener:
            del self._listeners[listener.node_id]
        if not self._listeners:
            for task in self._tasks:
                task.cancel()
            self._tasks = []

    async def _hear(self) -> None:
        async for hint in fanout.heard(GROUP):
            for node_id in hint.get("nodes", ()):
                if listener := self._listeners.get(node_id):
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
                if valid.get(listener.node_id) != listener.credential_hash:
                    listener.end()


_streams: WeakKeyDictionary[asyncio.AbstractEventLoop, WakeUpStreams] = WeakKeyDictionary()


def _of_this_loop() -> WakeUpStreams:
    return _streams.setdefault(asyncio.get_running_loop(), WakeUpStreams())
