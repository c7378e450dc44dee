"""A connection with a transport that only takes notes."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from worker_runtime.observability.metrics.connections import Refusals
from worker_runtime.protocols.admission import Buffers
from worker_runtime.protocols.http import connection as http_connection
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.protocols.listening import Members
from worker_runtime.types.listening import ConnectionLimits

GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"


class Notes:
    """A transport. ``unread`` is how much of what was written waits."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.unread = 0
        self.aborted = False

    def is_closing(self) -> bool:
        return self.aborted

    def write(self, data: bytes) -> None:
        self.written.append(bytes(data))

    def writelines(self, lines: Iterable[bytes]) -> None:
        self.written.append(b"".join(lines))

    def get_write_buffer_size(self) -> int:
        return self.unread

    def abort(self) -> None:
        self.aborted = True

    close = abort

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Later:
    """An application that answers when it is told to."""

    encode: Any = None
    encode_any: Any = None

    def __init__(self) -> None:
        self.heads = HeadCache()
        self.connections: Members[Connection] = Members()
        self.seen: list[str] = []
        self.limit = 1000  # bytes of a body

    def body_limit(self, head: Head) -> int:
        return self.limit

    def too_large(self, head: Head) -> str:
        return "too large" if head.content_length > self.limit else ""

    def handle(self, connection: Connection, head: Head, body: Any) -> None:
        self.seen.append(f"{head.path} {bytes(body).decode()}")

    def cancelled(self, request: Any) -> None: ...


def made(buffers: Buffers | None = None) -> tuple[Connection, Notes, Later]:
    app, notes = Later(), Notes()
    connection = Connection(app, buffers)
    connection.connection_made(notes)  # type: ignore[arg-type] # it is enough of one
    return connection, notes, app


def test_the_next_request_waits_until_a_stream_has_ended() -> None:
    connection, notes, app = made()
    connection.data_received(GET % b"a" + GET % b"b")
    connection.begin(200, b"text/event-stream")
    connection.piece(b"one")
    assert app.seen == ["/a "]
    connection.end()
    assert app.seen == ["/a ", "/b "]
    assert notes.written[1:] == [b"3\r\none\r\n", b"0\r\n\r\n"]


def test_a_client_that_never_reads_its_stream_is_let_go() -> None:
    connection, notes, _ = made()
    connection.data_received(GET % b"a")
    connection.begin(200, b"text/event-stream")
    connection.pause_writing()
    notes.unread = 60 * 1024 * 1024
    connection.piece(b"one")
    assert not notes.aborted
    notes.unread = 65 * 1024 * 1024
    connection.piece(b"two")
    assert notes.aborted
    assert notes.written[1:] == [b"3\r\none\r\n"]


def test_a_piece_is_whole_however_large_and_in_however_many_parts() -> None:
    """What waited before it is what a client did not read, not the piece itself."""
    connection, notes, _ = made()
    connection.data_received(GET % b"a")
    connection.begin(200, b"text/event-stream")
    connection.pause_writing()
    part = bytes(1024 * 1024)

    def write(data: bytes) -> None:
        notes.unread += len(data)

    notes.write = write  # type: ignore[method-assign]
    notes.writelines = lambda lines: write(b"".join(lines))  # type: ignore[method-assign]
    connection.piece(*[part] * 70)
    assert not notes.aborted
    assert notes.unread == 70 * len(part) + len(b"%x\r\n\r\n" % (70 * len(part)))
    connection.piece(b"more")
    assert notes.aborted


