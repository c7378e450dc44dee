"""The kept threads that answer what every node asks all the time."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.backends.signals import connection_created
from django.urls import resolve

from controlplane.config import agent_pool as module
from controlplane.config.agent_pool import PATHS, THREADS, AgentRequestPool
from controlplane.config.guards import Message, Receive, Send
from controlplane.core.borrowed import pooled
from controlplane.nodes import wake_ups
from tests.support.simulated_node import SimulatedNode
from wire import codec
from wire.messages import NodeReport, ReportReply

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "metrics"])


class Elsewhere:
    """What the pool stands before; keeps the paths that came to it."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.paths.append(scope["path"])
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})


@pytest.fixture
def pool() -> Iterator[AgentRequestPool]:
    pool = AgentRequestPool(Elsewhere())
    yield pool
    pool.close()


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """The aliases of database connections, one for each that was made."""
    found: list[str] = []
    lent: list[Any] = []

    def made(connection: Any, **_: object) -> None:
        if connection.connection not in lent:  # a pool of PostgreSQL lends the same ones again
            lent.append(connection.connection)
            found.append(connection.alias)

    connection_created.connect(made)
    yield found
    connection_created.disconnect(made)


def call(
    pool: AgentRequestPool, method: str, path: str, *, credential: str = "", body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """The status, headers and body of one answer; status 0 where nothing was sent."""
    return asyncio.run(called(pool, method, path, credential, [body]))


async def called(
    pool: AgentRequestPool, method: str, path: str, credential: str, body: list[bytes | None]
) -> tuple[int, dict[str, str], bytes]:
    """``body`` in pieces; a piece that is None is a caller who went away."""
    sent: list[Message] = []
    pieces = iter(body)

    async def receive() -> Message:
        piece = next(pieces)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": piece is not body[-1]}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {credential}".encode())]
    scope = {
        "type": "http", "method": method, "path": path, "root_path": "", "query_string": b"",
        "headers": headers, "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    await asyncio.wait_for(pool(scope, receive, send), 20)
    if not sent:
        return 0, {}, b""
    start, content = sent
    told = {key.decode(): value.decode() for key, value in start["headers"]}
    return start["status"], told, content["body"]


def report(node: SimulatedNode) -> bytes:
    return codec.encode(NodeReport(node.info, 0))


def test_a_report_is_answered_as_by_django_itself(pool: AgentRequestPool) -> None:
    node = SimulatedNode("a")
    credential = node.identity.credential
    before = node.row().last_seen_at
    status, headers, body = call(
        pool, "POST", "/agent/v1/report", credential=credential, body=report(node)
    )
    assert status == 200
    assert codec.decode(ReportReply, body) == node.report()
    plain = node.post("report", NodeReport(node.info, 0))
    assert set(headers) == {name.lower() for name, _ in plain.items()}
    after = node.row().last_seen_at
    assert before is not None
    assert after is not None
    assert after > before


def test_a_strangers_call_is_refused_with_a_problem(pool: AgentRequestPool) -> None:
    status, headers, body = call(pool, "GET", "/agent/v1/desired", credential="snode_x_y")
    assert status == 401
    assert headers["www-authenticate"].startswith("Bearer")
    assert headers["content-type"] == "application/problem+json"
    assert json.loads(body)["status"] == 401


def test_connections_are_kept_between_calls(pool: AgentRequestPool, opened: list[str]) -> None:
    node = SimulatedNode("a")
    opened.clear()
    for _ in range(5 * THREADS):
        status, _, _ = call(
            pool, "POST", "/agent/v1/report", credential=node.identity.credential, body=report(node)
        )
        assert status == 200
    # By each thread, or in a pool of PostgreSQL, which makes more ahead of who waits for long.
    kept = (
        connection.settings_dict["OPTIONS"]["pool"]["max_size"] if pooled(connection) else THREADS
    )
    assert 0 < len(opened) <= 2 * kept  # both databases


def test_a_connection_that_failed_is_not_used_again(
    pool: AgentRequestPool, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    node = SimulatedNode("a")

    def broken(_: object) -> object:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM no_such_table")
        raise AssertionError("it must fail")

    with monkeypatch.context() as patched:
        patched.setattr("controlplane.deployments.agent_api.desired_state", broken)
        credential = node.identity.credential
        for _ in range(THREADS):
            status, _, _ = call(pool, "GET", "/agent/v1/desired", credential=credential)
            assert status >= 500
    opened.clear()
    status, _, _ = call(pool, "GET", "/agent/v1/desired", credential=credential)
    assert status == 200
    # a pool of PostgreSQL tries each connection before it lends it again
    assert "default" in opened or pooled(connection)


def test_a_caller_who_leaves_within_the_body_is_forgotten(pool: AgentRequestPool) -> None:
    answer = asyncio.run(called(pool, "POST", "/agent/v1/report", "x", [b"{", None]))
    assert answer == (0, {}, b"")


@pytest.mark.parametrize("path", ["/agent/v1/blobs/00", "/agent/v1/register", "/api/v1/nodes", "/"])
def test_all_else_goes_to_django(path: str) -> None:
    elsewhere = Elsewhere()
    pool = AgentRequestPool(elsewhere)
    assert path not in PATHS
    status, _, _ = call(pool, "GET", path)
    pool.close()
    assert status == 204
    assert elsewhere.paths == [path]


@pytest.mark.parametrize("of", ["", "gateway/"])
def test_agents_of_before_find_their_wake_ups(of: str) -> None:
    now, before = f"/agent/v1/{of}wake-ups", f"/agent/v1/{of}bell"
    assert resolve(before).func is resolve(now).func
    assert {now, before} <= PATHS


def test_who_takes_nothing_of_what_is_streamed_is_left(
    pool: AgentRequestPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their line ends, and nothing is kept of it; the thread was free long before."""
    monkeypatch.setattr(module, "STALL_S", 0.05)
    monkeypatch.setattr(wake_ups, "LIFE_S", 0.01)
    node = SimulatedNode()
    headers = [
        (b"host", b"127.0.0.1"),
        (b"authorization", f"Bearer {node.identity.credential}".encode()),
    ]
    scope = {
        "type": "http", "method": "GET", "path": "/agent/v1/wake-ups", "root_path": "",
        "query_string": b"", "headers": headers, "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
    }  # fmt: skip
    sent: list[Message] = []

    async def stuck() -> list[wake_ups.Listener]:
        asked = False

        async def receive() -> Message:
            nonlocal asked
            if asked:
                await asyncio.Event().wait()
            asked = True
            return {"type": "http.request", "body": b""}

        async def send(message: Message) -> None:
            sent.append(message)
            if message["type"] == "http.response.body":
                await asyncio.Event().wait()

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10) as limit:
                await pool(scope, receive, send)
        assert not limit.expired()
        return list(wake_ups._of_this_loop()._listeners.values())

    assert asyncio.run(stuck()) == []
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
