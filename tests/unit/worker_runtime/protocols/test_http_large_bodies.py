"""Large bodies are read into their memory once, and large tensors leave as what they are."""

from typing import Any

import numpy as np
import pytest

from tests.support.http2_peer import FakeTransport
from worker_runtime.protocols.http.bodies import COPY_BELOW
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.encode import raw_bytes
from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.protocols.listening import Members

READ = 256_000  # what uvloop reads at once


class Kept:
    """An application that keeps the bodies and answers with ``arrays``."""

    encode_any: Any = None

    def __init__(self) -> None:
        self.heads = HeadCache()
        self.connections: Members[Connection] = Members()
        self.bodies: list[Any] = []
        self.arrays: list[np.ndarray[Any, Any]] = []

    def body_limit(self, _head: Head) -> int:
        return 2**31

    def too_large(self, _head: Head) -> str:
        return ""

    def handle(self, connection: Connection, _head: Head, body: Any) -> None:
        self.bodies.append(body)
        parts = [raw_bytes(array) for array in self.arrays]
        connection.answer((b"HTTP/1.1 200 OK\r\n\r\n", parts, sum(map(len, parts))))

    def cancelled(self, request: Any) -> None: ...


def made() -> tuple[Kept, FakeTransport]:
    app, transport = Kept(), FakeTransport()
    connection = transport.protocol = Connection(app)
    connection.connection_made(transport)  # type: ignore[arg-type] # it is enough of one
    return app, transport


def body_of(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


@pytest.mark.parametrize("size", [1_000_000, 4_000_000, 16_000_000])
def test_all_but_the_first_read_goes_straight_into_the_body(size: int) -> None:
    app, transport = made()
    sent = body_of(size)
    wire = b"POST /a HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (size, sent)
    for at in range(0, len(wire), READ):
        transport.deliver(wire[at : at + READ])
    assert app.bodies == [sent]
    assert transport.straight >= size - READ
    transport.deliver(b"GET /b HTTP/1.1\r\n\r\n")
    assert app.bodies == [sent, b""]


def test_a_body_of_one_read_is_copied_once() -> None:
    """What its tensors are cut out of are views, unless it is small."""
    app, transport = made()
    for size in (COPY_BELOW - 1, COPY_BELOW, 200_000):
        wire = b"POST /a HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (size, body_of(size))
        transport.deliver(wire)
        assert app.bodies[-1] == body_of(size)
    assert [type(body) for body in app.bodies] == [bytes, memoryview, memoryview]
    assert [len(body.obj) for body in app.bodies[1:]] == [COPY_BELOW, 200_000]


def test_a_chunked_body_is_not_copied_at_its_end() -> None:
    app, transport = made()
    body = body_of(300_000)
    transport.deliver(b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    for at in range(0, len(body), 100_000):
        transport.deliver(b"%x\r\n%s\r\n" % (100_000, body[at : at + 100_000]))
    transport.deliver(b"0\r\n\r\n")
    assert app.bodies == [body]
    assert isinstance(app.bodies[0].obj, bytearray)


def test_large_tensors_leave_as_views_of_themselves() -> None:
    app, transport = made()
    app.arrays = [np.zeros(4_000_000, np.float32), np.ones(1_000_000, np.int8)]
    pieces: list[Any] = []
    transport.writelines = pieces.extend  # type: ignore[method-assign] # a probe
    transport.deliver(b"GET /a HTTP/1.1\r\n\r\n")
    assert all(np.shares_memory(p, a) for p, a in zip(pieces[1:], app.arrays, strict=True))
    assert [piece.nbytes for piece in pieces[1:]] == [16_000_000, 1_000_000]