async def test_many_requests_of_a_read_take_several_turns_of_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A quarter of a megabyte of them, from ten clients, held everybody up for seconds."""
    connection, notes, app = made()
    now = [0.0]
    monkeypatch.setattr(http_connection, "monotonic", lambda: now[0])

    def handle(_: Connection, head: Head, _body: Any) -> None:
        now[0] += 0.0003
        app.seen.append(head.path)
        connection.reply(200)

    monkeypatch.setattr(app, "handle", handle)
    connection.data_received(b"".join(GET % b"%d" % number for number in range(100)))
    turns = []
    while len(app.seen) < 100:
        turns.append(len(app.seen))
        await asyncio.sleep(0)
    assert turns == [*range(3, 100, 3)]
    assert app.seen == [f"/{number}" for number in range(100)]
    assert len(notes.written) == 100


LIMITS = ConnectionLimits(unread_s=300.0, idle_s=7200.0)


def overdue(connection: Connection, *times: float) -> list[str]:
    return [connection.overdue(now, LIMITS) for now in times]


def test_a_client_that_does_not_read_its_answer_is_let_go() -> None:
    connection, notes, _ = made()
    connection.data_received(GET % b"a")
    connection.pause_writing()
    connection.reply(200, b"x" * 1000)
    notes.unread = 1000
    assert overdue(connection, 0.0, 299.0) == ["", ""]
    connection.data_received(b"GET ")  # to ask for more is not to read
    assert overdue(connection, 300.0) == ["answers are not read"]


def test_a_client_that_reads_slowly_is_kept_though_its_stream_is_faster() -> None:
    connection, notes, _ = made()
    connection.data_received(GET % b"a")
    connection.begin(200, b"text/event-stream")
    connection.pause_writing()
    notes.unread = 100_000
    for now in range(0, 3000, 100):
        connection.piece(b"x" * 1000)
        notes.unread += 999  # one byte was read
        assert overdue(connection, float(now)) == [""]
    assert overdue(connection, 3300.0) == ["answers are not read"]


def test_what_is_not_full_any_more_was_read() -> None:
    connection, notes, _ = made()
    for now in range(0, 3000, 200):
        connection.pause_writing()
        notes.unread = 70_000
        assert overdue(connection, float(now)) == [""]
        connection.resume_writing()


def test_an_idle_connection_ends_one_with_a_long_request_does_not() -> None:
    connection, _, _ = made()
    connection.data_received(GET % b"a")
    connection.reply(200)
    assert overdue(connection, 0.0, 7199.0, 7200.0) == ["", "", "nothing is asked"]
    connection.data_received(GET % b"a")
    assert overdue(connection, 8000.0, 100_000.0) == ["", ""]
    connection.reply(200)
    assert overdue(connection, 100_001.0, 107_200.0) == ["", ""]
    assert overdue(connection, 107_201.0) == ["nothing is asked"]


def test_a_head_has_its_time_however_its_bytes_come(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(http_connection, "monotonic", lambda: now[0])
    connection, _, _ = made()
    for byte in GET % b"a":
        connection.data_received(bytes([byte]))
        now[0] += 0.75
        assert overdue(connection, now[0]) == [""]
    connection.reply(200)
    for byte in b"GET /" + b"a" * 40:
        assert overdue(connection, now[0]) == [""]
        connection.data_received(bytes([byte]))
        now[0] += 0.666
    assert overdue(connection, now[0]) == [""]
    assert overdue(connection, now[0] + 1.0) == ["a head is not completed"]


def test_each_of_many_heads_that_come_in_pieces_has_its_own_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1000.0]
    monkeypatch.setattr(http_connection, "monotonic", lambda: now[0])
    connection, _, app = made()
    get = GET % b"a"
    connection.data_received(get[:9])
    for _ in range(100):
        now[0] += 10.0
        assert overdue(connection, now[0]) == [""]
        connection.data_received(get[9:] + get[:9])
        connection.reply(200)
    assert len(app.seen) == 100


def test_who_connects_has_a_time_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_connection, "monotonic", lambda: 0.0)
    connection, _, _ = made()
    assert overdue(connection, 29.0, 30.0) == ["", "a head is not completed"]


@pytest.mark.parametrize("kind", ["Content-Length: 65536", "Transfer-Encoding: chunked"])
def test_a_body_comes_in_pieces_of_16_kib_each_in_its_time(kind: str) -> None:
    connection, _, app = made()
    app.limit = 2**21
    connection.data_received(f"POST /p HTTP/1.1\r\n{kind}\r\n\r\n".encode())
    if "chunked" in kind:
        connection.data_received(b"fffff\r\n")
    for now in (0.0, 29.0, 58.0):
        assert overdue(connection, now) == [""]
        connection.data_received(b"x" * 16_384)
    assert overdue(connection, 60.0) == [""]
    connection.data_received(b"x" * 16_383)
    assert overdue(connection, 89.0, 90.0) == ["", "a body is not completed"]


def test_what_says_how_a_body_is_cut_is_no_body() -> None:
    """Extensions of chunks, without end."""
    connection, _, app = made()
    app.limit = 2**30
    connection.data_received(b"POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert overdue(connection, 0.0) == [""]
    for _ in range(100):
        connection.data_received(b"1;" + b"x" * 1000 + b"\r\nA\r\n")
    assert overdue(connection, 30.0) == ["a body is not completed"]


def test_bytes_that_are_held_are_counted_and_bounded() -> None:
    buffers = Buffers(100_000, 0, Refusals())
    connection, _, app = made(buffers)
    app.limit = 200_000
    post = b"POST /p HTTP/1.1\r\nContent-Length: %d\r\n\r\n"
    connection.data_received(post % 50_000 + b"x" * 30_000)
    assert buffers.held == 30_000
    connection.data_received(b"x" * 20_000)
    assert buffers.held == 50_000  # until it is answered
    second, said, other = made(buffers)
    other.limit = 200_000
    second.data_received(post % 60_000 + b"x" * 40_000)
    assert buffers.held == 90_000
    second.data_received(b"x" * 15_000)
    assert said.written[0].startswith(b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n")
    assert b"--max-buffered-bytes" in said.written[0]
    assert buffers.held == 50_000
    assert not said.aborted  # before the client has sent what it is about
    second.data_received(b"x" * 5000)
    assert said.aborted
    assert other.seen == []
    buffers.held += 50_000
    for first in (0, 1, 4096):  # with the head, or behind it, as many clients send
        third, _, small = made(buffers)
        small.limit = 200_000
        third.data_received(post % 4096 + b"x" * first)
        third.data_received(b"x" * (4096 - first))
        assert len(small.seen) == 1  # what is small is always served
    buffers.held -= 50_000
    connection.reply(200)
    assert buffers.held == 0
    assert buffers.refusals.counts == {("http", "too many bytes are held in all"): 1}


def test_answers_that_are_not_read_are_counted_and_bounded() -> None:
    buffers = Buffers(0, 100_000, Refusals())
    connection, notes, _ = made(buffers)
    connection.data_received(GET % b"a")
    notes.unread = 90_000
    connection.pause_writing()
    assert buffers.held == 90_000
    connection.resume_writing()
    assert buffers.held == 0
    connection.begin(200, b"text/event-stream")
    connection.pause_writing()
    connection.piece(b"x" * 10_000)
    assert (buffers.held, notes.aborted) == (100_000, False)
    connection.piece(b"x")
    assert notes.aborted
    connection.connection_lost(None)
    assert buffers.held == 0


def test_a_body_may_come_in_any_pieces_with_the_next_request_behind_it() -> None:
    head = b"POST /p HTTP/1.1\r\nContent-Length: 6\r\n\r\n"
    raw = head + b"abcdef" + GET % b"next"
    for first in range(1, len(raw)):
        connection, _, app = made()
        connection.data_received(raw[:first])
        connection.data_received(raw[first:])
        assert app.seen == ["/p abcdef"]
        connection.reply(200)
        assert app.seen == ["/p abcdef", "/next "]


def test_a_refused_body_is_read_past() -> None:
    connection, notes, app = made()
    connection.data_received(b"POST /p HTTP/1.1\r\nContent-Length: 5000\r\n\r\n" + b"x" * 100)
    assert notes.written[0].startswith(b"HTTP/1.1 400 Bad Request\r\n")
    for size in (4000, 900):
        connection.data_received(b"x" * size)
    assert app.seen == []
    connection.data_received(GET % b"next")
    assert app.seen == ["/next "]


def test_a_connection_ends_only_behind_a_refused_body() -> None:
    connection, notes, app = made()
    connection.data_received(
        b"POST /p HTTP/1.1\r\nConnection: close\r\nContent-Length: 5000\r\n\r\n"
    )
    assert b"Connection: close\r\n" in notes.written[0]
    connection.data_received(b"x" * 4999)
    assert not notes.aborted
    connection.data_received(b"x" + GET % b"next")
    assert notes.aborted
    assert app.seen == []


def test_whoever_waits_for_leave_to_send_a_refused_body_is_let_go() -> None:
    connection, notes, _ = made()
    connection.data_received(
        b"POST /p HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n"
    )
    assert b"Connection: close\r\n" in notes.written[0]
    assert notes.aborted


CHUNKED = (
    b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'5;name="va;lue"\r\nhello\r\n'
    b"00c \t;a;b=c\r\n, chunked\r\n \r\n"
    b"0;last\r\nDigest: 1\r\nX-Empty:\r\n\r\n"
) + GET % b"b"


def pieces(wire: bytes) -> list[list[bytes]]:
    """Cut in two at each place, in three, and into single bytes."""
    twice = [[wire[:at], wire[at:]] for at in range(1, len(wire))]
    thrice = [[wire[:at], wire[at : at + 2], wire[at + 2 :]] for at in range(1, len(wire) - 2)]
    return [[wire], *twice, *thrice, [bytes([byte]) for byte in wire]]


def test_chunks_are_read_wherever_they_are_cut() -> None:
    for cut in pieces(CHUNKED):
        connection, notes, app = made()
        for piece in cut:
            connection.data_received(piece)
        connection.reply(200)
        assert app.seen == ["/a hello, chunked\r\n ", "/b "], cut
        assert len(notes.written) == 1


@pytest.mark.parametrize(
    ("line", "taken"), [(b"1;" + b"e" * 4094, True), (b"1;" + b"e" * 4095, False)]
)
def test_a_long_line_is_judged_alike_wherever_it_is_cut(line: bytes, taken: bool) -> None:
    wire = b"POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    start = len(wire)
    wire += line + b"\r\nA\r\n0\r\n\r\n"
    end = start + len(line)
    for at in (start, start + 1, end - 1, end, end + 1, end + 2, len(wire)):
        connection, notes, app = made()
        connection.data_received(wire[:at])
        connection.data_received(wire[at:])
        assert (app.seen == ["/a A"]) is taken, at
        assert bool(notes.written) is not taken
