"""HTTP to the REST API: credentials, problems as exceptions, retries while the studio restarts."""

import ipaddress
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import httpx

from shoal.client.concurrency import Concurrency, Threads
from shoal.client.discovery import Installation
from shoal.client.errors import ConnectionFailed, Problem, problem_arguments
from shoal.version import __version__

WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
RESTARTING = frozenset({502, 503, 504})
_PIECE_BYTES = 1 << 20
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 3.0


class Transport:
    """One HTTP connection pool to one installation.

    A server that answered once and then does not is taken to be restarting: calls that may be
    repeated are repeated for ``retry_for_s``. One that never answered is reported at once.
    """

    def __init__(
        self,
        installation: Installation,
        *,
        timeout_s: float = 60.0,
        retry_for_s: float = 120.0,
        transport: httpx.BaseTransport | None = None,
        concurrency: Concurrency | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.installation = installation
        self.concurrency = concurrency or Threads()
        self.pause, self.clock, self.retry_for_s = self.concurrency.pause, clock, retry_for_s
        headers = {"User-Agent": f"shoal/{__version__}", "Accept": "application/json"}
        if installation.token:
            headers["Authorization"] = f"Bearer {installation.token}"
        self._http = httpx.Client(
            base_url=installation.url,
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 10.0)),
            transport=transport or self.concurrency.http_transport(installation.url, None),
            # why: a proxy from the environment must not be asked for this machine's own ports
            trust_env=not is_loopback(installation.url),
        )
        self._answered = False

    def close(self) -> None:
        self._http.close()

    def json(self, method: str, path: str, *, repeat: bool | None = None, **options: Any) -> Any:
        """The decoded body (None for an empty one). Raises Problem and ConnectionFailed."""
        response = self.send(method, path, repeat=repeat, **options)
        if not response.content:
            return None
        try:
            return response.json()
        except ValueError as error:
            raise Problem(
                "The answer is not JSON",
                f"{method} {response.url}: {response.text[:200]!r}",
                [f"Is {self.installation.url} the studio's URL (not the gateway's)?"],
                status=response.status_code,
            ) from error

    def send(
        self,
        method: str,
        path: str,
        *,
        repeat: bool | None = None,
        content: bytes | Iterable[bytes] | None = None,
        json: object = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> httpx.Response:
        """``repeat``: whether it may be sent again when its answer was lost (default: yes).

        Writes carry an idempotency key, by which the studio does once what arrives twice. Bytes of
        uploads do not; those say ``repeat=False``.
        """
        harmless = repeat is not False
        keyed = harmless and content is None and method in WRITES
        if keyed:
            headers = {**(headers or {}), "Idempotency-Key": uuid.uuid4().hex}
        streamed = content is not None and not isinstance(content, bytes)  # gone once read
        since, pause_s = self.clock(), _FIRST_PAUSE_S
        while True:
            lost: httpx.TransportError | httpx.Response
            try:
                response = self._http.request(
                    method,
                    f"/api/v1{path}",
                    content=content,
                    json=json,
                    params=_present(params),
                    headers=headers,
                )
            except httpx.TransportError as error:
                unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                lost, unsent = error, unsent and not streamed
            else:
                # the first sending of it is still being carried out
                waiting = (
                    keyed and response.status_code == 409 and "Retry-After" in response.headers
                )
                if not (harmless and (waiting or response.status_code in RESTARTING)):
                    self._answered = True
                    return _checked(response)
                lost, unsent = response, False
            waited_s = self.clock() - since
            if not self._answered or not (harmless or unsent) or waited_s > self.retry_for_s:
                raise self._failure(method, lost, harmless=harmless, unsent=unsent)
            self.pause(pause_s)
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def stream(self, path: str) -> Iterator[bytes]:
        """The body in pieces. Raises Problem and ConnectionFailed."""
        try:
            with self._http.stream("GET", f"/api/v1{path}") as response:
                if not response.is_success:
                    response.read()
                    raise _problem(response)
                yield from response.iter_bytes(_PIECE_BYTES)
        except httpx.TransportError as error:
            raise self._failure("GET", error, harmless=True, unsent=False) from error

    def _failure(
        self,
        method: str,
        lost: httpx.TransportError | httpx.Response,
        *,
        harmless: bool,
        unsent: bool,
    ) -> ConnectionFailed | Problem:
        if isinstance(lost, httpx.Response):
            return _problem(lost)
        where = f" (from {self.installation.source})" if self.installation.source else ""
        detail = f"{self.installation.url}{where}: {lost}"
        if not harmless and not unsent:
            return ConnectionFailed(
                f"The connection broke during {method}; it may have been carried out",
                detail,
                ["Look before you repeat it: `shoal endpoint list`, `shoal model list`."],
            )
        return ConnectionFailed(
            "Shoal does not answer",
            detail,
            ["Is it running? `make up` (or `shoal up`) starts it.", "Is the URL right?"],
        )


def _checked(response: httpx.Response) -> httpx.Response:
    if response.is_success:
        return response
    raise _problem(response)


def _problem(response: httpx.Response) -> Problem:
    try:
        body: object = response.json() if response.content else None
    except ValueError:
        body = response.text
    if isinstance(body, dict) and not (body.get("title") or body.get("message")):
        body = {**body, "detail": body.get("detail") or body.get("error") or str(body)}
    arguments = problem_arguments(
        body, fallback=f"{response.status_code} {response.reason_phrase}".strip()
    )
    arguments["status"] = response.status_code
    wrong_token = response.status_code == 401 and arguments.get("code") != "BadCredentials"
    if wrong_token:
        way_out = "The token is missing, expired or revoked: `shoal login`, or set SHOAL_TOKEN."
        arguments["hints"] = [*(arguments.get("hints") or []), way_out]
    return Problem(**arguments)


def _present(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return {key: value for key, value in params.items() if value is not None} if params else None


def is_loopback(url: str) -> bool:
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
