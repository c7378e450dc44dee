"""A gateway agent's client of the control plane."""

import ssl

import httpx

from wire import codec
from wire.messages import (
    CertificateReply,
    CertificateRequest,
    GatewayReport,
    GatewaySample,
    GatewaySampleBatch,
    GatewaySnapshot,
)

TIMEOUT_S = 5.0


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
        self._client = self._connected(control_url, trusted)

    def _connected(self, control_url: str, trusted: ssl.SSLContext | None) -> httpx.Client:
        return httpx.Client(
            base_url=f"{control_url}/agent/v1/gateway/",
            headers={"Authorization": f"Bearer {self._token}"},
            timeout=TIMEOUT_S,
            trust_env=False,
            verify=trusted or True,
        )

    def move(self, control_url: str, trusted: ssl.SSLContext) -> None:
        """From now on it is called there, and proves itself to this context, as we to it."""
        self._client.close()
        self._client = self._connected(control_url, trusted)

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
        try:
            return codec.decode(CertificateReply, response.content)
        except codec.WireError as error:
            raise ControlPlaneUnavailable(
                f"The control plane's certificate cannot be read: {error}"
            ) from error

    def close(self) -> None:
        self._client.close()

    def snapshot(self, have: str) -> GatewaySnapshot | None:
        """What should be; None when that is version ``have``. Raises ControlPlaneUnavailable."""
        response = self._call("GET", "snapshot", params={"version": have})
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return None
        try:
            return codec.decode(GatewaySnapshot, response.content)
        except codec.WireError as error:
            raise ControlPlaneUnavailable(
                f"The control plane's snapshot cannot be read: {error}"
            ) from error

    def report(self, report: GatewayReport) -> None:
        """Raises ControlPlaneUnavailable."""
        self._call("POST", "report", content=codec.encode(report))

    def leave(self) -> None:
        """This gateway is gone. Raises ControlPlaneUnavailable."""
        self._call("POST", "leave")

    def samples(self, samples: tuple[GatewaySample, ...]) -> float:
        """Send samples; the interval in seconds at which more are wanted.

        Raises ControlPlaneUnavailable.
        """
        response = self._call("POST", "samples", content=codec.encode(GatewaySampleBatch(samples)))
        try:
            return float(response.json()["sample_interval_s"])
        except (ValueError, KeyError, TypeError) as error:
            raise ControlPlaneUnavailable(
                f"The control plane's answer to samples cannot be read: {error}"
            ) from error

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
        told = f"{method} {path}: status {response.status_code}. {_words(response)}"
        if response.status_code == httpx.codes.NOT_FOUND:
            raise ControlPlaneIncompatible(told)
        raise ControlPlaneUnavailable(told)


def _words(response: httpx.Response) -> str:
    try:
        return str(response.json().get("detail", ""))
    except (ValueError, AttributeError):
        return response.text[:200]
