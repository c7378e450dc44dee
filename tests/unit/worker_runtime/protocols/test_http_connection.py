"""A connection with a transport that only takes notes."""

from typing import Any

import pytest

from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.protocols.members import Members
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

    def body_limit(self, head: Head) -> int:
        return 1000

    def too_large(self, head: Head) -> str:
        return "too large" if head.content_length > 1000 else ""

    def handle(self, connection: Connection, head: Head, body: Any) -> None:
        self.seen.append(f"{head.path} {bytes(body).decode()}")

    def cancelled(self, request: Any) -> None: ...


def made() -> tuple[Connection, Notes, Later]:
    app, notes = Later(), Notes()
    connection = Connection(app)
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
    assert overdue(connection, 0.0, 7199.0, 7200.0) == ["", "", "nothing is asked"]
    connection.data_received(GET % b"a")
    assert overdue(connection, 8000.0, 100_000.0) == ["", ""]
    connection.reply(200)
    assert overdue(connection, 100_001.0, 107_200.0) == ["", ""]
    assert overdue(connection, 107_201.0) == ["nothing is asked"]


def test_a_request_that_stands_still_ends_the_connection() -> None:
    connection, _, _ = made()
    connection.data_received(b"GET /a HT")
    assert overdue(connection, 0.0, 29.0) == ["", ""]
    connection.data_received(b"TP")
    assert overdue(connection, 30.0, 60.0) == ["", "a request is not completed"]


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
    assert connection.stalled
    for size in (4000, 900):
        connection.data_received(b"x" * size)
    assert not connection.stalled
    connection.data_received(GET % b"next")
    assert app.seen == ["/next "]


def test_a_connection_ends_only_behind_a_refused_body() -> None:
    connection, notes, app = made()
    notes.close = notes.abort  # type: ignore[attr-defined] # the same to these notes
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
    notes.close = notes.abort  # type: ignore[attr-defined] # the same to these notes
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
