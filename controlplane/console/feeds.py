"""What sockets follow. Each feed is computed once per process, however many sockets follow it.

The database is the truth: a feed looks at it on its own timer. A hint over Redis only makes it
look sooner.
"""

import asyncio
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from controlplane.accounts.scope import Scope
from controlplane.console import frames, reads
from controlplane.console.changes import change_of
from controlplane.console.database import in_database
from controlplane.console.outbox import Outbox
from controlplane.metrics.selectors import Following

WATCH_EVERY_S = 10.0
STATE_EVERY_S = 1.0


class Feed(ABC):
    """Followers and what they are told. ``beat`` runs every ``interval_s``, or when hinted at."""

    interval_s: ClassVar[float] = 1.0
    tells_of_people: ClassVar[bool] = False
    of_projects: ClassVar[bool] = False  # each follower is told of its outbox's projects alone

    def __init__(self, topic: str, *, people: bool = False) -> None:
        self.topic = topic
        self.people = people  # whether its followers may read people; all of one feed alike
        self.name = topic.partition(":")[2]
        self.followers: dict[Outbox, frames.Subscribe] = {}
        self.lock = asyncio.Lock()  # greeting and beating take turns: no frame falls between
        self.hint = asyncio.Event()
        self.hinted = False  # in a beat: it was a hint that woke us

    @abstractmethod
    async def greet(self, outbox: Outbox, request: frames.Subscribe) -> None:
        """Send what a new follower needs first. Raises core.errors.NotFound."""

    @abstractmethod
    async def beat(self) -> None:
        """Tell followers what is new. Raises core.errors.NotFound once the subject is gone."""

    def concerns(self, subject: str) -> bool:
        """Whether an event about ``subject`` is a reason to look at once."""
        del subject
        return True

    def tell(self, frame: str) -> None:
        for outbox in self.followers:
            outbox.put(frame)

    def state(self, data: Any) -> str:
        return frames.dump({"type": "state", "topic": self.topic, "data": data})


class EndpointFeed(Feed):
    """Live series at 2 Hz, and the endpoint's state whenever it changes."""

    interval_s = 0.5

    def __init__(self, topic: str, *, people: bool = False) -> None:
        super().__init__(topic, people=people)
        # What the columns of each follower's snapshot are: a tick has no names, only their order.
        self._columns: WeakKeyDictionary[Outbox, list[str]] = WeakKeyDictionary()
        self._state = ""
        self._state_at = 0.0
        self._watched_at = 0.0
        self._following = Following(self.name)  # for the beats, which take turns

    def concerns(self, subject: str) -> bool:
        return subject == f"endpoint/{self.name}"

    async def greet(self, outbox: Outbox, request: frames.Subscribe) -> None:
        frame = self.state(await in_database(reads.endpoint_state)(self.name))
        outbox.put(frame)
        await self._watch(time.monotonic())
        await self._snapshot(outbox, request)
        if not self.followers:  # the first: what it got is what the next beat compares with
            self._state = frame

    async def beat(self) -> None:
        now = time.monotonic()
        await self._watch(now)
        if self.hinted or now - self._state_at >= STATE_EVERY_S:
            self._state_at = now
            frame = self.state(await in_database(reads.endpoint_state)(self.name))
            if frame != self._state:
                self._state = frame
                self.tell(frame)
        keys, at, values = await in_database(reads.endpoint_tick)(self._following)
        tick = frames.dump({"type": "tick", "topic": self.topic, "t": at, "v": values})
        for outbox, request in list(self.followers.items()):
            if self._columns.get(outbox) == keys:
                outbox.put_tick(self.topic, tick)
            else:
                await self._snapshot(outbox, request, keys)

    async def _watch(self, now: float) -> None:
        if now - self._watched_at >= WATCH_EVERY_S:
            self._watched_at = now
            await in_database(reads.endpoint_watch)(self.name)

    async def _snapshot(
        self, outbox: Outbox, request: frames.Subscribe, keys: list[str] | None = None
    ) -> None:
        """With the columns of the ticks that follow, where they are known."""
        columns = await in_database(reads.endpoint_series)(self.name, request.range_s, keys)
        outbox.forget(self.topic)
        outbox.put(frames.dump({"type": "snapshot", "topic": self.topic, **columns}))
        self._columns[outbox] = columns["keys"]


class PipelineFeed(Feed):
    """What each model of a deployment is doing, also unchanged: silence is taken for a dead line.

    Whoever follows it watches the endpoint, whose agents sample more often then.
    """

    def __init__(self, topic: str, *, people: bool = False) -> None:
        super().__init__(topic, people=people)
        self._endpoint, _, self._deployment = self.name.partition("/")
        self._watched_at = float("-inf")

    def concerns(self, subject: str) -> bool:
        return subject == f"endpoint/{self._endpoint}"

    async def greet(self, outbox: Outbox, request: frames.Subscribe) -> None:
        del request  # there is nothing to choose
        outbox.put(await self._look())
        await self._watch()

    async def beat(self) -> None:
        await self._watch()
        frame = await self._look()
        for outbox in self.followers:
            outbox.put_tick(self.topic, frame)

    async def _look(self) -> str:
        return self.state(await in_database(reads.pipeline_state)(self._endpoint, self._deployment))

    async def _watch(self) -> None:
        now = time.monotonic()
        if now - self._watched_at >= WATCH_EVERY_S:
            self._watched_at = now
            await in_database(reads.endpoint_watch)(self._endpoint)


