"""The live socket: snapshots, ticks, states and events from the database, with or without Redis."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
import websockets
from channels.db import database_sync_to_async
from channels.layers import channel_layers
from conftest_console import deployment_row, endpoint_row, user
from django.conf import settings as django_settings
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from socket_harness import Browser

from controlplane.accounts.models import User
from controlplane.core import events
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.metrics.models import Watch
from controlplane.metrics.services import gateway_samples_ingest
from controlplane.operations.models import Operation
from wire.samples import GatewaySample, GatewaySampleBatch

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])

TOPIC = "endpoint:digits"


@database_sync_to_async
def rows() -> None:
    deployment_row(endpoint_row())


@database_sync_to_async
def record(number: int) -> Event:
    return events.record(
        actor="ada", verb="test.happened", subject="endpoint/digits", message=f"number {number}"
    )


@database_sync_to_async
def traffic(requests: int) -> None:
    sample = GatewaySample(
        endpoint="digits",
        deployment="blue",
        at=time.time(),
        interval_s=0.5,
        requests=requests,
        status_classes={"2xx": requests},
        histogram={"40": requests},
    )
    gateway_samples_ingest(GatewaySampleBatch((sample,)))


async def live() -> Browser:
    return await Browser.open("/ws/v1", await database_sync_to_async(user)())


async def test_an_endpoint_sends_its_state_a_snapshot_and_then_ticks(
    transactional_db: None,
) -> None:
    await rows()
    await traffic(10)
    browser = await live()
    await browser.say({"op": "sub", "topic": TOPIC, "range": 60})
    state = await browser.hear()
    assert state["type"] == "state"
    assert state["data"]["name"] == "digits"
    assert state["data"]["deployments"][0]["name"] == "blue"
    snapshot = await browser.hear()
    assert snapshot["type"] == "snapshot"
    assert "request_rate.blue" in snapshot["keys"]
    assert len(snapshot["v"]) == len(snapshot["keys"])
    assert all(len(series) == len(snapshot["t"]) for series in snapshot["v"])
    first, second = await browser.hear_type("tick"), await browser.hear_type("tick")
    assert len(first["v"]) == len(snapshot["keys"])
    assert first["t"] < second["t"]
    assert await Watch.objects.filter(endpoint="digits").aexists()
    await browser.leave()


async def test_a_change_of_the_endpoint_is_told(transactional_db: None) -> None:
    await rows()
    browser = await live()
    await browser.say({"op": "sub", "topic": TOPIC})
    await browser.hear_type("snapshot")
    await Endpoint.objects.filter(name="digits").aupdate(description="changed")
    while (state := await browser.hear_type("state"))["data"]["description"] != "changed":
        pass
    assert state["topic"] == TOPIC
    await browser.leave()


async def test_an_endpoint_that_goes_away_says_so(transactional_db: None) -> None:
    await rows()
    browser = await live()
    await browser.say({"op": "sub", "topic": TOPIC})
    await browser.hear_type("snapshot")
    await database_sync_to_async(
        lambda: (
            Endpoint.objects.get(name="digits").deployments.all().delete(),
            Endpoint.objects.all().delete(),
        )
    )()
    error = await browser.hear_type("error")
    assert error["topic"] == TOPIC
    assert (await browser.ask({"op": "sub", "topic": TOPIC}))["type"] == "error"
    await browser.leave()


async def test_an_operation_is_followed_to_its_end(transactional_db: None) -> None:
    from django.utils import timezone

    await Operation.objects.acreate(
        id="op1", kind="deploy", endpoint="digits", deadline_at=timezone.now(), created_by="ada"
    )
    browser = await live()
    first = await browser.ask({"op": "sub", "topic": "operation:op1"})
    assert (first["type"], first["data"]["state"]) == ("state", "Queued")
    await Operation.objects.filter(pk="op1").aupdate(state="Succeeded", finished_at=timezone.now())
    while (await browser.hear_type("state"))["data"]["state"] != "Succeeded":
        pass
    await browser.leave()


async def test_events_come_once_and_from_where_one_left_off(transactional_db: None) -> None:
    seen = await record(1)
    missed = await record(2)
    browser = await live()
    await browser.say({"op": "sub", "topic": "events", "after_seq": seen.seq})
    assert (await browser.hear())["data"]["seq"] == missed.seq
    assert (await browser.hear())["type"] == "position"
    for number in (3, 4):
        await record(number)
    told = [(await browser.hear())["data"]["message"] for _ in range(2)]
    assert told == ["number 3", "number 4"]
    await browser.leave()


@pytest.mark.parametrize("another", [True, False])
async def test_a_connection_that_was_lost_goes_on_with_exactly_what_it_missed(
    transactional_db: None, another: bool
) -> None:
    """Whether or not somebody else kept the feed alive meanwhile."""
    person = await database_sync_to_async(user)()
    browser = await Browser.open("/ws/v1", person)
    position = await browser.ask({"op": "sub", "topic": "events"})
    assert position == {"type": "position", "topic": "events", "seq": 0, "complete": True}
    first = await record(1)
    last = (await browser.hear())["data"]["seq"]
    assert last == first.seq
    other = await Browser.open("/ws/v1", person) if another else None
    if other is not None:
        await other.ask({"op": "sub", "topic": "events"})
    await browser.leave()
    missed = [(await record(number)).seq for number in (2, 3, 4)]
    if other is not None:  # these have been told
        assert [(await other.hear())["data"]["seq"] for _ in missed] == missed
    browser = await Browser.open("/ws/v1", person)
    await browser.say({"op": "sub", "topic": "events", "after_seq": last})
    missed.append((await record(5)).seq)
    frames = [await browser.hear() for _ in range(5)]
    assert [frame["data"]["seq"] for frame in frames if frame["type"] == "event"] == missed
    (position,) = [frame for frame in frames if frame["type"] == "position"]
    assert position["complete"] is True
    await browser.leave()
    if other is not None:
        await other.leave()


@pytest.mark.parametrize("after", ["too long ago", "another database"])
async def test_a_gap_that_cannot_be_filled_is_told(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """Then the newest follow, and the client reads all else anew over REST."""
    from controlplane.console import reads

    monkeypatch.setattr(reads, "EVENTS_LIMIT", 3)
    monkeypatch.setattr(reads, "EVENTS_OVERLAP", 2)
    seqs = [(await record(number)).seq for number in range(5)]
    browser = await live()
    last = seqs[0] if after == "too long ago" else seqs[-1] + 1000
    await browser.say({"op": "sub", "topic": "events", "after_seq": last})
    assert [(await browser.hear())["data"]["seq"] for _ in range(3)] == seqs[-3:]
    position = {"type": "position", "topic": "events", "seq": seqs[-1], "complete": False}
    assert await browser.hear() == position
    await browser.leave()


async def test_many_events_at_once_all_arrive(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one look takes."""
    from controlplane.console import reads

    monkeypatch.setattr(reads, "EVENTS_LIMIT", 7)
    monkeypatch.setattr(reads, "EVENTS_OVERLAP", 2)
    browser = await live()
    await browser.ask({"op": "sub", "topic": "events"})
    seqs = [(await record(number)).seq for number in range(20)]
    assert [(await browser.hear())["data"]["seq"] for _ in seqs] == seqs
    await browser.leave()


