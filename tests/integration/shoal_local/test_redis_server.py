"""The embedded Redis: a socket of one user, whose rights are what Celery and Channels need."""

import asyncio
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import redis
from celery import Celery
from channels_redis.core import RedisChannelLayer
from kombu import Exchange, Queue

from controlplane.config import broker
from shoal.local import ports, redis_server
from tests.support.redis_process import answers, redis_process

REFUSED = [
    ["FLUSHALL"],
    ["FLUSHDB"],
    ["KEYS", "*"],
    ["CONFIG", "GET", "*"],
    ["CONFIG", "SET", "dir", "/tmp"],
    ["CONFIG", "REWRITE"],
    ["DEBUG", "SLEEP", "0"],
    ["SHUTDOWN", "NOSAVE"],
    ["SAVE"],
    ["BGREWRITEAOF"],
    ["REPLICAOF", "127.0.0.1", "1"],
    ["SLAVEOF", "NO", "ONE"],
    ["PSYNC", "?", "-1"],
    ["FAILOVER", "ABORT"],
    ["MIGRATE", "127.0.0.1", "1", "key", "0", "10"],
    ["RESTORE", "key", "0", "x"],
    ["MODULE", "LOAD", "/tmp/x.so"],
    ["MONITOR"],
    ["ACL", "SETUSER", "shoal", "allcommands"],
    ["ACL", "LIST"],
    ["CLIENT", "KILL", "TYPE", "normal"],
    ["CLIENT", "PAUSE", "1"],
    ["CLIENT", "LIST"],
    ["SCRIPT", "FLUSH"],
    ["SWAPDB", "0", "1"],
    ["SORT", "key"],
    ["CLUSTER", "RESET"],
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Redis on a socket only."""
    home = tmp_path_factory.mktemp("of somebody")
    (home / "redis").mkdir()
    place = redis_server.socket_path(home)
    assert place is not None
    with redis_process(home, place, 0) as found:
        yield found.url


@pytest.mark.parametrize("command", REFUSED, ids=" ".join)
def test_what_hurts_is_refused(server: str, command: list[str]) -> None:
    with redis.Redis.from_url(server) as client:
        with pytest.raises(redis.exceptions.NoPermissionError):
            client.execute_command(*command)
        # a script has no more rights than who runs it
        with pytest.raises(redis.ResponseError, match=r"(?i)can't run this command|not allow|perm"):
            client.eval("return redis.call(unpack(ARGV))", 0, *command)
        assert client.ping()


def test_nobody_else_may_anything(server: str) -> None:
    place = unquote(server.partition("@")[2].partition("?")[0])
    with redis.Redis(unix_socket_path=place) as client:
        with pytest.raises(redis.exceptions.AuthenticationError):
            client.ping()
    for name in ("default", "shoal"):
        with redis.Redis(unix_socket_path=place, username=name, password="wrong") as client:
            with pytest.raises(redis.exceptions.AuthenticationError):
                client.ping()
    assert stat.S_IMODE(Path(place).stat().st_mode) == 0o600


def test_there_is_no_port(server: str) -> None:
    with redis.Redis.from_url(server) as client:
        assert client.info("server")["tcp_port"] == 0


def test_celery_keeps_up_the_bindings_of_queues_that_expire(server: str) -> None:
    """As its workers do each second, with a traceback in their log where they may not."""
    app = Celery("test", broker=broker.for_celery(server), set_as_current=False)
    name = uuid.uuid4().hex
    with app.connection_for_read() as connection, connection.channel() as channel:
        queue: Any = Queue(name, Exchange(name, "direct"), name, expires=60)
        with connection.Consumer(queue(channel), channel=channel):
            channel.maybe_refresh_binding_expiry()
            assert channel.sweep_bindings() == 0
        with redis.Redis.from_url(server) as client:
            assert client.scard(f"_kombu.binding.{name}") == 1
    app.close()


def test_celery_works_through_the_socket(server: str) -> None:
    queue = uuid.uuid4().hex
    app = Celery("test", broker=broker.for_celery(server), set_as_current=False)
    app.conf.task_queues = [Queue(queue)]
    app.send_task("deployments.reconcile", kwargs={"generation": 7}, queue=queue)
    with app.connection_for_read() as connection, connection.SimpleQueue(queue) as waiting:
        message = waiting.get(timeout=30)
        assert message.headers["task"] == "deployments.reconcile"
        assert message.payload[1] == {"generation": 7}
        message.ack()
    with redis.Redis.from_url(server) as client:
        assert client.llen(queue) == 0
    app.close()


def test_channels_work_through_the_socket(server: str) -> None:
    async def exchange() -> list[dict[str, Any]]:
        layer = RedisChannelLayer(hosts=[{"address": server}], capacity=3)
        channel = await layer.new_channel()
        await layer.group_add("events", channel)
        for number in range(5):  # more than it holds: its script leaves out the rest
            await layer.group_send("events", {"type": "hint", "number": number})
        found = [await layer.receive(channel) for _ in range(3)]
        await layer.group_discard("events", channel)
        await layer.close_pools()
        return found

    found = asyncio.run(asyncio.wait_for(exchange(), 60))
    assert [message["number"] for message in found] == [0, 1, 2]


def test_a_folder_too_deep_for_a_socket_gets_a_port(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 110)
    deep.mkdir()
    assert redis_server.socket_path(deep) is None
    with ExitStack() as held:
        port = ports.reserve(0, held)
        with redis_process(deep, None, port) as found:
            assert found.url.startswith("redis://shoal:")
            assert answers(broker.for_celery(found.url))


def stand_in(folder: Path, name: str, said: str) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{said}\n")
    program.chmod(0o755)
    return program


REDIS = "echo 'Redis server v={} sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1'"
VALKEY = "echo 'Valkey server v={} sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=1'"


@pytest.mark.parametrize(
    ("programs", "chosen"),
    [
        ({}, None),
        ({"redis-server": REDIS.format("7.0.15")}, None),  # that of Debian 12
        ({"redis-server": REDIS.format("6.2.14")}, None),
        ({"redis-server": REDIS.format("7.2.0")}, ("redis-server", "Redis", "7.2.0", "redis-7")),
        ({"redis-server": REDIS.format("8.0.2")}, ("redis-server", "Redis", "8.0.2", "redis-8")),
        ({"redis-server": REDIS.format("10.1.0")}, ("redis-server", "Redis", "10.1.0", "redis-10")),
        (
            {"valkey-server": VALKEY.format("8.1.1"), "redis-server": REDIS.format("7.4.0")},
            ("valkey-server", "Valkey", "8.1.1", "valkey-8"),
        ),
        (
            {"valkey-server": "exit 1", "redis-server": REDIS.format("7.4.0")},
            ("redis-server", "Redis", "7.4.0", "redis-7"),
        ),
        ({"redis-server": REDIS.format("7.4.0") + "; exit 3"}, None),
        ({"redis-server": "echo something else"}, None),
        ({"redis-server": "echo 'Not a Redis server v=9.9.9'"}, None),
    ],
    ids=str,
)
def test_the_machines_own_server_is_taken_when_it_is_new_enough(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    programs: dict[str, str],
    chosen: tuple[str, str, str, str] | None,
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, said in programs.items():
        stand_in(folder, name, said)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/nowhere")
    found = redis_server.choose()
    if chosen is None:
        assert found.ours
        assert str(found) == "Redis 6.2.14 (wheel)"
    else:
        name, kind, version, data = chosen
        assert found == redis_server.Server(str(folder / name), kind, version, ours=False)
        assert found.data == data


def test_a_program_that_cannot_be_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, "redis-server", "").write_bytes(b"\x7fELF\xff\xff")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis_server.choose().ours