class OperationFeed(Feed):
    """The operation, whenever it changes."""

    interval_s = 0.5

    def __init__(self, topic: str, *, people: bool = False) -> None:
        super().__init__(topic, people=people)
        self._state = ""

    def concerns(self, subject: str) -> bool:
        return subject.startswith("endpoint/")

    async def greet(self, outbox: Outbox, request: frames.Subscribe) -> None:
        del request  # there is nothing to choose
        outbox.put(self.state(await in_database(reads.operation_state)(self.name)))

    async def beat(self) -> None:
        frame = self.state(await in_database(reads.operation_state)(self.name))
        if frame != self._state:
            self._state = frame
            self.tell(frame)


class EventsFeed(Feed):
    """Every event once, from where the follower left off.

    The log is read once for all followers, and only what is new of it is asked about for each set
    of projects: who has nothing to hear costs nothing while nothing happens.
    """

    tells_of_people = True
    of_projects = True

    def __init__(self, topic: str, *, people: bool = False) -> None:
        super().__init__(topic, people=people)
        self._newest: int | None = None
        self._told: set[int] = set()  # numbers near the newest that followers know

    async def greet(self, outbox: Outbox, request: frames.Subscribe) -> None:
        newest, complete = await self._start(), True
        if request.after_seq is not None:
            missed, complete = await in_database(reads.events_missed)(
                request.after_seq, people=self.people, projects=outbox.projects
            )
            for event in missed:
                # why not all: what no follower was told yet comes to this one, too, with the
                # next beat
                if event["seq"] in self._told or event["seq"] <= newest - reads.EVENTS_OVERLAP:
                    outbox.put(self._frame(event))
        # why last: a socket cut before it resumes from the last event that it got
        position = {"type": "position", "topic": self.topic, "seq": newest, "complete": complete}
        outbox.put(frames.dump(position))

    async def beat(self) -> None:
        newest = await self._start()
        # why look back: a transaction that took its number earlier may commit later.
        since = max(0, newest - reads.EVENTS_OVERLAP)
        found = await in_database(reads.events_after)(since, people=self.people)
        fresh = {event["seq"]: event for event in found if event["seq"] not in self._told}
        # why all before any is told: where one cannot be read now, all come with the next beat
        shown = await self._shown(fresh.keys())
        for seq, event in fresh.items():
            frame = self._frame(event)
            for outbox in self.followers:
                if seq in shown[outbox.projects]:
                    outbox.put(frame)
        self._told |= fresh.keys()
        newest = max(newest, *fresh) if fresh else newest
        self._newest = newest
        self._told = {seq for seq in self._told if seq > newest - 2 * reads.EVENTS_OVERLAP}

    async def _shown(self, seqs: Collection[int]) -> dict[Scope, Collection[int]]:
        """Of these events those that followers are told, by their projects."""
        wanted = {outbox.projects for outbox in self.followers}
        shown: dict[Scope, Collection[int]] = dict.fromkeys(wanted, seqs)
        for projects in wanted - {None} if seqs else ():
            shown[projects] = await in_database(reads.events_within)(list(seqs), projects)
        return shown

    async def _start(self) -> int:
        if self._newest is None:
            self._newest = await in_database(reads.events_newest)(people=self.people)
            since = max(0, self._newest - reads.EVENTS_OVERLAP)
            known = await in_database(reads.events_after)(since, people=self.people)
            self._told = {event["seq"] for event in known}
            self._newest = max(self._told, default=self._newest)
        return self._newest

    def _frame(self, event: dict[str, Any]) -> str:
        return frames.dump({"type": "event", "topic": self.topic, "data": event})


class OverviewFeed(Feed):
    """The overview, also unchanged: its followers take silence for a dead line.

    Whole at first, and for who asked for changes only what differs from the frame before. Frames
    are numbered, so that a follower sees when it has missed one, and subscribes again.
    """

    interval_s = 2.0
    tells_of_people = True

    def __init__(self, topic: str, *, people: bool = False) -> None:
        super().__init__(topic, people=people)
        self._shown: Any = None  # as the newest frame says
        self._seq = 0

    async def greet(self, outbox: Outbox, request: frames.Subscribe) -> None:
        del request  # all begin with the whole
        # why not read again while others follow: the next change is from what they were told last
        if not self.followers:
            await self._look()
        outbox.put(self._whole())

    async def beat(self) -> None:
        before = self._shown
        await self._look()
        change = {"type": "change", "topic": self.topic, "seq": self._seq}
        whole, less = self._whole(), frames.dump({**change, "data": change_of(before, self._shown)})
        for outbox, request in self.followers.items():
            outbox.put(less if request.changes and len(less) < len(whole) else whole)

    async def _look(self) -> None:
        found = await in_database(reads.overview_state)(people=self.people)
        self._shown = json.loads(frames.dump(found))  # what travels is what is compared
        self._seq += 1

    def _whole(self) -> str:
        whole = {"type": "state", "topic": self.topic, "seq": self._seq, "data": self._shown}
        return frames.dump(whole)


FEEDS: dict[str, type[Feed]] = {
    "endpoint": EndpointFeed,
    "pipeline": PipelineFeed,
    "operation": OperationFeed,
    "events": EventsFeed,
    "overview": OverviewFeed,
}


def tells_of_people(topic: str) -> bool:
    return FEEDS[topic.partition(":")[0]].tells_of_people


def of_projects(topic: str) -> bool:
    return FEEDS[topic.partition(":")[0]].of_projects


def feed_for(topic: str, *, people: bool) -> Feed:
    return FEEDS[topic.partition(":")[0]](topic, people=people)
