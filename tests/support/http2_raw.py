"""A client of HTTP/2 that sends whatever bytes a test likes, and keeps what it is answered."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import hpack

from tests.support.http2_peer import HEADERS, Owner, Peer
from worker_runtime.protocols.grpc.native import frames as f

GREETING = f.PREFACE + f.settings({})


class Raw:
    """A client that sends what it likes. ``said`` is all that the server answered."""

    def __init__(self, owner: Owner | None = None, **options: Any) -> None:
        self.peer = Peer(owner or Owner(**options), greet=False)
        self.owner, self.transport = self.peer.owner, self.peer.transport
        self.connection = self.peer.connection
        self.said = b""
        self._encoder = hpack.Encoder()
        self._streams = count(1, 2)
        self.send(GREETING)

    def send(self, data: bytes) -> None:
        self.peer.receive(data)
        self.said += self.transport.taken()

    def headers(self, path: str = "/silent", flags: int = f.END_HEADERS) -> tuple[int, bytes]:
        stream = next(self._streams)
        block = self._encoder.encode([(k, path if k == ":path" else v) for k, v in HEADERS])
        return stream, f.head(len(block), f.HEADERS, flags, stream) + block

    def frames(self) -> Iterator[tuple[int, int, bytes]]:
        """Kind, stream and payload of what was answered."""
        at = 0
        while at < len(self.said):
            high, low, kind, _, stream = f.HEAD.unpack_from(self.said, at)
            stop = at + f.HEAD_BYTES + (high << 8 | low)
            yield kind, stream, self.said[at + f.HEAD_BYTES : stop]
            at = stop

    @property
    def bye(self) -> tuple[int, bytes] | None:
        """Code and text of the GOAWAY."""
        found = [p for kind, _, p in self.frames() if kind == f.GOAWAY]
        return (int.from_bytes(found[-1][4:8], "big"), found[-1][8:]) if found else None

    def sent(self, kind: int) -> int:
        return sum(found == kind for found, _, _ in self.frames())


def resets(raw: Raw, most: int, each: Callable[[int], bytes]) -> int:
    """How many streams were opened and thrown away before the server had enough."""
    for number in range(most):
        raw.send(each(number))
        if raw.transport.closed:
            return number
    return most
