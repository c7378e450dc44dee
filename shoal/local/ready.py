"""How each kind of program shows that it is ready."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import redis.asyncio
import redis.exceptions

Ready = Callable[[int], Awaitable[bool]]
TIMEOUT_S = 1.0


def answers_ping(url: str) -> Ready:
    """A Redis at `url` answers PING."""

    async def ready(_pid: int) -> bool:
        client = redis.asyncio.Redis.from_url(url, socket_timeout=TIMEOUT_S)
        try:
            return bool(await client.ping())
        except (redis.exceptions.RedisError, OSError):
            return False
        finally:
            await client.aclose()

    return ready


def answers_http(url: str) -> Ready:
    """GET `url` answers 200."""

    async def ready(_pid: int) -> bool:
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=TIMEOUT_S) as client:
                return (await client.get(url)).status_code == httpx.codes.OK
        except httpx.HTTPError:
            return False

    return ready


def listens(*ports: int) -> Ready:
    """Every port on loopback accepts connections."""

    async def ready(_pid: int) -> bool:
        for port in ports:
            try:
                async with asyncio.timeout(TIMEOUT_S):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:  # TimeoutError included
                return False
            writer.close()
        return True

    return ready


def logs_line(log: Path, pattern: str) -> Ready:
    """`log` has a line that matches, written by the program that was started last."""
    expression = re.compile(pattern)
    begins: dict[int, int] = {}  # process id -> where its output begins in the log

    async def ready(pid: int) -> bool:
        # why: the first run finds a fresh log, a restarted program appends to its predecessor's.
        start = begins.setdefault(pid, _size(log) if begins else 0)
        return expression.search(_read_from(log, start)) is not None

    return ready


def writes_own_pid(file: Path) -> Ready:
    """`file` is JSON whose `pid` is the program's: left-overs of an earlier run do not count."""

    async def ready(pid: int) -> bool:
        return _pid_in(file) == pid

    return ready


def _size(log: Path) -> int:
    return log.stat().st_size


def _read_from(log: Path, start: int) -> str:
    with log.open("rb") as stream:
        stream.seek(start)
        return stream.read().decode(errors="replace")


def _pid_in(file: Path) -> int | None:
    try:
        return int(json.loads(file.read_text())["pid"])
    except (OSError, ValueError, KeyError):
        return None
