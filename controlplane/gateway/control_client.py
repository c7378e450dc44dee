"""A gateway agent's client of the control plane."""

import ssl
from collections.abc import Iterator
from typing import TypeVar

import httpx

from wire import codec
from wire.messages import CertificateReply, CertificateRequest, GatewayReport, GatewaySnapshot
from wire.samples import GatewaySample, GatewaySampleBatch, GatewaySamplesReply, SeenRequest
from wire.serving_certificates import (
    ServingAuthority,
    ServingCertificateReply,
    ServingCertificateRequest,
)
from wire.wake_up import LIFE_S, WAKE_UP, Lines
from wire.waking import WakeReply, WakeRequest

T = TypeVar("T")
TIMEOUT_S = 5.0
KEPT_S = 30.0  # of an idle connection; the server keeps it longer


class ControlPlaneUnavailable(RuntimeError):
    """The control plane is down, or refuses this gateway; the text says which."""


class ControlPlaneIncompatible(ControlPlaneUnavailable):
    """There is no such resource: the control plane is of another version."""


class ControlPlaneClient:
    """``trusted``: who may answer; None is for authorities that this machine trusts."""

    def __init__(
        self, control_url: str, token: str, *, trusted: ssl.SSLContext | None = None
    ) -> None:
        self._token = token
        self._place = (control_url, trusted)
        self._client = self._connected(*self._place)

    def _connected(self, control_url: str, trusted: ssl.SSLContext | None) -> httpx.Client:
        return httpx.Client(
            base_url=f"{control_url}/agent/v1/gateway/",
            headers={"Authorization": f"Bearer {self._token}"},
            timeout=TIMEOUT_S,
            trust_env=False,
            verify=trusted or True,
            limits=httpx.Limits(keepalive_expiry=KEPT_S),
        )

    def move(self, control_url: str, trusted: ssl.SSLContext) -> None:
        """From now on it is called there, and proves itself to this context, as we to it."""
        self._client.close()
        self._place = (control_url, trusted)
        self._client = self._connected(*self._place)

    def answers(self, control_url: str, trusted: ssl.SSLContext) -> None:
        """See whether it answers us there, and leave all as it is.

        Raises ControlPlaneUnavailable.
        """
        other = ControlPlaneClient(control_url, self._token, trusted=trusted)
        try:
            other.snapshot("")
        finally:
            other.close()

    def certificate(self, request: CertificateRequest) -> CertificateReply:
        """Raises ControlPlaneUnavailable; ControlPlaneIncompatible: it has no certificates."""
        response = self._call("POST", "certificate", content=codec.encode(request))
        return _read(CertificateReply, response)

    def serving_authority(self) -> ServingAuthority:
        """Raises ControlPlaneUnavailable; ControlPlaneIncompatible: it signs none."""
        return _read(ServingAuthority, self._call("GET", "serving-authority"))

    def serving_certificate(self, request: ServingCertificateRequest) -> ServingCertificateReply:
        """Raises ControlPlaneUnavailable."""
        response = self._call("POST", "serving-certificate", content=codec.encode(request))
        return _read(ServingCertificateReply, response)

    def close(self) -> None:
        self._client.close()

    def snapshot(self, have: str) -> GatewaySnapshot | None:
        """What should be; None when that is version ``have``. Raises ControlPlaneUnavailable."""
        response = self._call("GET", "snapshot", params={"version": have})
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return None
        return _read(GatewaySnapshot, response)

    def report(self, report: GatewayReport) -> None:
        """Raises ControlPlaneUnavailable."""
        self._call("POST", "report", content=codec.encode(report))

    def wake_ups(self) -> Iterator[bytes]:
        """Lines of the wake-up stream (``wire.wake_up``) as they come, over a connection of its own
        and for a thread of its own. The first comes with the connection and is a wake-up: what came
        before was not heard. It ends soon after a move.

        Raises ControlPlaneUnavailable, also for silence of three times what is promised.
        """
        place = self._place
        timeout = httpx.Timeout(3 * LIFE_S, connect=TIMEOUT_S)
        headers = {"Accept-Encoding": "identity"}  # compressed lines would be held back
        try:
            with (
                self._connected(*place) as own,
                own.stream("GET", "wake-ups", headers=headers, timeout=timeout) as response,
            ):
                if response.status_code != httpx.codes.OK:
                    response.read()
                    raise _refusal("GET", "wake-ups", response)
                yield WAKE_UP
                cutting = Lines()
                for chunk in response.iter_raw():
                    yield from cutting.feed(chunk)
                    if self._place is not place:
                        return
        except (httpx.HTTPError, ValueError) as error:
            raise ControlPlaneUnavailable(f"No wake-ups: {error!r}") from error

    def leave(self) -> None:
        """This gateway is gone. Raises ControlPlaneUnavailable."""
        self._call("POST", "leave")

    def wake(self, endpoint: str, deployment: str) -> WakeReply:
        """Requests wait for a replica of it; for any thread. Raises ControlPlaneUnavailable."""
        told = WakeRequest(endpoint, deployment)
        return _read(WakeReply, self._call("POST", "wake", content=codec.encode(told)))

    def samples(
        self, samples: tuple[GatewaySample, ...], requests: tuple[SeenRequest, ...] = ()
    ) -> GatewaySamplesReply:
        """Send samples, and single requests. Raises ControlPlaneUnavailable."""
        told = GatewaySampleBatch(samples, requests)
        return _read(GatewaySamplesReply, self._call("POST", "samples", content=codec.encode(told)))

    def _call(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        content: bytes | None = None,
    ) -> httpx.Response:
        try:
            response = self._client.request(
                method,
                path,
                params=params,
                content=content,
                headers={"Content-Type": "application/json"},
            )
        except httpx.HTTPError as error:
            raise ControlPlaneUnavailable(
                f"The control plane does not answer: {error!r}"
            ) from error
        if response.is_success or response.status_code == httpx.codes.NOT_MODIFIED:
            return response
        raise _refusal(method, path, response)


def _read(kind: type[T], response: httpx.Response) -> T:
    try:
        return codec.decode(kind, response.content)
    except codec.WireError as error:
        raise ControlPlaneUnavailable(
            f"The control plane's {kind.__name__} cannot be read: {error}"
        ) from error


def _refusal(method: str, path: str, response: httpx.Response) -> ControlPlaneUnavailable:
    told = f"{method} {path}: status {response.status_code}. {_words(response)}"
    if response.status_code == httpx.codes.NOT_FOUND:
        return ControlPlaneIncompatible(told)
    return ControlPlaneUnavailable(told)


def _words(response: httpx.Response) -> str:
    try:
        return str(response.json().get("detail", ""))
    except (ValueError, AttributeError):
        return response.text[:200]
