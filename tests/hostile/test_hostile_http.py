"""Attacks over HTTP/1.1 beside a polite client, and the forms of request smuggling."""

import pytest

from tests.hostile.ground import Ground, Row
from tests.hostile.http_attacks import ATTACKS, asked
from tests.support.runtime_process import Runtime


@pytest.mark.parametrize("attack", ATTACKS)
def test_it_costs_the_attacker(attack: str, ground: Ground, row: Row) -> None:
    run, reason = ATTACKS[attack]
    before = ground.refusals()
    ground.withstands(row, run)
    if reason:
        assert ground.refusals().get(("http", reason), 0) > before.get(("http", reason), 0)


# What two servers might see as one request or as two: the second must never be answered.
SMUGGLED = b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\nSmuggled: yes\r\n\r\n"
POST = b"POST /v2 HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
FORMS: dict[str, bytes] = {
    "two lengths": b"Content-Length: 5\r\nContent-Length: 0\r\n\r\n",
    "two lengths, the other way": b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n",
    "two lengths in one": b"Content-Length: 0, 5\r\n\r\n",
    "a length with a sign": b"Content-Length: +5\r\n\r\n",
    "a length below 0": b"Content-Length: -1\r\n\r\n",
    "a length in base 16": b"Content-Length: 0x5\r\n\r\n",
    "a length with a letter": b"Content-Length: 5a\r\n\r\n",
    "a length with a space in it": b"Content-Length: 1 0\r\n\r\n",
    "a length of other digits": "Content-Length: \u0661\r\n\r\n".encode(),
    "no length": b"Content-Length: \r\n\r\n",
    "a length beyond 64 bits": b"Content-Length: 18446744073709551616\r\n\r\n",
    "length and chunks": b"Content-Length: 5\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    "chunks and length": CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "chunks twice": CHUNKED * 2 + b"\r\n0\r\n\r\n",
    "chunks in chunks": b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunks, then identity": b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "identity": b"Transfer-Encoding: identity\r\n\r\n",
    "xchunked": b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "chunked in quotes": b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "chunked with a tab in front of its colon": b"Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
    "a space in front of a colon": b"Content-Length : 5\r\n\r\n",
    "a space in front of a name": b" Content-Length: 5\r\n\r\n",
    "a folded line": b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "a folded value": b"A: b\r\n Content-Length: 5\r\n\r\n",
    "a line that ends in LF alone": b"A: b\nContent-Length: 5\r\n\r\n",
    "a line that ends in CR alone": b"A: b\rContent-Length: 5\r\n\r\n",
    "NUL in a value": b"A: b\0c\r\n\r\n",
    "NUL in a name": b"A\0: b\r\n\r\n",
    "a field without a name": b": b\r\n\r\n",
    "a field without a colon": b"Content-Length\r\n\r\n",
    "a chunk of size 0x5": CHUNKED + b"\r\n0x5\r\nabcde\r\n0\r\n\r\n",
    "a chunk with a sign": CHUNKED + b"\r\n+5\r\nabcde\r\n0\r\n\r\n",
    "a chunk below 0": CHUNKED + b"\r\n-5\r\nabcde\r\n0\r\n\r\n",
    "a chunk with a space in front": CHUNKED + b"\r\n 5\r\nabcde\r\n0\r\n\r\n",
    "a chunk with an underscore": CHUNKED + b"\r\n1_0\r\nabcde\r\n0\r\n\r\n",
    "a chunk beyond 64 bits": CHUNKED + b"\r\n10000000000000005\r\nabcde\r\n0\r\n\r\n",
    "a chunk that is longer than it says": CHUNKED + b"\r\n3\r\nabcde\r\n0\r\n\r\n",
    "a chunk whose line ends in LF alone": CHUNKED + b"\r\n5\nabcde\r\n0\r\n\r\n",
    "a chunk with LF in its extension": CHUNKED + b"\r\n5;a\nb\r\nabcde\r\n0\r\n\r\n",
    "a chunk that ends in LF alone": CHUNKED + b"\r\n5\r\nabcde\n0\r\n\r\n",
    "a chunk without a size": CHUNKED + b"\r\n\r\nabcde\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_smuggled(form: str, server: Runtime) -> None:
    answer = asked(server, POST + FORMS[form] + SMUGGLED)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 501 ")), answer
    assert answer.count(b"HTTP/1.1 ") == 1, answer
    assert b"Connection: close\r\n" in answer


@pytest.mark.parametrize("version", [b"1.0", b"1.0\r\nConnection: keep-alive"])
def test_http_1_0_has_no_chunks(version: bytes, server: Runtime) -> None:
    head = b"POST /v2 HTTP/" + version + b"\r\n" + CHUNKED
    answer = asked(server, head + b"\r\n0\r\n\r\n" + SMUGGLED)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
