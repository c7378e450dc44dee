"""What clients may take of the server: how many connections, and how many bytes held for them."""

import asyncio
import os
import resource
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from worker_runtime.observability.metrics.connections import Refusals
from worker_runtime.observability.metrics.text import Family
from worker_runtime.types.listening import ConnectionLimits

_MOST_FILES = 1024 * 1024  # why: programs that models start may walk over all numbers
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")
_RESERVE = 256  # files for models, their processes, logs and the metrics listener
BUFFERED = ("shoal_buffered_bytes", "Bytes of unanswered requests and of unread answers")
NO_ROOM = (
    "too many bytes of unanswered requests and unread answers are held: try again later, or see "
    "--max-buffered-bytes and --max-buffered-bytes-per-connection"
)
# A request of fewer bytes is not counted: what else there is of it takes as much.
UNCOUNTED = 4096


def raise_file_limit() -> None:
    """Let this process have as many open files as the system lets it; it often starts with 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def most_connections() -> int:
    """How many fit into the files that this process may open, with enough left for the rest."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _MOST_FILES if soft == resource.RLIM_INFINITY else soft
    return max(files - max(_RESERVE, files // 10), files // 2)


def most_buffered_bytes() -> int:
    """Half of the memory that this process can have, bounded by its container's limit."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):
        memory = min(memory, int(_MEMORY_LIMIT.read_text()))
    return memory // 2


class ConnectionAdmission:
    """Which connections are accepted, over all listeners together, and how long they may idle."""

    def __init__(self, limits: ConnectionLimits, refusals: Refusals) -> None:
        self.limits = limits
        self.refusals = refusals
        bytes_in_all = limits.buffered_bytes
        self.buffers = Buffers(
            most_buffered_bytes() if bytes_in_all is None else bytes_in_all,
            limits.buffered_bytes_per_connection,
            refusals,
        )
        most = limits.connections
        self._most = most_connections() if most is None else most
        self._connections: list[Collection[object]] = []

    def watch(self, connections: Collection[object]) -> None:
        """These count."""
        self._connections.append(connections)

    def admit(
        self, protocol: str, connection: Callable[[], asyncio.Protocol], refusal: bytes
    ) -> asyncio.Protocol:
        """What a new connection talks to: ``refusal`` alone when there are too many."""
        if self._most and sum(map(len, self._connections)) >= self._most:
            self.refusals.count(protocol, "too many connections")
            return _Refused(refusal)
        return connection()


class _Refused(asyncio.Protocol):
    def __init__(self, refusal: bytes) -> None:
        self._refusal = refusal

    def connection_made(self, transport: Any) -> None:
        transport.write(self._refusal)
        transport.close()


class Buffers:
    """What all connections hold together, in bytes; 0: any number."""

    def __init__(self, most: int, most_per_connection: int, refusals: Refusals) -> None:
        self.most = most
        self.most_per_connection = most_per_connection
        self.refusals = refusals
        self.held = 0

    def collect(self) -> Iterator[Family]:
        family = Family(*BUFFERED, "gauge")
        family.add({}, self.held)
        yield family


class Account:
    """What one connection holds."""

    __slots__ = ("_buffers", "_protocol", "held")

    def __init__(self, buffers: Buffers, protocol: str) -> None:
        self._buffers = buffers
        self._protocol = protocol
        self.held = 0

    def take(self, size: int) -> bool:
        """Count ``size`` bytes; False, and none are, when they would be too many."""
        buffers = self._buffers
        if buffers.most and buffers.held + size > buffers.most:
            buffers.refusals.count(self._protocol, "too many bytes are held in all")
            return False
        most = buffers.most_per_connection
        if most and self.held + size > most:
            buffers.refusals.count(self._protocol, "too many bytes are held of a connection")
            return False
        buffers.held += size
        self.held += size
        return True

    def give(self, size: int) -> None:
        """They are no longer held."""
        self._buffers.held -= size
        self.held -= size

    def refused(self, reason: str) -> None:
        """Count what is turned away for another reason."""
        self._buffers.refusals.count(self._protocol, reason)

    def close(self) -> None:
        self.give(self.held)
