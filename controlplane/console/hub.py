"""The feeds of this process: started by their first follower, stopped by their last."""

import asyncio
import logging
from typing import Any
from weakref import WeakKeyDictionary

from controlplane.console import frames
from controlplane.console.feeds import Feed, feed_for
from controlplane.console.outbox import Outbox
from controlplane.core import fanout
from controlplane.core.errors import NotFound
from controlplane.core.events import EVENTS_GROUP

logger = logging.getLogger(__name__)

FAILED_BEAT_PAUSE_S = 2.0


Key = tuple[str, bool]  # the topic, and whether its followers may read people


class Hub:
    def __init__(self) -> None:
        self._feeds: dict[Key, Feed] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}
        self._hints: asyncio.Task[None] | None = None

    async def follow(
        self, outbox: Outbox, request: frames.Subscribe, *, people: bool = False
    ) -> None:
        """Start or join a topic, whose feed tells of people only if so. Raises NotFound."""
        key = (request.topic, people)
        feed = self._feeds.setdefault(key, feed_for(request.topic, people=people))
        try:
            async with feed.lock:
                await feed.greet(outbox, request)
                feed.followers[outbox] = request
        finally:
            if not feed.followers:
                self._drop(key)
        self._leave(outbox, (request.topic, not people))  # its role is another now
        # why set again: its last follower may have left while we were being greeted
        self._feeds[key] = feed
        if key not in self._tasks:
            self._tasks[key] = asyncio.create_task(self._run(feed))
        if self._hints is None:
            self._hints = asyncio.create_task(self._listen())

    def leave(self, outbox: Outbox, topic: str) -> None:
        for people in (False, True):
            self._leave(outbox, (topic, people))

    def _leave(self, outbox: Outbox, key: Key) -> None:
        feed = self._feeds.get(key)
        if feed is None:
            return
        feed.followers.pop(outbox, None)
        if not feed.followers:
            self._drop(key)

    def load(self) -> tuple[int, int]:
        """How many topics are followed, and by how many sockets, each topic counted."""
        feeds = list(self._feeds.values())
        return len(feeds), sum(len(feed.followers) for feed in feeds)

    def leave_all(self, outbox: Outbox) -> None:
        for topic, _ in list(self._feeds):
            self.leave(outbox, topic)

    def _drop(self, key: Key) -> None:
        self._feeds.pop(key, None)
        task = self._tasks.pop(key, None)
        if task is not None and task is not asyncio.current_task():
            task.cancel()
        if not self._feeds and self._hints is not None:
            self._hints.cancel()
            self._hints = None

    async def _run(self, feed: Feed) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + feed.interval_s
        while True:
            try:
                await asyncio.wait_for(feed.hint.wait(), max(0.0, due - loop.time()))
            except TimeoutError:
                feed.hinted = False
            else:
                feed.hinted = True
            feed.hint.clear()
            due = loop.time() + feed.interval_s
            try:
                async with feed.lock:
                    await feed.beat()
            except NotFound as gone:
                feed.tell(frames.error(gone.code, gone.message, feed.topic))
                self._drop((feed.topic, feed.people))
                return
            except Exception:
                # why any: one bad minute of the database must not end a live view for good
                logger.exception("Feed %s failed; it goes on", feed.topic)
                due = loop.time() + FAILED_BEAT_PAUSE_S

    async def _listen(self) -> None:
        """Hints over Redis. Without Redis feeds run on their own timers alone."""
        async for hint in fanout.heard(EVENTS_GROUP):
            self._hinted(hint)

    def _hinted(self, message: dict[str, Any]) -> None:
        subject = str(message.get("subject", ""))
        for feed in self._feeds.values():
            if feed.concerns(subject):
                feed.hint.set()


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop; a server process has one loop and so one hub."""
    return _hubs.setdefault(asyncio.get_running_loop(), Hub())


def load() -> tuple[int, int]:
    """Topics and followers of this process."""
    counted = [one.load() for one in list(_hubs.values())]
    return sum(topics for topics, _ in counted), sum(followers for _, followers in counted)
