"""Wake-up streams as nodes have them: responses that stay open, from uvicorn, one for each node."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

import httpx
import pytest
import uvicorn
from channels.db import database_sync_to_async
from channels.layers import channel_layers, get_channel_layer
from django.conf import settings
from django.core.asgi import get_asgi_application
from django.utils import timezone

from controlplane.config.agent_pool import AgentRequestPool
from controlplane.config.guards import BodyLimit
from controlplane.core import fanout
from controlplane.core.breaker import Breaker
from controlplane.deployments.services import endpoint_create
from controlplane.deployments.services.keys import endpoint_key_regenerate
from controlplane.nodes import services, wake_ups
from controlplane.nodes.models import Node
from controlplane.nodes.types import credential_new, secret_hash
from tests.support.installation import Installation
from tests.support.simulated_node import SimulatedNode
from wire.wake_up import ALIVE, WAKE_UP

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])

SOON_S = 10.0


class Web:
    """The control plane's HTTP side as ``config.asgi`` puts it together, on a port of its own."""

    def __init__(self, server: uvicorn.Server) -> None:
        self.server = server
        self.port = server.servers[0].sockets[0].getsockname()[1]
        url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.AsyncClient(
            base_url=url, timeout=SOON_S, trust_env=False, limits=httpx.Limits()
        )

    @asynccontextmanager
    async def stream(self, credential: str, of: str = "") -> AsyncIterator["Stream"]:
        headers = {"Authorization": f"Bearer {credential}"}
        async with self.client.stream("GET", f"/agent/v1/{of}wake-ups", headers=headers) as answer:
            stream = Stream(answer)
            try:
                yield stream
            finally:
                stream.reading.cancel()
                await asyncio.gather(stream.reading, return_exceptions=True)

    async def raw(self, credential: str, version: str = "1.1") -> asyncio.StreamWriter:
        """A caller that asks and never reads more than the head."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"GET /agent/v1/wake-ups HTTP/{version}\r\nHost: 127.0.0.1\r\n"
            f"Authorization: Bearer {credential}\r\n\r\n".encode()
        )
        assert b" 200 " in await asyncio.wait_for(reader.readline(), SOON_S)
        return writer


class Stream:
    """Read all the time, so that a wait that ends early ends no stream."""

    def __init__(self, answer: httpx.Response) -> None:
        self.answer = answer
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for line in self.answer.aiter_lines():
            self._lines.put_nowait(line)
        self._lines.put_nowait(None)

    async def hear(self, within_s: float = SOON_S) -> str | None:
        """The next line; None at the end."""
        async with asyncio.timeout(within_s):
            return await self._lines.get()

    async def heard(self, word: bytes, within_s: float = SOON_S) -> None:
        """Until this word comes; others are passed over."""
        async with asyncio.timeout(within_s):
            while (line := await self._lines.get()) != word.decode().strip():
                assert line is not None, "it ended"

    async def over(self, within_s: float = SOON_S) -> None:
        async with asyncio.timeout(within_s):
            while await self._lines.get() is not None:
                pass


@asynccontextmanager
async def serving() -> AsyncIterator[Web]:
    pool = AgentRequestPool(get_asgi_application())  # type: ignore[arg-type]
    application: Any = BodyLimit(pool, max_bytes=settings.SHOAL_MAX_BODY_BYTES)
    server = uvicorn.Server(
        uvicorn.Config(
            application, host="127.0.0.1", port=0, log_level="warning", lifespan="off",
            timeout_graceful_shutdown=1,
        )
    )  # fmt: skip
    running = asyncio.create_task(server.serve())
    while not server.started:
        assert not running.done()
        await asyncio.sleep(0.01)
    web = Web(server)
    try:
        async with web.client:
            yield web
    finally:
        server.should_exit = True
        await running
        pool.close()


joined = database_sync_to_async(SimulatedNode)
raised = database_sync_to_async(services.node_generation_raise)


def listeners() -> dict[str, wake_ups.Listener]:
    return wake_ups._of_this_loop()._listeners


async def until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SOON_S
    while not condition():
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.01)


@pytest.fixture
def lively(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of life, and looks at who may listen, every fifth of a second."""
    monkeypatch.setattr(wake_ups, "LIFE_S", 0.2)
    monkeypatch.setattr(wake_ups, "CHECK_S", 0.2)


@pytest.fixture(params=["memory", "redis"])
async def fan_out(request: pytest.FixtureRequest, settings: Any) -> AsyncIterator[None]:
    """Channels' layer in memory, and on a real Redis."""
    if request.param == "redis":
        prepared: Installation = request.getfixturevalue("prepared")
        url = prepared.environment["SHOAL_REDIS_URL"]
        settings.CHANNEL_LAYERS = {
            "default": {
                "BACKEND": "channels_redis.core.RedisChannelLayer",
                "CONFIG": {"hosts": [{"address": url, "socket_timeout": None}]},
            }
        }
    channel_layers.backends.clear()
    yield
    channel_layers.backends.clear()


