"""Attacks on HTTP/1.1 servers, and on what reads JSON: each says what it offered."""

import gzip
import socket
import threading
import zlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from time import monotonic

from tests.hostile.http2_client import LITTLE, PATIENCE_S, connect, hung_up, letting_go
from tests.support.runtime_process import Runtime, wait_until

ANSWER = 8_000_000
INFER = "POST /v2/models/echo/infer HTTP/1.1\r\nHost: x\r\n"
_PACE = threading.Event()  # never set: only its timed wait is used


def connections(
    server: Runtime, stack: ExitStack, many: int, *, keeps: int = 0
) -> list[socket.socket]:
    return [stack.enter_context(connect(server.http_port, keeps)) for _ in range(many)]


def said(connection: socket.socket, most: int = 2**30) -> bytes:
    """What is answered until the server hangs up, or it is so many bytes."""
    found = b""
    try:
        while len(found) < most and (data := connection.recv(65_536)):
            found += data
    except ConnectionError:
        pass  # a reset is an end, too
    return found


def asked(server: Runtime, *pieces: bytes, ends: bool = True) -> bytes:
    """What is answered to bytes of a client that says no more, and hangs up if it ``ends``."""
    with ExitStack() as stack:
        (connection,) = connections(server, stack, 1)
        try:
            for piece in pieces:
                connection.sendall(piece)
            if ends:
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before it was all sent
        return said(connection)


def posted(server: Runtime, body: bytes, *headers: str, start: str = INFER) -> bytes:
    lines = [f"Content-Length: {len(body)}", "Connection: close", *headers, "", ""]
    return asked(server, start.encode() + "\r\n".join(lines).encode() + body, ends=False)


def _drip(begin: str, drop: bytes, many: int = 100) -> Callable[[Runtime], str]:
    """So many requests that begin so and go on by a drop now and then, until all are let go."""

    def attack(server: Runtime) -> str:
        with ExitStack() as stack:
            left = connections(server, stack, many)
            for connection in left:
                connection.sendall(begin.encode())
            last = monotonic() + PATIENCE_S
            while left:
                assert monotonic() < last, f"{len(left)} are still there"
                left = [connection for connection in left if _sent(connection, drop)]
                _PACE.wait(0.2)
        return f"{many} connections"

    return attack


def _sent(connection: socket.socket, data: bytes) -> bool:
    try:
        connection.sendall(data)
    except OSError:
        return False
    return True


def silence(server: Runtime) -> str:
    with ExitStack() as stack:
        assert all(map(hung_up, connections(server, stack, 100)))
    return "100 connections"


def slow_read(server: Runtime) -> str:
    """Answers that nobody reads, and that are more than the kernel keeps."""
    body = bytes(ANSWER)
    head = f"{INFER}Inference-Header-Content-Length: 0\r\nContent-Length: {len(body)}\r\n\r\n"
    with ExitStack() as stack:
        waiting = connections(server, stack, 2, keeps=LITTLE)
        with letting_go(server, "http", waiting):
            for connection in waiting:
                connection.sendall(head.encode() + body)
    return "2 answers of 8 MB"


def pipelines(server: Runtime) -> str:
    """Thousands of requests whose answers nobody reads."""
    metadata = b"GET /v2/models/echo/config HTTP/1.1\r\nHost: x\r\n\r\n" * 2000
    with ExitStack() as stack:
        waiting = connections(server, stack, 2, keeps=LITTLE)
        with letting_go(server, "http", waiting):
            for connection in waiting:
                connection.settimeout(0.5)
                _sent(connection, metadata * 5)
    return "2 x 10000 requests"


def held_bodies(server: Runtime) -> str:
    """Bodies of a megabyte that lack a byte: beyond 32 MiB in all they are refused in words."""
    size = 2**20
    head = f"{INFER}Inference-Header-Content-Length: 0\r\nContent-Length: {size}\r\n\r\n"
    with ExitStack() as stack:
        holding = connections(server, stack, 40)
        for connection in holding:
            _sent(connection, head.encode() + bytes(size - 1))
        wait_until(lambda: "held in all" in server.metrics(), "bodies to be refused")
        for connection in holding:
            _sent(connection, b"x")
            answer = said(connection, 40)
            assert answer.startswith((b"HTTP/1.1 200 OK", b"HTTP/1.1 503 Service Unavailable"))
    return "40 MB"


def too_many_connections(server: Runtime) -> str:
    with ExitStack() as stack:
        opened = connections(server, stack, 400)
        for connection in opened:
            connection.settimeout(PATIENCE_S)
        refused = [connection for connection in opened[300:] if b"503" in connection.recv(12)]
        assert len(refused) == 100
    return "400 connections"


def bombs(server: Runtime) -> str:
    """A quarter of a gigabyte of zeros, packed, and what only says that it is packed."""
    for coding, body in (
        ("gzip", gzip.compress(bytes(2**28), 9)),
        ("deflate", zlib.compress(bytes(2**28), 9)),
        ("gzip", gzip.compress(gzip.compress(bytes(2**28), 9))),
        ("gzip", b"no gzip"),
    ):
        answer = posted(
            server, body, f"Content-Encoding: {coding}", "Inference-Header-Content-Length: 0"
        )
        assert answer.startswith(b"HTTP/1.1 400 "), answer[:200]
    return "4 bombs of 256 MB"


