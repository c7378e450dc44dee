"""Heads, chunked bodies, codings and routes: what bytes mean, and which are refused."""

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker_runtime.errors import (
    AlreadyExists,
    BackendFailed,
    InvalidArgument,
    LoadFailed,
    NotFound,
)
from worker_runtime.protocols.http.bodies import ChunkedBody
from worker_runtime.protocols.http.compression import best_coding, compress, decompress
from worker_runtime.protocols.http.errors import HttpRefusal, answered, status_of
from worker_runtime.protocols.http.heads import HeadCache, parse_head
from worker_runtime.protocols.http.routes import match


def head(line: str, *headers: str) -> bytes:
    return "\r\n".join([line, "Host: x", *headers, "", ""]).encode()


def test_a_head_is_read() -> None:
    found = parse_head(
        head(
            "POST /v2/models/a%20b/infer?x=1 HTTP/1.1",
            "Content-Length: 12",
            "INFERENCE-HEADER-CONTENT-LENGTH: 7",
            "Expect: 100-continue",
            "Content-Encoding: gzip",
            "X-Mine: Yes",
        )
    )
    assert found.method == "POST"
    assert found.path == "/v2/models/a%20b/infer"
    assert ("X-Mine", "Yes") in found.headers
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
        (head("POST / HTTP/1.1", "Content-Length: 99999999999999999999"), 400),
        (head("POST / HTTP/1.1", "Expect: a-miracle"), 417),
        (head("POST / HTTP/1.0", "Transfer-Encoding: chunked"), 400),
        (head("POST / HTTP/1.0", "Connection: keep-alive", "Transfer-Encoding: chunked"), 400),
    ],
)
def test_bad_heads_are_refused_and_end_the_connection(raw: bytes, status: int) -> None:
    with pytest.raises(HttpRefusal) as caught:
        parse_head(raw)
    assert caught.value.status == status
    assert caught.value.close


def test_an_offer_to_upgrade_is_ignored() -> None:
    found = parse_head(head("GET /v2 HTTP/1.1", "Connection: Upgrade", "Upgrade: h2c"))
    assert found.path == "/v2"


@pytest.mark.parametrize(
    ("text", "length"), [("7", 7), (" 12x", 12), ("x", 0), ("", 0), ("-1", -2), ("+3", 3)]
)
def test_the_json_length_is_read_as_c_reads_numbers(text: str, length: int) -> None:
    found = parse_head(head("POST / HTTP/1.1", f"Inference-Header-Content-Length: {text}"))
    assert found.json_length == length


def test_without_the_header_everything_is_json() -> None:
    assert parse_head(head("POST / HTTP/1.1")).json_length == -1


def test_the_cache_gives_the_same_head_and_is_bounded() -> None:
    cache = HeadCache()
    raw = head("GET /v2 HTTP/1.1")
    assert cache.get(raw) is cache.get(raw)
    for i in range(5000):
        cache.get(head(f"GET /{i} HTTP/1.1"))
    assert len(cache._heads) <= 1024


@pytest.mark.parametrize(
    ("line", "request_id"),
    [
        ("x-request-id: 0d6f7f0e-6f2a-4b1e", "0d6f7f0e-6f2a-4b1e"),
        ("x-request-id: 0d6f7f0e-6f2a", "0d6f7f0e-6f2a  "),
        ("x-request-id: 0d6f7f0e-6f2a-", "0d6f7f0e-6f2a- "),
        ("x-request-id: a", "a".ljust(15)),
        ("x-request-id: " + "x" * 64, "x" * 64),
        ("x-request-id: " + "x" * 65, ""),
        ("x-request-id: a b", ""),
        ("x-request-id: a\tb", ""),
        ("x-request-id: ", ""),
        ("x-request-id: größe", ""),
        ("x-request-id:a", ""),
        ("X-Request-Id: a", ""),
        ("x-request-ids: a", ""),
        ("y: x-request-id: a", ""),
    ],
)
def test_an_id_is_taken_off_where_it_is_plain(line: str, request_id: str) -> None:
    cache = HeadCache(ids_apart=True)
    raw = head("GET /v2 HTTP/1.1", "Host: x", line, "Accept-Encoding: gzip")
    found = cache.get(raw)
    assert cache.request_id == request_id.encode()
    whole = parse_head(raw)
    others = tuple(one for one in whole.headers if one[0] != "x-request-id")
    assert found.headers == (others if request_id else whole.headers)
    assert (found.path, found.accept_encoding) == ("/v2", "gzip")
    assert HeadCache().get(raw) == whole


