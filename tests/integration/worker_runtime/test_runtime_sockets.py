"""HTTP at the level of bytes: pipelining, pieces, chunks, bad heads, clients that leave."""

import contextlib
import json
import socket
import struct

import pytest

from tests.support.runtime_process import Runtime, wait_until

JSON_BODY = json.dumps(
    {
        "inputs": [
            {"name": n, "datatype": "INT32", "shape": [1, 16], "data": [1] * 16}
            for n in ("INPUT0", "INPUT1")
        ]
    }
).encode()
INFER = b"POST /v2/models/simple/infer HTTP/1.1\r\nHost: x\r\n"
LIVE = b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n"


def read_reply(stream: "socket.SocketIO") -> tuple[int, dict[str, str], bytes]:
    """One answer off a buffered reader."""
    status = int(stream.readline().split()[1])
    headers = {}
    while (line := stream.readline().strip()) != b"":
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    return status, headers, stream.read(int(headers.get("content-length", 0)))


def exchange(
    server: Runtime, *pieces: bytes, replies: int = 1
) -> list[tuple[int, dict[str, str], bytes]]:
    with server.socket() as connection, connection.makefile("rb") as stream:
        for piece in pieces:
            connection.sendall(piece)
        return [read_reply(stream) for _ in range(replies)]


def test_pipelined_requests_are_answered_in_order(server: Runtime) -> None:
    infer = INFER + b"Content-Length: %d\r\n\r\n%s" % (len(JSON_BODY), JSON_BODY)
    missing = b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
    replies = exchange(server, (LIVE + infer + missing) * 20, replies=60)
    assert [status for status, _, _ in replies] == [200, 200, 404] * 20
    assert json.loads(replies[1][2])["outputs"][0]["data"] == [2] * 16


def test_a_request_may_come_byte_by_byte(server: Runtime) -> None:
    raw = INFER + b"Content-Length: %d\r\n\r\n%s" % (len(JSON_BODY), JSON_BODY)
    with server.socket() as connection, connection.makefile("rb") as stream:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(raw)):
            connection.send(raw[i : i + 1])
        assert read_reply(stream)[0] == 200


def test_chunked_requests(server: Runtime) -> None:
    head = INFER + b"Transfer-Encoding: chunked\r\n\r\n"
    middle = len(JSON_BODY) // 2
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(c), c) for c in (JSON_BODY[:middle], JSON_BODY[middle:])
    )
    replies = exchange(server, head, chunks, b"0\r\n\r\n" + LIVE, replies=2)
    assert [status for status, _, _ in replies] == [200, 200]


@pytest.mark.parametrize(
    ("chunks", "reason"),
    [
        (b"1\r\nA\r\n" * 1_000_000, b"more than 65536 chunks"),
        (b"x\r\n" + b"1\r\nA\r\n" * 1_000_000, b"bad chunk size"),
        (b"3\r\n" + b"A" * 10_000_000, b"line too long"),
        (b"fffffff\r\n" + b"A" * 10_000_000, b"exceeds the maximum allowed value"),
    ],
)
def test_a_client_that_sends_on_reads_why_its_chunks_are_refused(
    server: Runtime, chunks: bytes, reason: bytes
) -> None:
    """As it may when it frames by hand, and looks for the answer at its end."""
    with server.socket() as connection, connection.makefile("rb") as stream:
        connection.sendall(INFER + b"Transfer-Encoding: chunked\r\n\r\n")
        connection.sendall(chunks)
        status, _, body = read_reply(stream)
        assert (status, reason in body) == (400, True)
        assert stream.read() == b"", "the connection ends"


def test_expect_100_continue(server: Runtime) -> None:
    with server.socket() as connection, connection.makefile("rb") as stream:
        connection.sendall(
            INFER + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % len(JSON_BODY)
        )
        assert stream.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert stream.readline() == b"\r\n"
        connection.sendall(JSON_BODY)
        assert read_reply(stream)[0] == 200


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"complete nonsense\r\n\r\n", 400),
        (b"GET /v2 HTTP/1.1\r\nHost x\r\n\r\n", 400),
        (b"POST /v2 HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", 431),
        (INFER + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (INFER + b"Transfer-Encoding: gzip\r\n\r\n", 400),
        (INFER + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    ],
)
def test_what_cannot_be_framed_is_refused_and_the_connection_ends(
    server: Runtime, raw: bytes, status: int
) -> None:
    with server.socket() as connection, connection.makefile("rb") as stream:
        connection.sendall(raw)
        found, headers, body = read_reply(stream)
        assert found == status
        assert "error" in json.loads(body)
        assert headers["connection"] == "close"
        # A reset is an end, too: the server closed with bytes of ours unread.
        with contextlib.suppress(ConnectionResetError):
            assert stream.read() == b""


def test_http_1_0_ends_after_one_answer_unless_asked(server: Runtime) -> None:
    with server.socket() as connection, connection.makefile("rb") as stream:
        connection.sendall(b"GET /v2/health/live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        status, headers, _ = read_reply(stream)
        assert (status, headers["connection"]) == (200, "keep-alive")
        connection.sendall(b"GET /v2/health/live HTTP/1.0\r\n\r\n")
        assert read_reply(stream)[0] == 200
        assert stream.read() == b""


def test_a_client_that_leaves_takes_its_waiting_request_along(server: Runtime) -> None:
    body = json.dumps(
        {"inputs": [{"name": "INPUT0", "datatype": "FP32", "shape": [1], "data": [1]}]}
    ).encode()
    raw = b"POST /v2/models/slow/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )

    def cancelled() -> float:
        line = next(
            line
            for line in server.metrics().splitlines()
            if line.startswith("nv_inference_request_failure{")
            and 'model="slow"' in line
            and "CANCELED" in line
        )
        return float(line.rsplit(" ", 1)[1])

    before = cancelled()
    connections = [server.socket() for _ in range(4)]
    for connection in connections:
        connection.sendall(raw)
    # why: two may execute or be prefetched, the others wait; a reset cannot be missed.
    wait_until(
        lambda: (
            'nv_inference_pending_request_count{model="slow",version="1"} 2' in server.metrics()
        ),
        "two waiting requests",
    )
    for connection in connections:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    wait_until(lambda: cancelled() - before >= 2, "two cancelled requests")


def test_a_slow_reader_gets_everything(server: Runtime) -> None:
    """Answers bigger than every buffer, read late: backpressure must neither lose nor mix bytes."""
    rows, size = 2, 2 * 4_000_000
    header = json.dumps(
        {
            "inputs": [
                {
                    "name": "x",
                    "datatype": "FP32",
                    "shape": [rows, 1_000_000],
                    "parameters": {"binary_data_size": size},
                }
            ],
            "parameters": {"binary_data_output": True},
        }
    ).encode()
    data = bytes(range(256)) * (size // 256)
    raw = b"POST /v2/models/big/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % (
        len(header) + size
    ) + b"Inference-Header-Content-Length: %d\r\n\r\n%s" % (len(header), header)
    with server.socket() as connection, connection.makefile("rb") as stream:
        for _ in range(3):
            connection.sendall(raw)
            connection.sendall(data)
            assert server.call("v2/health/live")[0] == 200
            status, headers, body = read_reply(stream)
            assert status == 200
            assert body[int(headers["inference-header-content-length"]) :] == data
