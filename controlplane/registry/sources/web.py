"""GET over HTTP, of servers that people name: bounded in where, how long, how slowly, how much.

Every connection goes to an address that ``core.addresses`` has judged, also after a redirect. A
body is taken as it comes: who compresses it on its way is refused, so nothing here can grow.
"""

import json
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote, unquote, urljoin, urlsplit

import httpcore

from controlplane.core.addresses import AddressRefused, Allowed, NameUnknown, judged, url_check
from controlplane.core.errors import Invalid
from controlplane.core.trust import trusted
from controlplane.registry.errors import ImportFailed

CONNECT_S: Final = 10.0
READ_S: Final = 15.0  # why less than ingest's STALE: who waits for one read is still at work
MOST_REDIRECTS: Final = 5
MOST_LISTED: Final = 16 * 2**20  # bytes of an answer that is no file
SLOW_S: Final = 30.0
LEAST_BYTES: Final = 32 * 2**10  # in each SLOW_S
REDIRECTS: Final = (301, 302, 303, 307, 308)
Headers = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Bounds:
    """``deadline`` by the monotonic clock; ``own`` is an origin that an administrator has set,
    which is called wherever it is."""

    allowed: Allowed
    deadline: float
    own: str = ""
    proxy: str = ""


def origin_of(url: str) -> str:
    """Scheme, host and port, in one spelling."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{(parts.hostname or '').lower()}:{port}"


def shown(url: str) -> str:
    """The URL without what may be a secret: what stands before the host, or after the path."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