def test_heads_that_differ_by_their_ids_are_one() -> None:
    cache = HeadCache(ids_apart=True)
    heads = [cache.get(head("GET /v2 HTTP/1.1", f"x-request-id: {i}", "a: b")) for i in range(50)]
    assert len({id(one) for one in heads}) == 1
    cache.get(head("GET /v2 HTTP/1.1", "a: b"))
    assert cache.request_id == b"", "it is not that of the one before"


@pytest.mark.parametrize("folded", [" b: c", "\tb: c"])
def test_a_line_that_goes_on_is_left_as_it_is(folded: str) -> None:
    """Else the rest of the id would belong to the header before it."""
    cache = HeadCache(ids_apart=True)
    raw = head("GET /v2 HTTP/1.1", "a: b", "x-request-id: c", folded)
    try:
        expected: object = parse_head(raw)
    except HttpRefusal as refusal:
        expected = str(refusal)
    try:
        found: object = cache.get(raw)
    except HttpRefusal as refusal:
        found = str(refusal)
    assert (found, cache.request_id) == (expected, b"")


def test_of_two_ids_the_second_stays() -> None:
    cache = HeadCache(ids_apart=True)
    found = cache.get(head("GET /v2 HTTP/1.1", "x-request-id: a", "x-request-id: b"))
    assert (cache.request_id.rstrip(), found.headers[1:]) == (b"a", (("x-request-id", "b"),))


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


def test_a_chunk_in_tiny_pieces_takes_the_memory_of_its_bytes() -> None:
    """A client may send each by itself: an object for each took forty times as much."""
    decoder, size = ChunkedBody(1 << 20), 1 << 18
    decoder.feed(b"%x\r\n" % size)
    tracemalloc.start()
    try:
        for number in range(size):
            decoder.feed(bytes([number % 256]))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2 * size
    body, rest = decoder.feed(b"\r\n0\r\n\r\nGET")
    assert (body, rest) == (bytes(range(256)) * (size // 256), b"GET")


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
    assert caught.value.status == 400
    assert "exceeds the maximum allowed value of 10 bytes" in str(caught.value)


@pytest.mark.parametrize(("count", "fine"), [(65_536, True), (65_537, False)])
def test_chunks_are_counted(count: int, fine: bool) -> None:
    decoder = ChunkedBody(100_000)
    wire = b"1\r\nA\r\n" * count + b"0\r\n\r\n"
    if fine:
        assert decoder.feed(wire) == (b"A" * count, b"")
    else:
        with pytest.raises(HttpRefusal, match="more than 65536 chunks"):
            decoder.feed(wire)


def unpacked(data: bytes, coding: str, limit: int) -> bytes:
    """What comes of a body that is small enough to be unpacked at once."""
    found: list[bytes | Exception] = []
    decompress(data, coding, limit, found.append, found.append)
    (result,) = found
    if isinstance(result, Exception):
        raise result
    return result


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_codings_round_trip(coding: str) -> None:
    assert unpacked(compress(b"hello" * 9, coding), coding, 1000) == b"hello" * 9


@pytest.mark.parametrize(
    ("data", "coding", "status", "text"),
    [
        (b"x", "br", 501, "Unsupported compression type"),
        (gzip.compress(b"x", mtime=0), "GZIP", 501, "Unsupported compression type"),
        (b"", "gzip", 400, "nothing to be decompressed"),
        (b"not gzip", "gzip", 400, "not valid gzip"),
        (gzip.compress(b"a" * 99, mtime=0)[:-9], "gzip", 400, "ends too early"),
        (zlib.compress(b"\0" * 100_000), "deflate", 400, "exceeds the maximum allowed value"),
    ],
)
def test_bad_compressed_bodies_are_refused(
    data: bytes, coding: str, status: int, text: str
) -> None:
    with pytest.raises((HttpRefusal, InvalidArgument)) as caught:
        unpacked(data, coding, 10_000)
    assert status_of(caught.value) == status
    assert text in str(caught.value)


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
        ("gzip ,deflate", "deflate"),
        ("gzip; q=0.5", ""),
        ("GZIP", ""),
        ("*", ""),
    ],
)
def test_the_best_coding_wins(accept: str, coding: str) -> None:
    assert best_coding(accept) == coding