async def woken(stream: Stream, wake: Callable[[], Awaitable[Any]]) -> None:
    """Wake until it is heard: who has only just come may not be listened for yet."""
    for _ in range(30):
        await wake()
        with suppress(TimeoutError):
            await stream.heard(WAKE_UP, within_s=1.0)
            return
    raise AssertionError("it is not heard")


async def test_a_ring_is_heard_within_a_second_and_by_its_node_alone(
    transactional_db: None, fan_out: None, lively: None
) -> None:
    first, second = await joined("first"), await joined("second")
    async with serving() as web:
        async with (
            web.stream(first.identity.credential) as mine,
            web.stream(second.identity.credential) as other,
        ):
            assert mine.answer.headers["content-type"] == "text/plain; charset=utf-8"
            assert mine.answer.headers["cache-control"] == "no-store"
            await woken(mine, lambda: raised([first.identity.node_id]))
            await raised([first.identity.node_id])
            await mine.heard(WAKE_UP, within_s=1.0)
            assert await other.hear() == ALIVE.decode().strip()
            while (line := await other.hear()) == ALIVE.decode().strip():
                await raised([first.identity.node_id, second.identity.node_id])
            assert line == WAKE_UP.decode().strip()


async def test_gateways_hear_what_changes_for_them_and_nodes_nothing_of_it(
    transactional_db: None, lively: None
) -> None:
    node = await joined()
    created = database_sync_to_async(endpoint_create)
    endpoint = await created(name="digits", actor="ada", now=timezone.now())
    key_changed = partial(
        database_sync_to_async(endpoint_key_regenerate), name="digits", slot="primary", actor="ada"
    )
    async with serving() as web:
        token = settings.SHOAL_GATEWAY_TOKEN
        async with (
            web.stream(token, "gateway/") as east,
            web.stream(token, "gateway/") as west,
            web.stream(node.identity.credential) as other,
        ):
            assert east.answer.status_code == 200
            await woken(east, key_changed)
            await west.heard(WAKE_UP)
            await raised([node.identity.node_id])
            await other.heard(WAKE_UP)
            await key_changed()
            await east.heard(WAKE_UP, within_s=1.0)
            await west.heard(WAKE_UP, within_s=1.0)
            assert await other.hear() == ALIVE.decode().strip()
        before = endpoint.generation
        await endpoint.arefresh_from_db()
        assert endpoint.generation > before
        await until(lambda: listeners() == {}, "they are kept")
        async with web.stream("nonsense", "gateway/") as refused:
            assert refused.answer.status_code == 401