class Web:
    """``tick`` hears of every piece, and may end the work by what it raises."""

    def __init__(
        self,
        bounds: Bounds,
        tick: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bounds = bounds
        self._tick = tick
        self._clock = clock
        self._pools: dict[str, httpcore.ConnectionPool] = {}

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    @contextmanager
    def get(self, url: str, headers: Headers | None = None) -> Iterator["Answer"]:
        """The answer with a body, after redirects; ``headers`` go to the first origin alone.

        Raises ImportFailed.
        """
        first, here = origin_of(url), url
        for _ in range(MOST_REDIRECTS + 1):
            _checked(here)
            kept = dict(headers or {}) if origin_of(here) == first else {}
            with self._answered(here, kept) as answer:
                if answer.status not in REDIRECTS or "location" not in answer.headers:
                    yield _succeeded(answer)
                    return
                here = _next(here, answer.headers["location"])
        raise ImportFailed(
            f"{shown(url)} redirects more than {MOST_REDIRECTS} times.", code="ImportRedirects"
        )

    def text(self, url: str, headers: Headers | None = None) -> bytes:
        """A small body whole. Raises ImportFailed."""
        found = bytearray()
        with self.get(url, headers) as answer:
            for piece in answer.pieces():
                found += piece
                if len(found) > MOST_LISTED:
                    raise ImportFailed(
                        f"{answer.shown} answers with more than {MOST_LISTED} bytes, where a list "
                        "was expected.",
                        code="ImportTooLarge",
                    )
        return bytes(found)

    def json(self, url: str, headers: Headers | None = None) -> dict[str, Any]:
        """Raises ImportFailed."""
        try:
            found = json.loads(self.text(url, headers))
        except (ValueError, RecursionError) as error:
            raise ImportFailed(
                f"{shown(url)} does not answer with JSON: is it the API that was meant?",
                code="ImportFailed",
            ) from error
        if not isinstance(found, dict):
            raise ImportFailed(
                f"{shown(url)} answers with JSON that is no object.", code="ImportFailed"
            )
        return found

    @contextmanager
    def _answered(self, url: str, headers: dict[str, str]) -> Iterator["Answer"]:
        host = urlsplit(url).hostname
        sent: dict[bytes | str, bytes | str] = {"Accept": "*/*", "User-Agent": "Shoal"}
        sent.update(headers)
        sent["Accept-Encoding"] = "identity"
        timeouts = {"connect": CONNECT_S, "read": READ_S, "write": READ_S, "pool": CONNECT_S}
        try:
            with self._pool(url).stream(
                "GET", url, headers=sent, extensions={"timeout": timeouts}
            ) as response:
                yield Answer(response, url, self._clock)
        except AddressRefused as error:
            raise ImportFailed(str(error), code="ImportAddressRefused") from error
        except (
            httpcore.NetworkError,
            httpcore.TimeoutException,
            httpcore.ProtocolError,
            httpcore.ProxyError,
            httpcore.UnsupportedProtocol,
            ssl.SSLError,
        ) as error:
            said = str(error) or type(error).__name__
            raise ImportFailed(
                f"{host} did not answer, or not to the end: {said}.", code="ImportUnreachable"
            ) from error

    def _pool(self, url: str) -> httpcore.ConnectionPool:
        """One for each origin: its connections lead to addresses that were judged for it."""
        origin, scheme = origin_of(url), urlsplit(url).scheme
        pool = self._pools.get(origin)
        own = origin == self._bounds.own
        if pool is None and self._bounds.proxy:
            if not own:
                self._judge_for_proxy(url)
            pool = _proxied(self._bounds.proxy, self._backend(scheme, judge=False))
        elif pool is None:
            backend = self._backend(scheme, judge=not own)
            secure = trusted() if scheme == "https" else None
            pool = httpcore.ConnectionPool(secure, network_backend=backend)
        self._pools[origin] = pool
        return pool

    def _backend(self, scheme: str, *, judge: bool) -> "_Guarded":
        allowed = self._bounds.allowed if judge else None
        return _Guarded(scheme, allowed, self.left, self._tick)

    def _judge_for_proxy(self, url: str) -> None:
        """The proxy looks the name up itself: what is known here is judged, and a proxy that must
        not reach inside has to refuse that."""
        parts = urlsplit(url)
        try:
            judged(parts.hostname or "", parts.port or 443, parts.scheme, self._bounds.allowed)
        except NameUnknown:
            if parts.scheme != "https":
                raise

    def left(self, timeout: float | None) -> float:
        """Raises ImportFailed when the time of the whole is over."""
        left = self._bounds.deadline - self._clock()
        if left <= 0:
            raise ImportFailed(
                "The import took longer than it may, and was stopped.",
                code="ImportTimeout",
                hints=("An administrator may raise SHOAL_IMPORT_TIMEOUT_S.",),
            )
        return left if timeout is None else min(timeout, left)


class Answer:
    def __init__(self, response: Any, url: str, clock: Callable[[], float]) -> None:
        self._response = response
        self._clock = clock
        self.url = url
        self.shown = shown(url)
        self.status = int(response.status)
        self.headers: dict[str, str] = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in response.headers
        }

    @property
    def size(self) -> int | None:
        """As it is announced; the body is what counts."""
        text = self.headers.get("content-length", "")
        return int(text) if text.isdecimal() and len(text) < 19 else None

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes. Raises ImportFailed for one that drips."""
        since, arrived = self._clock(), 0
        for piece in self._response.iter_stream():
            arrived += len(piece)
            yield piece
            now = self._clock()
            if now - since < SLOW_S:
                continue
            if arrived < LEAST_BYTES:
                raise ImportFailed(
                    f"{self.shown} sent {arrived} bytes in {now - since:.0f} s; at least "
                    f"{LEAST_BYTES} are expected.",
                    code="ImportTooSlow",
                )
            since, arrived = now, 0


def _checked(url: str) -> None:
    try:
        url_check(url)
    except Invalid as error:
        raise ImportFailed(
            f"It leads to an address that is not called ({error.message})",
            code="ImportAddressRefused",
        ) from error


def _next(here: str, location: str) -> str:
    try:
        return urljoin(here, location)
    except ValueError as error:
        raise ImportFailed(
            f"{shown(here)} redirects to what is no address.", code="ImportAddressRefused"
        ) from error


def _succeeded(answer: Answer) -> Answer:
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if answer.status in (401, 403):
        raise ImportFailed(
            f"{answer.shown} answered {answer.status}: it is not for everybody, or the "
            "credentials of this installation do not open it.",
            code="ImportDenied",
            hints=("docs/imports.md says how an administrator sets credentials.",),
        )
    if answer.status != 200:
        raise ImportFailed(f"{answer.shown} answered {answer.status}.", code="ImportFailed")
    if encoding not in ("", "identity"):
        raise ImportFailed(
            f"{answer.shown} is compressed on its way ({encoding[:20]}), although that was not "
            "asked for.",
            code="ImportFailed",
            hints=("Serve the file as it is; an archive such as .zip or .tar.gz is fine.",),
        )
    return answer


def _proxied(proxy: str, backend: "_Guarded") -> httpcore.HTTPProxy:
    parts = urlsplit(proxy)
    auth = (unquote(parts.username), unquote(parts.password or "")) if parts.username else None
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return httpcore.HTTPProxy(
        place, proxy_auth=auth, ssl_context=trusted(), network_backend=backend
    )


def path_of(*parts: str) -> str:
    """Parts of a URL's path that come from people or from lists: quoted, slashes kept."""
    return "/".join(quote(part, safe="/") for part in parts)


class _Guarded(httpcore.NetworkBackend):
    """Connections to what is judged; ``allowed`` None: to whom an administrator has named."""

    def __init__(
        self,
        scheme: str,
        allowed: Allowed | None,
        left: Callable[[float | None], float],
        tick: Callable[[], None],
    ) -> None:
        self._scheme = scheme
        self._allowed = allowed
        self._left = left
        self._tick = tick
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        self._tick()
        if self._allowed is not None:
            host = judged(host, port, self._scheme, self._allowed)
        stream = self._plain.connect_tcp(
            host, port, self._left(timeout), local_address, socket_options
        )
        return _Bounded(stream, self._left, self._tick)


class _Bounded(httpcore.NetworkStream):
    """No read or write goes on beyond the time of the whole, however little it gets at a time."""

    def __init__(
        self,
        stream: httpcore.NetworkStream,
        left: Callable[[float | None], float],
        tick: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._left = left
        self._tick = tick

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._tick()
        return self._stream.read(max_bytes, self._left(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        secured = self._stream.start_tls(ssl_context, server_hostname, self._left(timeout))
        return _Bounded(secured, self._left, self._tick)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
