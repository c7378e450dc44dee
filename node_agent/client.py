"""REST calls to the control plane's REST API for nodes (`/agent/v1`)."""

import contextlib
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from wire import codec
from wire.messages import (
    CacheReport,
    CertificateReply,
    CertificateRequest,
    DesiredState,
    LeaveReply,
    LeaveRequest,
    NodeReport,
    RegisterReply,
    RegisterRequest,
    ReportReply,
)
from wire.samples import LogBatch, SampleBatch
from wire.wake_up import LIFE_S

T = TypeVar("T")
TIMEOUT = httpx.Timeout(10.0, connect=5.0)
CHUNK_BYTES = 1 << 20
# They become names of files here, so nothing but plain names comes through.
REPLICA_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", re.ASCII)
SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)
KEPT_S = 30.0  # of an idle connection, which saves handshakes; the agents' port keeps it longer


class ControlError(RuntimeError):
    """The control plane cannot be reached, or its answer makes no sense. Trying again may help."""


class Refused(ControlError):
    """It answered and said no; the same call will not do better."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class CredentialRefused(Refused):
    """This node is not known (any more), or its token is used or expired."""


@dataclass(frozen=True, slots=True)
class BlobStream:
    """`offset` is where the bytes really begin: 0 when the server ignored the wanted one."""

    offset: int
    chunks: AsyncIterator[bytes]


class ControlClient:
    """One connection pool; every call has a deadline. Raises ControlError and its kinds."""

    def __init__(
        self,
        url: str,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self._url = url
        self._credential = ""
        self._http = self._connected(transport, trusted)
        self._left: list[httpx.AsyncClient] = []  # what is under way there goes on

    def _connected(
        self, transport: httpx.AsyncBaseTransport | None, trusted: ssl.SSLContext | None
    ) -> httpx.AsyncClient:
        limits = httpx.Limits(keepalive_expiry=KEPT_S)
        # why mounted: buckets, where blobs may lie, have certificates of other authorities
        pinned = httpx.AsyncHTTPTransport(verify=trusted, limits=limits) if trusted else None
        # why trust_env off: a proxy of the environment must not see node credentials.
        return httpx.AsyncClient(
            base_url=f"{self._url}/agent/v1/",
            headers={"Authorization": f"Bearer {self._credential}"} if self._credential else None,
            timeout=TIMEOUT,
            trust_env=False,
            transport=transport,
            mounts={self._url: pinned} if pinned else None,
            limits=limits,
        )

    async def move(self, url: str, trusted: ssl.SSLContext) -> None:
        """From now on it is called at ``url``, and proves itself to this context, as we to it."""
        self._url = url
        while self._left:  # it was left one move ago, which is days
            await self._left.pop().aclose()
        self._left.append(self._http)
        self._http = self._connected(None, trusted)

    async def answers(self, url: str, trusted: ssl.SSLContext) -> None:
        """See whether it answers us there, and leave all as it is. Raises ControlError."""
        other = ControlClient(url, trusted=trusted)
        other.use_credential(self._credential)
        try:
            await other.desired()
        finally:
            await other.close()

    def use_credential(self, credential: str) -> None:
        self._credential = credential
        self._http.headers["Authorization"] = f"Bearer {credential}"

    async def register(self, request: RegisterRequest) -> RegisterReply:
        return await self._exchange("POST", "register", RegisterReply, request)

    async def certificate(self, request: CertificateRequest) -> CertificateReply:
        return await self._exchange("POST", "certificate", CertificateReply, request)

    async def desired(self) -> DesiredState:
        """Raises ControlError, also for names that would lead out of the node's folder."""
        found = await self._exchange("GET", "desired", DesiredState)
        for replica in found.replicas:
            if not REPLICA_ID.fullmatch(replica.replica_id):
                raise ControlError(
                    f"desired: replica_id={replica.replica_id!r:.120}: no plain name"
                )
            for file in replica.files:
                if not SHA256.fullmatch(file.sha256):
                    told = f"{file.sha256!r:.120}"
                    raise ControlError(f"desired: sha256={told}: expected 64 hexadecimal digits")
        return found

    async def leave(self, deadline_s: int) -> LeaveReply:
        return await self._exchange("POST", "leave", LeaveReply, LeaveRequest(deadline_s))

    async def report(self, report: NodeReport) -> ReportReply:
        return await self._exchange("POST", "report", ReportReply, report)

    async def samples(self, batch: SampleBatch) -> ReportReply:
        return await self._exchange("POST", "samples", ReportReply, batch)

    async def cache(self, report: CacheReport) -> None:
        await self._send("POST", "cache", report)

    async def logs(self, batch: LogBatch) -> None:
        await self._send("POST", "logs", batch)

    async def captured(
        self, replica_id: str, name: str, *, endpoint: str, deployment: str, content: bytes
    ) -> None:
        """Send a file of captured data. Doing so twice does no harm."""
        with _translated("captured"):
            response = await self._http.put(
                f"captured/{replica_id}/{name}",
                params={"endpoint": endpoint, "deployment": deployment},
                content=content,
                headers={"Content-Type": "application/x-ndjson"},
            )
        if response.is_error:
            raise _refusal(response)

    @contextlib.asynccontextmanager
    async def blob(self, sha256: str, offset: int) -> AsyncIterator[BlobStream]:
        """The bytes of a blob from `offset` on. Raises ControlError, also while iterating."""
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        with _translated("blob"):
            # why followed: the bytes may lie in a bucket; httpx keeps our credential to ourselves
            async with self._http.stream(
                "GET", f"blobs/{sha256}", headers=headers, follow_redirects=True
            ) as response:
                if response.is_error:
                    await response.aread()
                    raise _refusal(response)
                resumed = response.status_code == httpx.codes.PARTIAL_CONTENT
                yield BlobStream(offset if resumed else 0, response.aiter_bytes(CHUNK_BYTES))

    @contextlib.asynccontextmanager
    async def wake_ups(self) -> AsyncIterator[AsyncIterator[bytes]]:
        """The wake-up stream as it comes. Raises ControlError, also while iterating: for
        silence too, of three times what the control plane allows itself."""
        with _translated("wake-ups"):
            async with self._http.stream(
                "GET",
                "wake-ups",
                headers={"Accept-Encoding": "identity"},  # compressed lines would be held back
                timeout=httpx.Timeout(3 * LIFE_S, connect=5.0),
            ) as response:
                if response.status_code != httpx.codes.OK:
                    await response.aread()
                    raise _refusal(response)
                yield response.aiter_raw()

    async def close(self) -> None:
        for client in (*self._left, self._http):
            await client.aclose()

    async def _exchange(self, method: str, path: str, kind: type[T], body: Any = None) -> T:
        response = await self._send(method, path, body)
        try:
            return codec.decode(kind, response.content)
        except codec.WireError as error:
            raise ControlError(f"{path}: {error}") from error

    async def _send(self, method: str, path: str, body: Any = None) -> httpx.Response:
        content = None if body is None else codec.encode(body)
        client = self._http
        with _translated(path):
            response = await client.request(
                method, path, content=content, headers={"Content-Type": "application/json"}
            )
        if response.is_error and client is not self._http:
            raise ControlError(f"{path}: asked where we have left; asking again")
        if response.is_error:
            raise _refusal(response)
        return response


@contextlib.contextmanager
def _translated(what: str) -> Any:
    try:
        yield
    except httpx.HTTPError as error:
        raise ControlError(f"{what}: {error or type(error).__name__}") from error


def _refusal(response: httpx.Response) -> ControlError:
    message = f"{response.request.url.path}: {response.status_code} {_error_text(response)}"
    if response.status_code in {401, 403}:
        return CredentialRefused(response.status_code, message)
    if response.is_server_error or response.status_code in {408, 425, 429}:
        return ControlError(message)
    return Refused(response.status_code, message)


def _error_text(response: httpx.Response) -> str:
    try:
        problem = response.json()
        return str(problem.get("detail") or problem.get("title") or "")
    except (ValueError, AttributeError):
        return response.text[:200]
