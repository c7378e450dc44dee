"""A Redis as `shoal up` runs it, for the time of a test."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import redis

from shoal.local import redis_server
from tests.support.reaper import die_with_parent
from tests.support.runtime_process import wait_until

PASSWORD = "a:b/c@d?e"


@dataclass(frozen=True)
class RedisProcess:
    url: str
    process: "subprocess.Popen[bytes]"


@contextmanager
def redis_process(home: Path, place: Path | None, port: int) -> Iterator[RedisProcess]:
    """On the socket ``place``, or on ``port`` of loopback; ``home`` has a folder ``redis``."""
    file = home / "redis.conf"
    file.write_text(redis_server.configuration(home, PASSWORD, socket=place, port=port))
    assert PASSWORD not in file.read_text()
    url = redis_server.url(PASSWORD, socket=place, port=port)
    with subprocess.Popen(
        die_with_parent(redis_server.choose().path, str(file)), stdout=subprocess.DEVNULL
    ) as process:
        try:
            wait_until(lambda: answers(url), "Redis")
            yield RedisProcess(url, process)
        finally:
            process.kill()


def answers(url: str) -> bool:
    with redis.Redis.from_url(url) as client:
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False
