"""Request heads: parsed by httptools, remembered by their bytes (clients repeat themselves)."""

import re
from collections.abc import Callable
from typing import Any

import httptools
import msgspec

from worker_runtime.observability.requests.watched import padded
from worker_runtime.protocols.forms import remember
from worker_runtime.protocols.http.errors import HttpRefusal

MAX_HEAD_BYTES = 64 * 1024
_CACHED_HEAD_BYTES = 2048
_MAX_CACHED = 1024
_DIGITS = re.compile(rb"[0-9]{1,18}\Z")
_ID_LINE = b"\r\nx-request-id: "
_PLAIN_ID = re.compile(rb"[!-~]{15,64}\Z")
_SHORT_ID = re.compile(rb"[!-~]{1,14}\Z")  # which is to be padded
_LEADING = re.compile(rb"\s*([+-]?[0-9]{1,18})")


class Head(msgspec.Struct):
    """What the server needs of one request head.

    ``json_length`` is -1 without the header and -2 when it is negative; ``json_text`` is what it
    said. ``headers`` keep names as they were sent. ``route`` and ``forwarded`` are filled by the
    application and kept with the cached head.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...]
    keep_alive: bool
    old_http: bool
    content_length: int = 0
    chunked: bool = False
    json_length: int = -1
    expects_continue: bool = False
    content_encoding: str = ""
    accept_encoding: str = ""
    json_text: str = ""
    query: str = ""
    route: Any = None
    forwarded: Any = None


class _Collector:
    """Takes httptools' callbacks of one head."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.complete = False
        self.keep_alive = False
        self.parser: Any = None

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self.complete = True
        # why here: once a message without a body is over, the parser has forgotten it.
        self.keep_alive = self.parser.should_keep_alive()


class HeadCache:
    """Heads by their exact bytes, bounded by size and number. ``parse`` reads those not seen.

    With ``ids_apart`` the line of an ``x-request-id`` is taken off first, and its value is in
    ``request_id``, ``padded``, until the next ``get``: gateways send another one each time, and all
    heads would be new ones.
    """

    def __init__(
        self, parse: Callable[[bytes], Head] | None = None, *, ids_apart: bool = False
    ) -> None:
        self.request_id = b""
        self._heads: dict[bytes, Head] = {}
        self._parse = parse or parse_head
        self._ids_apart = ids_apart

    def get(self, raw: bytes) -> Head:
        """The head in ``raw`` (up to and with the blank line). Raises HttpRefusal."""
        self.request_id = b""
        head = self._heads.get(raw)
        if head is None and self._ids_apart:
            raw = self._without_id(raw)
            head = self._heads.get(raw)
        if head is None:
            head = self._parse(raw)
            if len(raw) <= _CACHED_HEAD_BYTES:
                remember(self._heads, raw, head, _MAX_CACHED)
        return head

    def _without_id(self, raw: bytes) -> bytes:
        """``raw`` itself where that line is not plainly one header."""
        begin = raw.find(_ID_LINE)
        if begin < 0:
            return raw
        end = raw.find(b"\r\n", begin + 2)
        value = raw[begin + len(_ID_LINE) : end]
        # why the byte behind it: a line that begins with a space goes on with the one before
        if raw[end + 2] in b" \t":
            return raw
        if not _PLAIN_ID.match(value):
            if not _SHORT_ID.match(value):
                return raw
            value = padded(value)
        self.request_id = value
        return raw[:begin] + raw[end:]


def parse_head(raw: bytes) -> Head:
    """Parse one request head. Raises HttpRefusal, which closes the connection."""
    found = _Collector()
    parser = found.parser = httptools.HttpRequestParser(found)
    try:
        parser.feed_data(raw)
    except httptools.HttpParserUpgrade:
        pass  # why: an offer to upgrade may be ignored; the request stands as it is
    except (httptools.HttpParserError, httptools.HttpParserCallbackError) as error:
        raise HttpRefusal(400, f"malformed HTTP request: {error}", close=True) from error
    if not found.complete:
        raise HttpRefusal(400, "malformed HTTP request: incomplete head", close=True)
    version = parser.get_http_version()
    if version not in ("1.1", "1.0"):
        raise HttpRefusal(505, f"HTTP version {version} is not supported", close=True)
    path, query = _target(found.url)
    head = Head(
        method=parser.get_method().decode("ascii"),
        path=path,
        headers=tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in found.headers),
        keep_alive=found.keep_alive,
        old_http=version == "1.0",
        query=query,
    )
    _read_headers(head, found.headers)
    return head


def _target(url: bytes) -> tuple[str, str]:
    """Path and query as they were sent."""
    try:
        parsed = httptools.parse_url(url)
        return (parsed.path or b"/").decode("ascii"), (parsed.query or b"").decode("latin-1")
    except (httptools.HttpParserInvalidURLError, UnicodeDecodeError) as error:
        raise HttpRefusal(400, "malformed HTTP request: bad request target", close=True) from error


def _read_headers(head: Head, headers: list[tuple[bytes, bytes]]) -> None:
    for given, value in headers:
        name = given.lower()
        if name == b"content-length":
            if head.content_length and int(value) != head.content_length:
                raise HttpRefusal(400, "more than one Content-Length", close=True)
            head.content_length = _number(value, "Content-Length")
        elif name == b"transfer-encoding":
            if value.strip().lower() != b"chunked":
                raise HttpRefusal(501, "only chunked transfer encoding is supported", close=True)
            if head.old_http:
                # why: a proxy that speaks HTTP/1.0 may have passed it on without understanding it.
                raise HttpRefusal(400, "HTTP/1.0 has no chunked transfer encoding", close=True)
            head.chunked = True
        elif name == b"inference-header-content-length":
            head.json_text = value.decode("latin-1")
            head.json_length = leading_number(value)
        elif name == b"expect":
            if value.strip().lower() != b"100-continue":
                raise HttpRefusal(417, "only 100-continue can be expected", close=True)
            head.expects_continue = True
        elif name == b"content-encoding":
            head.content_encoding = value.decode("latin-1").strip()
        elif name == b"accept-encoding":
            head.accept_encoding = value.decode("latin-1")


def leading_number(value: bytes) -> int:
    """The number that a text begins with, as C's atoi reads it: 0 for none, -2 below zero."""
    found = _LEADING.match(value)
    number = int(found[1]) if found else 0
    return number if number >= 0 else -2


def _number(value: bytes, name: str) -> int:
    if not _DIGITS.match(value.strip()):
        raise HttpRefusal(400, f"{name} is not a number: {value.decode('latin-1')!r}", close=True)
    return int(value)
