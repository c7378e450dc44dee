"""A tick has no names: each follower gets only those whose columns its snapshot has."""

import json
from typing import Any
from unittest.mock import AsyncMock

import pytest

from controlplane.console import frames, reads
from controlplane.console.feeds import EndpointFeed, OverviewFeed
from controlplane.console.outbox import Outbox
from controlplane.core import fanout
from controlplane.metrics.models import Watch
from controlplane.nodes import wake_ups
from tests.support.placed_replicas import replica_place
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])


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

    def series(self, name: str, range_s: float, keys: list[str] | None = None) -> dict[str, Any]:
        return {"keys": list(self.keys), "t": [], "v": []}

    def tick(self, following: Any) -> tuple[list[str], float, list[float | None]]:
        return list(self.keys), 1.0, [len(key) for key in self.keys]


@pytest.fixture
def columns(monkeypatch: pytest.MonkeyPatch) -> Columns:
    return Columns(monkeypatch)


def test_who_begins_to_watch_wakes_the_agents_that_sample_and_who_goes_on_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = []
    layer = AsyncMock()
    node, other = (SimulatedNode(name).row() for name in ("n1", "n2"))
    replica_place(node)
    monkeypatch.setattr(fanout, "get_channel_layer", lambda: layer)
    for _ in range(2):
        reads.endpoint_watch("digits")
        sent.append([call.args[1] for call in layer.group_send.call_args_list])
    assert sent[0] == [
        {"type": "nodes.woken", "nodes": [node.pk]},
        {"type": wake_ups.GATEWAYS_WOKEN},
    ]
    assert sent[1] == sent[0], "known already"
    assert other.pk not in str(sent)
    Watch.objects.update(expires_at=0.0)
    layer.reset_mock()
    reads.endpoint_watch("digits")
    assert len(layer.group_send.call_args_list) == 2


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


class Frames(Outbox):
    """Keeps whole frames."""

    def __init__(self) -> None:
        self.got: list[dict[str, Any]] = []

    def put(self, frame: str) -> None:
        self.got.append(json.loads(frame))


async def watch(feed: OverviewFeed, *, changes: bool) -> Frames:
    outbox, request = Frames(), frames.Subscribe(feed.topic, 300.0, None, changes)
    await feed.greet(outbox, request)
    feed.followers[outbox] = request
    return outbox


async def test_of_the_overview_what_changed_travels_to_who_asked_for_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = {"counts": {"nodes": 1}, "nodes": [{"name": "n1", "used": 5}], "long": "x" * 200}
    monkeypatch.setattr(reads, "overview_state", lambda people: shown)
    feed = OverviewFeed("overview")
    first = await watch(feed, changes=True)
    shown = {**shown, "nodes": [{"name": "n1", "used": 6}]}
    await feed.beat()
    shown = {**shown, "counts": {"nodes": 2}}
    late, whole = await watch(feed, changes=True), await watch(feed, changes=False)
    await feed.beat()
    await feed.beat()
    assert [frame["type"] for frame in first.got] == ["state", "change", "change", "change"]
    assert [frame["seq"] for frame in first.got] == [1, 2, 3, 4]
    assert [frame["data"] for frame in first.got[1:]] == [
        {"nodes": {"0": {"used": [6]}}}, {"counts": {"nodes": [2]}}, {},
    ]  # fmt: skip
    assert late.got[0]["data"]["counts"] == {"nodes": 1}, "what the others were told last"
    assert late.got[1:] == first.got[2:]
    assert [frame["type"] for frame in whole.got] == ["state"] * 3
    assert whole.got[-1]["data"] == shown
    shown = {"counts": {}, "other": 1}
    await feed.beat()
    assert first.got[-1] == {"type": "state", "topic": "overview", "seq": 5, "data": shown}


async def test_who_comes_to_an_overview_that_nobody_watched_sees_it_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = {"counts": 1}
    monkeypatch.setattr(reads, "overview_state", lambda people: shown)
    feed = OverviewFeed("overview")
    feed.followers.pop(await watch(feed, changes=True))
    shown = {"counts": 2}
    assert (await watch(feed, changes=True)).got[0]["data"] == {"counts": 2}
