"""How each program shows that it is ready.

Written on sockets: the clients of Redis and of HTTP would be half of the supervisor's memory, for
a question that it asks at the start.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

Ready = Callable[[int], Awaitable[bool]]
TIMEOUT_S = 1.0
_Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def answers_ping(url: str) -> Ready:
    """The embedded Redis at `url` (`unix://` or `redis://`, with who and password) answers PING."""
    parts = urlsplit(url)
    who, password = unquote(parts.username or ""), unquote(parts.password or "")
    told = _command("AUTH", who, password) + _command("PING")

    def connect() -> Awaitable[_Connection]:
        if parts.scheme == "unix":
            return asyncio.open_unix_connection(unquote(parts.path))
        return asyncio.open_connection(parts.hostname, parts.port)

    return _answers(connect, told, (re.compile(rb"\+OK\r\n"), re.compile(rb"\+PONG\r\n")))


def answers_http(url: str) -> Ready:
    """GET `url`, plain HTTP, answers 200."""
    parts = urlsplit(url)
    told = f"GET {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
    status = re.compile(rb"HTTP/1\.[01] 200 .*\r\n")
    return _answers(
        lambda: asyncio.open_connection(parts.hostname, parts.port or 80), told.encode(), (status,)
    )


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


def _answers(
    connect: Callable[[], Awaitable[_Connection]], told: bytes, lines: tuple[re.Pattern[bytes], ...]
) -> Ready:
    """Who is told `told` answers with lines like these, in time."""

    async def ready(_pid: int) -> bool:
        try:
            async with asyncio.timeout(TIMEOUT_S):
                reader, writer = await connect()
                try:
                    writer.write(told)
                    for line in lines:
                        if not line.fullmatch(await reader.readline()):
                            return False
                finally:
                    writer.close()
        except (OSError, ValueError):  # TimeoutError included; a line without end is a ValueError
            return False
        return True

    return ready


def _command(*words: str) -> bytes:
    """In Redis' protocol, whatever the words hold."""
    told = [word.encode() for word in words]
    return b"*%d\r\n" % len(told) + b"".join(b"$%d\r\n%s\r\n" % (len(one), one) for one in told)


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