def _given(data: str = "[1]", shape: str = "[1]") -> bytes:
    text = f'{{"name": "INPUT0", "datatype": "FP32", "shape": {shape}, "data": {data}}}'
    return f'{{"inputs": [{text}]}}'.encode()


DEPTH = 200_000
DOCUMENTS: dict[str, bytes] = {
    "arrays in arrays": b"[" * DEPTH,
    "objects in objects": b'{"a":' * DEPTH,
    "data in data": _given("[" * DEPTH + "1" + "]" * DEPTH),
    "parameters in parameters": b'{"inputs": [], "parameters": ' + b'{"a":' * DEPTH,
    "a number of a hundred thousand digits": _given("[" + "9" * 10**5 + "]"),
    "a fraction of a hundred thousand digits": _given("[0." + "9" * 10**5 + "]"),
    "an exponent of a hundred thousand digits": _given("[1e" + "9" * 10**5 + "]"),
    "an unclosed string": b'{"id": "' + b"\\u0041" * 10**4,
    "a shape that overflows": _given(shape="[4611686018427387904, 4]"),
    "a shape beyond 64 bits": _given(shape="[" + "9" * 1000 + "]"),
    "a shape below 0": _given(shape="[-1]"),
    "a shape of many axes": _given(shape="[" + ", ".join(["2"] * 10**5) + "]"),
    "a shape without bytes": _given("[]", "[0, 1099511627776]"),
    "no UTF-8": b'{"id": "\xff\xfe"}',
}


SOUND = {"a fraction of a hundred thousand digits"}


def documents(server: Runtime) -> str:
    for name, body in DOCUMENTS.items():
        answer = posted(server, body)
        if name in SOUND:
            assert answer.startswith(b"HTTP/1.1 200 "), (name, answer[:200])
        else:
            assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 500 ")), (name, answer[:200])
            assert b'"error"' in answer, name
    return f"{len(DOCUMENTS)} documents"


LONG = 12 * 10**5
# By path, with what is said of each.
LARGE: tuple[tuple[str, bytes, bytes], ...] = (
    ("v2/models/echo/infer", _given("[" + "9" * LONG + "]"), b"a number or white space"),
    ("v2/models/echo/infer", _given("[" + " " * LONG + "1]"), b"a number or white space"),
    ("v2/models/echo/infer", _given('["' + "\\u00fc" * (LONG // 6) + '"]'), b"non-number"),
    ("v2/models/echo/generate", b'{"INPUT0":[%b"x"]}' % (b"1," * (LONG // 2)), b"non-number"),
    (
        "v2/models/echo/generate",
        b"{%b}" % b",".join(b'"p%d":1' % number for number in range(LONG // 12)),
        b"maximum allowed value",
    ),
    ("v2/logging", b"[%b1]" % (b"{}," * (LONG // 3)), b"maximum allowed input size"),
    ("v2/repository/models/echo/load", b"[%b1]" % (b"{}," * (LONG // 3)), b"non-object"),
)


def large_documents(server: Runtime) -> str:
    """What a quick parser makes millions of objects of, or spends its time on for nothing."""
    for path, body, words in LARGE:
        answer = posted(server, body, start=f"POST /{path} HTTP/1.1\r\nHost: x\r\n")
        assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 500 ")), (path, answer[:200])
        assert words in answer, (path, answer[:400])
    return f"{len(LARGE)} documents of up to 1.2 MB"


def heads(server: Runtime) -> str:
    """Heads that are too large, or have too many fields."""
    large: Sequence[bytes] = (
        b"GET /" + b"a" * 10**6,
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 10**5,
        b"GET / HTTP/1.1\r\na: " + b"b" * 10**6,
    )
    for head in large * 5:
        assert asked(server, head).startswith((b"HTTP/1.1 431 ", b"")), head[:20]
    return f"{len(large) * 5} MB"


# Name: attack, and the reason that shoal_refusals_total counts it under ("" for none).
ATTACKS: dict[str, tuple[Callable[[Runtime], str], str]] = {
    "slowloris: heads": (_drip("GET /v2 HTTP/1.1\r\n", b"a: b\r\n"), "a head is not completed"),
    "slowloris: no head at all": (silence, "a head is not completed"),
    "slowloris: bodies": (
        _drip(INFER + "Content-Length: 10000\r\n\r\n", b"x"), "a body is not completed"),
    "slowloris: chunks": (
        _drip(INFER + "Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        "a body is not completed"),
    "slowloris: extensions of chunks": (
        _drip(INFER + "Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"x" * 1000 + b"\r\nx\r\n"),
        "a body is not completed"),
    "slow read": (slow_read, "answers are not read"),
    "pipelines that are not read": (pipelines, "answers are not read"),
    "bodies that are held": (held_bodies, "too many bytes are held in all"),
    "too many connections": (too_many_connections, "too many connections"),
    "compression bombs over HTTP": (bombs, ""),
    "JSON: depth, numbers, shapes": (documents, ""),
    "JSON: values, members and objects of megabytes": (large_documents, ""),
    "large heads": (heads, "a request cannot be framed"),
}  # fmt: skip