async def test_coming_back_to_an_endpoint_brings_it_as_it_is_now(transactional_db: None) -> None:
    await rows()
    person = await database_sync_to_async(user)()
    for description in ("", "changed meanwhile"):
        browser = await Browser.open("/ws/v1", person)
        state = await browser.ask({"op": "sub", "topic": TOPIC})
        assert (state["type"], state["data"]["description"]) == ("state", description)
        assert (await browser.hear())["type"] == "snapshot"
        await browser.leave()
        await Endpoint.objects.filter(name="digits").aupdate(description="changed meanwhile")


async def test_an_event_that_commits_late_is_not_lost(transactional_db: None) -> None:
    """Its number is lower than the newest that was told."""
    browser = await live()
    first = await record(1)
    await Event.objects.filter(pk=first.seq).aupdate(seq=first.seq + 10)
    await browser.say({"op": "sub", "topic": "events", "after_seq": 0})
    assert (await browser.hear())["data"]["message"] == "number 1"
    assert (await browser.hear())["type"] == "position"
    await Event.objects.acreate(
        seq=first.seq + 5, actor="ada", verb="late", subject="x", message="late"
    )
    assert (await browser.hear())["data"]["message"] == "late"
    await browser.leave()


async def test_the_overview_is_sent(transactional_db: None) -> None:
    await rows()
    browser = await live()
    state = await browser.ask({"op": "sub", "topic": "overview"})
    assert state["data"]["counts"]["endpoints"] == 1
    await browser.leave()


async def about_people() -> None:
    await database_sync_to_async(
        lambda: events.record(actor="x", verb="session.opened", subject="user/x", message="x in")
    )()


async def test_only_who_may_read_people_hears_of_them(transactional_db: None) -> None:
    await about_people()
    admin = await database_sync_to_async(user)(User.Role.ADMIN)
    browsers = [await live(), await Browser.open("/ws/v1", admin)]
    for browser in browsers:
        await browser.say({"op": "sub", "topic": "events", "after_seq": 0})
    positions = [(await browser.hear_type("position"))["seq"] for browser in browsers]
    assert positions[0] == 0 < positions[1]
    await about_people()
    await record(1)
    told = [await browser.hear_type("event") for browser in browsers]
    assert told[0]["data"]["message"] == "number 1"
    assert told[1]["data"]["subject"] == "user/x"
    for browser in browsers:
        await browser.say({"op": "sub", "topic": "overview"})
    shown = [(await browser.hear_type("state"))["data"] for browser in browsers]
    assert ["user/x" in str(state["recent_events"]) for state in shown] == [False, True]
    for browser in browsers:
        await browser.leave()


