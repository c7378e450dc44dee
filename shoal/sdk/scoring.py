"""One call of an endpoint, as a client would make it: TLS, key, deployment header."""

import json
import ssl
from pathlib import Path
from typing import Any

import httpx

from shoal.client.concurrency import Concurrency
from shoal.client.errors import ShoalError
from shoal.client.transport import is_loopback
from shoal.client.types import Endpoint

TIMEOUT_S = 120.0
PIN = "azureml-model-deployment"


class ScoringFailed(ShoalError):
    """``status`` is HTTP's; ``detail`` is what the endpoint said."""

    def __init__(self, status: int, detail: str, hints: tuple[str, ...] = ()) -> None:
        super().__init__(f"The endpoint answered {status}", detail, hints)
        self.status = status
        self.code = "ScoringFailed"


def body(request_file: str | Path | None, input_data: Any) -> bytes:
    if request_file is not None:
        try:
            return Path(request_file).read_bytes()
        except OSError as error:
            raise ShoalError("The request file cannot be read", str(error)) from error
    if isinstance(input_data, bytes | bytearray):
        return bytes(input_data)
    if isinstance(input_data, str):
        return input_data.encode()
    return json.dumps(input_data).encode()


def trust(ca_path: str) -> ssl.SSLContext:
    """The system's authorities (or SSL_CERT_FILE's), and the installation's own when it is here."""
    context = ssl.create_default_context()
    if ca_path and Path(ca_path).is_file():
        context.load_verify_locations(ca_path)
    return context


def post(
    shown: Endpoint,
    secret: str,
    content: bytes,
    deployment: str | None,
    concurrency: Concurrency,
) -> str:
    """Raises ScoringFailed, and ShoalError when nothing answers."""
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    if deployment:
        headers[PIN] = deployment
    url = f"{shown['scoring_uri']}score"
    trusted = trust(shown["ca_path"])
    try:
        with httpx.Client(
            verify=trusted,
            timeout=TIMEOUT_S,
            trust_env=not is_loopback(url),
            transport=concurrency.http_transport(url, trusted),
        ) as http:
            answer = http.post(url, content=content, headers=headers)
    except httpx.TransportError as error:
        raise ShoalError(
            "The endpoint does not answer",
            f"{url}: {error}",
            [
                f"Copy the installation's {shown['ca_path']} here and let SSL_CERT_FILE name it "
                "(REQUESTS_CA_BUNDLE for programs with Python's requests)."
            ]
            if "CERTIFICATE" in str(error)
            else ["Is the gateway running? `shoal doctor` looks."],
        ) from error
    if answer.is_success:
        return answer.text
    hints = {
        404: ("Give a deployment traffic, or name one with --deployment-name.",),
        424: ("The model refused it; its words are above. `shoal logs` has more.",),
    }.get(answer.status_code, ())
    raise ScoringFailed(answer.status_code, answer.text, hints)
