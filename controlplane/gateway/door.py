"""The agent's side of the control plane's door for gateways."""

import httpx

from wire import codec
from wire.messages import GatewayReport, GatewaySample, GatewaySampleBatch, GatewaySnapshot

TIMEOUT_S = 5.0


class DoorClosed(RuntimeError):
    """The control plane is down, or refuses this gateway; the text says which."""


class Door:
    def __init__(self, control_url: str, token: str) -> None:
        self._client = httpx.Client(
            base_url=f"{control_url}/agent/v1/gateway/",
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
            trust_env=False,
        )

    def close(self) -> None:
        self._client.close()

    def snapshot(self, have: str) -> GatewaySnapshot | None:
        """What should be; None when that is version ``have``. Raises DoorClosed."""
        response = self._call("GET", "snapshot", params={"version": have})
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return None
        try:
            return codec.decode(GatewaySnapshot, response.content)
        except codec.WireError as error:
            raise DoorClosed(f"The control plane's snapshot cannot be read: {error}") from error

    def report(self, report: GatewayReport) -> None:
        """Raises DoorClosed."""
        self._call("POST", "report", content=codec.encode(report))

    def samples(self, samples: tuple[GatewaySample, ...]) -> float:
        """Send samples; the interval in seconds at which more are wanted. Raises DoorClosed."""
        response = self._call("POST", "samples", content=codec.encode(GatewaySampleBatch(samples)))
        try:
            return float(response.json()["sample_interval_s"])
        except (ValueError, KeyError, TypeError) as error:
            raise DoorClosed(
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
            raise DoorClosed(f"The control plane does not answer: {error!r}") from error
        if response.is_success or response.status_code == httpx.codes.NOT_MODIFIED:
            return response
        hint = " Is the gateway token right?" if response.status_code in (401, 403) else ""
        raise DoorClosed(f"{method} {path}: status {response.status_code}.{hint}")