@pytest.mark.parametrize(
    ("request_text", "code"),
    [
        ("nonsense", "BadRequest"),
        ('{"op":"sub","topic":"nodes"}', "UnknownTopic"),
        ('{"op":"sub","topic":"endpoint:nope"}', "ResourceNotFound"),
        ('{"op":"sub","topic":"events","after_seq":-1}', "BadRequest"),
        ('{"op":"rate","hz":"fast"}', "BadRequest"),
        ("x" * 5000, "TooLarge"),
    ],
)
async def test_bad_requests_get_an_error_and_the_socket_lives_on(
    transactional_db: None, request_text: str, code: str
) -> None:
    browser = await live()
    error = await browser.ask(request_text)
    assert error["type"] == "error"
    assert error["code"] in (code, "EndpointNotFound")
    await record(1)
    await browser.say({"op": "sub", "topic": "events", "after_seq": 0})
    assert (await browser.hear())["type"] == "event"
    await browser.leave()


async def test_without_a_session_the_socket_closes_with_4401(transactional_db: None) -> None:
    browser = await Browser.open("/ws/v1", AnonymousUser())
    assert await browser.closed_with() == 4401
    await browser.leave()


async def test_two_sockets_share_one_feed_and_the_last_one_stops_it(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from controlplane.console import reads
    from controlplane.console.hub import hub

    calls: list[float] = []
    tick = reads.endpoint_tick

    def counted(name: str) -> Any:
        calls.append(time.monotonic())
        return tick(name)

    monkeypatch.setattr(reads, "endpoint_tick", counted)
    await rows()
    person = await database_sync_to_async(user)()
    browsers = [await Browser.open("/ws/v1", person) for _ in range(2)]
    for browser in browsers:
        await browser.say({"op": "sub", "topic": TOPIC})
    ticks = [[(await b.hear_type("tick"))["t"] for _ in range(3)] for b in browsers]
    assert set(ticks[0]) & set(ticks[1]), "the same ticks reach both"
    for browser in browsers:
        await browser.leave()
    assert hub()._feeds == {}
    # Two sockets at 2 Hz of their own would have looked twice as often.
    duration = calls[-1] - calls[0]
    assert len(calls) <= duration / 0.5 + 2


@pytest.fixture
def broken_redis(settings: Any) -> Iterator[None]:
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            "CONFIG": {"hosts": ["redis://127.0.0.1:1/0"]},
        }
    }
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()


async def test_with_redis_down_everything_still_arrives(
    transactional_db: None, broken_redis: None
) -> None:
    await rows()
    browser = await live()
    await browser.say({"op": "sub", "topic": "events"})
    await browser.say({"op": "sub", "topic": TOPIC})
    await browser.hear_type("tick")
    await record(1)
    assert (await browser.hear_type("event"))["data"]["message"] == "number 1"
    await browser.leave()


@asynccontextmanager
async def serving() -> AsyncIterator[str]:
    """The whole ASGI application in uvicorn, on a free port."""
    from controlplane.config.asgi import application

    server = uvicorn.Server(
        uvicorn.Config(application, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    )
    running = asyncio.create_task(server.serve())
    while not server.started:
        assert not running.done()
        await asyncio.sleep(0.01)
    yield f"127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await running


async def test_a_real_browser_connection_needs_session_and_origin(transactional_db: None) -> None:
    await rows()
    await record(1)

    @database_sync_to_async
    def sign_in() -> str:
        client = Client()
        client.force_login(user())
        return client.cookies[django_settings.SESSION_COOKIE_NAME].value

    cookie = f"{django_settings.SESSION_COOKIE_NAME}={await sign_in()}"
    async with serving() as host:
        url, origin = f"ws://{host}/ws/v1", f"http://{host}"
        async with websockets.connect(
            url, origin=origin, additional_headers={"Cookie": cookie}
        ) as socket:
            await socket.send(json.dumps({"op": "sub", "topic": "events", "after_seq": 0}))
            frame = json.loads(await asyncio.wait_for(socket.recv(), 10))
            assert frame["type"] == "event"
        async with websockets.connect(url, origin=origin) as socket:
            with pytest.raises(websockets.ConnectionClosed) as closed:
                await asyncio.wait_for(socket.recv(), 10)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
        with pytest.raises(websockets.InvalidStatus):
            await websockets.connect(
                url, origin="http://evil.example", additional_headers={"Cookie": cookie}
            )
