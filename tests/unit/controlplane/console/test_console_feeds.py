"""A tick has no names: each follower gets only those whose columns its snapshot has."""

import json
from typing import Any

import pytest

from controlplane.console import frames, reads
from controlplane.console.feeds import EndpointFeed
from controlplane.console.outbox import Outbox

pytestmark = pytest.mark.django_db(transaction=True)


class Kept(Outbox):
    """Keeps what is put in."""

    def __init__(self) -> None:
        self.got: list[tuple[str, list[Any]]] = []

    def put(self, frame: str) -> None:
        told = json.loads(frame)
        if told["type"] == "snapshot":
            self.got.append(("snapshot", told["keys"]))

    def put_tick(self, topic: str, frame: str) -> None:
        self.got.append(("tick", json.loads(frame)["v"]))

    def forget(self, topic: str) -> None:
        pass


class Columns:
    """Stands in for the metrics: the columns are what a test says, each value its name's length."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keys: list[str] = []
        monkeypatch.setattr(reads, "endpoint_watch", lambda name: None)
        monkeypatch.setattr(reads, "endpoint_state", lambda name: {})
        monkeypatch.setattr(reads, "endpoint_series", self.series)
        monkeypatch.setattr(reads, "endpoint_tick", self.tick)

    def series(self, name: str, range_s: float) -> dict[str, Any]:
        return {"keys": list(self.keys), "t": [], "v": []}

    def tick(self, name: str) -> tuple[list[str], float, list[float | None]]:
        return list(self.keys), 1.0, [len(key) for key in self.keys]


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> Columns:
    return Columns(monkeypatch)


async def follow(feed: EndpointFeed) -> Kept:
    outbox, request = Kept(), frames.Subscribe(feed.topic, 300.0, None)
    await feed.greet(outbox, request)
    feed.followers[outbox] = request
    return outbox


async def test_ticks_follow_the_columns_of_ones_own_snapshot(columns: Columns) -> None:
    feed = EndpointFeed("endpoint:digits")
    columns.keys = ["a"]
    first = await follow(feed)
    columns.keys = ["a", "bb"]
    second = await follow(feed)
    columns.keys = ["a"]
    await feed.beat()
    assert first.got == [("snapshot", ["a"]), ("tick", [1])]
    assert second.got == [("snapshot", ["a", "bb"]), ("snapshot", ["a"])]
    await feed.beat()
    assert second.got[-1] == ("tick", [1])


async def test_columns_that_change_come_with_a_snapshot_for_all(columns: Columns) -> None:
    feed = EndpointFeed("endpoint:digits")
    followers = [await follow(feed), await follow(feed)]
    columns.keys = ["ccc"]
    await feed.beat()
    await feed.beat()
    for outbox in followers:
        assert outbox.got == [("snapshot", []), ("snapshot", ["ccc"]), ("tick", [3])]