ROUTES = [
    ("v2", "server_metadata", "", "", "metadata"),
    ("v2/health/live", "live", "", "", "health"),
    ("v2/models/stats", "statistics", "", "", "statistics"),
    ("v2/models/stats/ready", "model_ready", "stats", "", "health"),
    ("v2/models/m", "model_metadata", "m", "", "metadata"),
    ("v2/models/m/versions/3", "model_metadata", "m", "3", "metadata"),
    ("v2/models/m/versions/003/infer", "infer", "m", "3", "inference"),
    ("v2/models/m/versions/99999999999999999999/infer", "bad_version", "m", "", "inference"),
    ("v2/models/m/ready", "model_ready", "m", "", "health"),
    ("v2/models/m/config", "model_config", "m", "", "model-config"),
    ("v2/models/m/generate", "generate", "m", "", "inference"),
    ("v2/models/m/versions/1/generate_stream", "generate_stream", "m", "1", "inference"),
    ("v2/models/m/trace/setting", "trace", "m", "", "trace"),
    ("v2/models/a%20b", "model_metadata", "a b", "", "metadata"),
    ("v2/models/a%20(b)", "model_metadata", "a (b)", "", "metadata"),
    ("v2/models/%C3%A4", "model_metadata", "ä", "", "metadata"),
    ("v2/models/%c3%a4", "model_metadata", "%c3%a4", "", "metadata"),
    ("v2/models/m%69x", "model_metadata", "m%69x", "", "metadata"),
    ("v2/models/100%", "model_metadata", "100%", "", "metadata"),
    ("v2/models/a%2fb", "model_metadata", "a%2fb", "", "metadata"),
    ("v2/trace/setting", "trace", "", "", "trace"),
    ("v2/logging", "logging", "", "", "logging"),
    ("v2/repository/index", "index", "", "", "model-repository"),
    ("v2/repository/here/index", "index", "", "", "model-repository"),
    ("v2/repository/models/m/load", "load", "m", "", "model-repository"),
    ("v2/repository/here/models/m/unload", "unload", "m", "", "model-repository"),
    ("v2/systemsharedmemory/status", "system_status", "", "", "shared-memory"),
    ("v2/systemsharedmemory/region/r/register", "system_register", "r", "", "shared-memory"),
    ("v2/cudasharedmemory/unregister", "cuda_unregister", "", "", "shared-memory"),
    ("score", "score", "", "", "inference"),
]


@pytest.mark.parametrize(("path", "kind", "name", "version", "category"), ROUTES)
def test_routes(path: str, kind: str, name: str, version: str, category: str) -> None:
    route = match(f"/{path}")
    assert route is not None
    assert (route.kind, route.name, route.category) == (kind, name, category)
    if kind != "bad_version":
        assert route.version == version


@pytest.mark.parametrize(
    "path",
    [
        "",
        "v2/",
        "v2/models",
        "v2/models/",
        "v2/models//ready",
        "v2/models/m/",
        "v2/models/m/versions/abc/infer",
        "v2/models/m/versions/1/trace/setting",
        "v2/models/m/infer/",
        "v2/models/m/nothing",
        "v2/health",
        "v2/health/nothing",
        "V2/health/live",
        "v1/models",
        "v2/models/m/versions",
        "v2/repository/models/m",
        "v2/systemsharedmemory",
        "score/",
    ],
)
def test_unknown_paths(path: str) -> None:
    assert match(f"/{path}") is None


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BackendFailed("CUDA out of memory. Tried to allocate 20 GiB"), 507),
        (MemoryError(), 507),
        (LoadFailed("[Errno 28] No space left on device"), 507),
        (NotFound("no such model"), 404),
        (AlreadyExists("again"), 409),
        (BackendFailed("a bug"), 400),
    ],
)
def test_sagemaker_hears_of_memory_that_is_short(error: Exception, status: int) -> None:
    for path in ("/models", "/models/m/invoke"):
        assert answered(error, path)[0] == status
    assert answered(error, "/v2/models/m/infer")[0] == status_of(error)
