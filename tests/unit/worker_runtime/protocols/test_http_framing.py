"""Heads, chunked bodies, codings and routes: what bytes mean, and which are refused."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.protocols.http.chunked import ChunkedBody
from worker_runtime.protocols.http.compression import best_coding, compress, decompress
from worker_runtime.protocols.http.errors import HttpRefusal
from worker_runtime.protocols.http.heads import HeadCache, parse_head
from worker_runtime.protocols.http.routes import match


def head(line: str, *headers: str) -> bytes:
    return "\r\n".join([line, "Host: x", *headers, "", ""]).encode()


def test_a_head_is_read() -> None:
    found = parse_head(
        head(
            "POST /v2/models/a%2Fb/infer?x=1 HTTP/1.1",
            "Content-Length: 12",
            "INFERENCE-HEADER-CONTENT-LENGTH: 7",
            "Expect: 100-continue",
            "Content-Encoding: GZIP",
        )
    )
    assert found.method == "POST"
    assert found.segments == ("v2", "models", "a/b", "infer")
    assert (found.content_length, found.json_length, found.expects_continue) == (12, 7, True)
    assert found.content_encoding == "gzip"
    assert found.keep_alive


@pytest.mark.parametrize(
    ("version", "headers", "keep_alive"),
    [
        ("1.1", (), True),
        ("1.1", ("Connection: close",), False),
        ("1.0", (), False),
        ("1.0", ("Connection: keep-alive",), True),
    ],
)
def test_keep_alive_follows_version_and_header(
    version: str, headers: tuple[str, ...], keep_alive: bool
) -> None:
    assert parse_head(head(f"GET / HTTP/{version}", *headers)).keep_alive is keep_alive


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n", 400),
        (b"GET / HTTP/3.0\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (head("POST / HTTP/1.1", "Content-Length: -1"), 400),
        (head("POST / HTTP/1.1", "Content-Length: 1", "Content-Length: 2"), 400),
        (head("POST / HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked"), 400),
        (head("POST / HTTP/1.1", "Content-Length: 99999999999999"), 413),
        (head("POST / HTTP/1.1", "Inference-Header-Content-Length: x"), 400),
        (head("POST / HTTP/1.1", "Expect: a-miracle"), 417),
    ],
)
def test_bad_heads_are_refused_and_end_the_connection(raw: bytes, status: int) -> None:
    with pytest.raises(HttpRefusal) as caught:
        parse_head(raw)
    assert caught.value.status == status
    assert caught.value.close


def test_an_offer_to_upgrade_is_ignored() -> None:
    found = parse_head(head("GET /v2 HTTP/1.1", "Connection: Upgrade", "Upgrade: h2c"))
    assert found.segments == ("v2",)


def test_the_cache_gives_the_same_head_and_is_bounded() -> None:
    cache = HeadCache()
    raw = head("GET /v2 HTTP/1.1")
    assert cache.get(raw) is cache.get(raw)
    for i in range(5000):
        cache.get(head(f"GET /{i} HTTP/1.1"))
    assert len(cache._heads) <= 1024


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=5),
    cuts=st.lists(st.integers(1, 30), max_size=8),
    rest=st.binary(max_size=8),
)
def test_chunked_bodies_survive_any_cutting(
    chunks: list[bytes], cuts: list[int], rest: bytes
) -> None:
    wire = (
        b"".join(b"%x;ext=1\r\n%s\r\n" % (len(c), c) for c in chunks) + b"0\r\nT: x\r\n\r\n" + rest
    )
    body, remains, position = None, b"", 0
    decoder = ChunkedBody(1000)
    for cut in [*cuts, len(wire)]:
        if body is not None:
            break
        body, remains = decoder.feed(wire[position : position + cut])
        position += cut
    assert body == b"".join(chunks)
    assert remains + wire[position:] == rest


@pytest.mark.parametrize(
    "wire", [b"zz\r\n", b"-1\r\n", b"3\r\nabcdef\r\n", b"\r\n\r\n", b"1" * 5000]
)
def test_malformed_chunks_are_refused(wire: bytes) -> None:
    with pytest.raises(HttpRefusal) as caught:
        ChunkedBody(10_000).feed(wire)
    assert caught.value.status == 400


def test_chunked_bodies_are_bounded() -> None:
    with pytest.raises(HttpRefusal) as caught:
        ChunkedBody(10).feed(b"b\r\n")
    assert caught.value.status == 413


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_codings_round_trip(coding: str) -> None:
    assert decompress(compress(b"hello" * 9, coding), coding, 1000) == b"hello" * 9


@pytest.mark.parametrize(
    ("data", "coding", "status"),
    [
        (b"x", "br", 501),
        (b"not gzip", "gzip", 400),
        (gzip.compress(b"a" * 99, mtime=0)[:-9], "gzip", 400),
        (zlib.compress(b"\0" * 100_000), "deflate", 413),
    ],
)
def test_bad_compressed_bodies_are_refused(data: bytes, coding: str, status: int) -> None:
    with pytest.raises(HttpRefusal) as caught:
        decompress(data, coding, 10_000)
    assert caught.value.status == status


@pytest.mark.parametrize(
    ("accept", "coding"),
    [
        ("gzip", "gzip"),
        ("deflate, gzip", "deflate"),
        ("gzip;q=0.5, deflate", "deflate"),
        ("identity, gzip", ""),
        ("br", ""),
        ("gzip;q=0", ""),
        ("gzip;q=nonsense", ""),
    ],
)
def test_the_best_coding_wins(accept: str, coding: str) -> None:
    assert best_coding(accept) == coding


@pytest.mark.parametrize(
    ("path", "kind", "model", "version"),
    [
        ("v2", "server_metadata", "", ""),
        ("v2/health/live", "live", "", ""),
        ("v2/models/stats", "statistics", "", ""),
        ("v2/models/m", "model_metadata", "m", ""),
        ("v2/models/m/versions/3", "model_metadata", "m", "3"),
        ("v2/models/m/versions/3/infer", "infer", "m", "3"),
        ("v2/models/m/ready", "model_ready", "m", ""),
        ("v2/repository/index", "index", "", ""),
        ("v2/repository/here/index", "index", "", ""),
        ("v2/repository/models/m/load", "load", "m", ""),
        ("v2/repository/here/models/m/load", "not_served", "'repository_name' specification", ""),
        ("v2/systemsharedmemory/status", "not_served", "shared memory", ""),
        ("score", "score", "", ""),
    ],
)
def test_routes(path: str, kind: str, model: str, version: str) -> None:
    route = match(tuple(path.split("/")))
    assert route is not None
    assert (route.kind, route.model, route.version) == (kind, model, version)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "v2/",
        "v2/models",
        "v2/models/",
        "v2/models/m/",
        "v2/models/m/versions/abc/infer",
        "v2/models/m/infer/",
        "v2/health",
        "v1/models",
        "v2/models/m/versions",
        "score/",
    ],
)
def test_unknown_paths(path: str) -> None:
    assert match(tuple(path.split("/"))) is None