async def test_rings_are_heard_again_after_redis_was_restarted_or_forgot_us(
    transactional_db: None,
    fan_out: None,
    lively: None,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.setattr(fanout, "RETRY_S", 0.05)
    monkeypatch.setattr(fanout, "LISTEN_AGAIN_S", 0.2)
    monkeypatch.setattr(fanout, "redis", Breaker(rest_s=0.0))
    node = await joined()
    wake = partial(raised, [node.identity.node_id])
    async with serving() as web, web.stream(node.identity.credential) as stream:
        await woken(stream, wake)
        if request.node.callspec.params["fan_out"] == "redis":
            prepared: Installation = request.getfixturevalue("prepared")
            prepared.kill("redis")
            await wake()  # nobody hears it, and nobody fails
            await stream.heard(ALIVE)
            prepared.start_redis()  # not in a thread: Redis would end with it
        else:
            await get_channel_layer().flush()
        await woken(stream, wake)


async def test_rings_at_once_are_one_line(transactional_db: None) -> None:
    node = await joined()
    async with serving() as web, web.stream(node.identity.credential) as stream:
        await until(lambda: node.identity.node_id in listeners(), "nobody listens")
        for _ in range(10_000):
            listeners()[node.identity.node_id].wake()
        assert await stream.hear() == "ring"
        with pytest.raises(TimeoutError):
            await stream.hear(within_s=0.3)


@pytest.mark.parametrize("how", ["removed", "joined again"])
async def test_who_may_not_hear_any_more_is_cut_off(
    transactional_db: None, lively: None, how: str
) -> None:
    node, other = await joined("n1"), await joined("n2")
    async with serving() as web:
        async with (
            web.stream(node.identity.credential) as stream,
            web.stream(other.identity.credential) as stays,
        ):
            await stream.heard(ALIVE)
            if how == "removed":
                await Node.objects.filter(name="n1").adelete()
            else:
                await joined("n1")
            await stream.over(within_s=2.0)
            assert await stays.hear() == "alive"
        async with web.stream(node.identity.credential) as refused:
            assert refused.answer.status_code == 401
        await until(lambda: listeners() == {}, "they are kept")


async def test_a_newer_answer_ends_the_older(transactional_db: None, lively: None) -> None:
    node = await joined()
    async with serving() as web, AsyncExitStack() as stack:
        older: Stream | None = None
        for _ in range(20):
            newer = await stack.enter_async_context(web.stream(node.identity.credential))
            await newer.heard(ALIVE)
            if older is not None:
                await older.over(within_s=1.0)
            older = newer
            assert len(listeners()) == 1


@pytest.mark.parametrize(
    ("method", "credential", "status"),
    [
        ("GET", "", 401),
        ("GET", "Bearer nonsense", 401),
        ("GET", "Bearer snode_nobody_secret", 401),
        ("GET", "wrong", 401),
        ("POST", "right", 405),
        ("HEAD", "right", 405),
        ("OPTIONS", "right", 405),
    ],
)
async def test_who_may_not_hear_it_is_told_so_as_at_every_resource(
    transactional_db: None, method: str, credential: str, status: int
) -> None:
    node = await joined()
    whole = f"Bearer {node.identity.credential}"
    headers = {"Authorization": {"right": whole, "wrong": whole + "x"}.get(credential, credential)}
    async with serving() as web:
        answer = await web.client.request(method, "/agent/v1/wake-ups", headers=headers)
        assert answer.status_code == status
        if method == "GET":
            other = await web.client.get("/agent/v1/desired", headers=headers)
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.headers["www-authenticate"] == other.headers["www-authenticate"]
            assert answer.json().keys() == other.json().keys()
            assert answer.json()["code"] == "NodeUnknown"
        assert listeners() == {}


async def test_a_body_without_end_is_refused(transactional_db: None) -> None:
    node = await joined()
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1024):
            sent += 2**20
            yield bytes(2**20)

    headers = {"Authorization": f"Bearer {node.identity.credential}"}
    async with serving() as web:
        with suppress(httpx.WriteError, httpx.ReadError):
            answer = await web.client.request(
                "GET", "/agent/v1/wake-ups", headers=headers, content=endless()
            )
            assert answer.status_code == 413
        assert sent < 8 * settings.SHOAL_MAX_BODY_BYTES
        assert listeners() == {}


async def test_who_hangs_up_is_forgotten(transactional_db: None) -> None:
    node = await joined()
    async with serving() as web:
        for version in ("1.1", "1.0"):
            caller = await web.raw(node.identity.credential, version)
            await until(lambda: len(listeners()) == 1, "not heard")
            caller.close()
            await until(lambda: listeners() == {}, "it is kept")


async def test_who_never_reads_takes_no_memory_and_holds_up_nobody(
    transactional_db: None, lively: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand rings to one who does not read, and its node can listen anew meanwhile."""
    node = await joined()
    async with serving() as web:
        caller = await web.raw(node.identity.credential)
        await until(lambda: len(listeners()) == 1, "not heard")
        (stuck,) = listeners().values()
        for _ in range(10_000):
            stuck.wake()
            await asyncio.sleep(0)
        async with web.stream(node.identity.credential) as stream:
            await stream.heard(ALIVE)
            assert list(listeners().values()) != [stuck]
        caller.close()


@database_sync_to_async
def many(count: int) -> list[str]:
    """The credentials of so many nodes."""
    credentials = [credential_new(f"{number:016x}") for number in range(count)]
    Node.objects.bulk_create(
        Node(id=f"{number:016x}", name=f"n{number}", credential_hash=secret_hash(credential))
        for number, credential in enumerate(credentials)
    )
    return credentials


async def test_three_hundred_listen_and_the_web_answers_as_ever(transactional_db: None) -> None:
    credentials = await many(300)
    async with serving() as web, AsyncExitStack() as stack:
        opened = [await stack.enter_async_context(web.stream(each)) for each in credentials]
        await until(lambda: len(listeners()) == 300, "some do not listen")
        took = []
        for each in credentials[:20]:
            headers = {"Authorization": f"Bearer {each}"}
            for path in ("/agent/v1/desired", "/livez"):
                began = time.monotonic()
                assert (await web.client.get(path, headers=headers)).status_code == 200
                took.append(time.monotonic() - began)
        assert sorted(took)[len(took) // 2] < 0.5
        everybody = list(listeners())
        await woken(opened[0], lambda: raised(everybody))
        await asyncio.gather(*(stream.heard(WAKE_UP) for stream in opened[1:]))


async def test_a_web_that_stops_ends_them_properly(
    transactional_db: None, caplog: pytest.LogCaptureFixture
) -> None:
    node = await joined()
    async with serving() as web, web.stream(node.identity.credential) as stream:
        await until(lambda: len(listeners()) == 1, "not heard")
        web.server.should_exit = True
        await stream.over()
        assert listeners() == {}
    assert not [record for record in caplog.records if record.exc_info]
