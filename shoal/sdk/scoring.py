"""One call of an endpoint, as a client would make it: TLS, key, deployment header."""

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from shoal.client.client import Client
from shoal.client.errors import Problem, ShoalError
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


def authority(client: Client, ca_path: str) -> str:
    """PEM of whom to trust beside the system's authorities: the file that an endpoint names where
    it is here, else what the studio says. Empty for nobody."""
    if not ca_path or Path(ca_path).is_file():
        return Path(ca_path).read_text() if ca_path else ""
    try:
        return client.get_ca()["certificates"]
    except Problem as problem:
        if not problem.is_not_found:  # a studio of the version before does not say
            raise
        return ""


def trust(authority: str) -> ssl.SSLContext:
    """The system's authorities (or SSL_CERT_FILE's), and these (PEM)."""
    context = ssl.create_default_context()
    if authority:
        context.load_verify_locations(cadata=authority)
    return context


def secret(client: Client, shown: Endpoint) -> str:
    """What opens the endpoint: its key, or a token where it wants one."""
    if shown["auth_mode"] == "key":
        return client.get_keys(shown["name"])["primaryKey"]
    return client.create_endpoint_token(shown["name"])["accessToken"]


def post(
    shown: Endpoint,
    secret: str,
    content: bytes,
    deployment: str | None,
    client: Client,
) -> str:
    """Raises ScoringFailed, and ShoalError when nothing answers."""
    headers = {"Content-Type": "application/json"}
    return call(shown, secret, "score", content, headers, deployment, client).text


def post_local(address: str, content: bytes, transport: httpx.BaseTransport | None) -> str:
    """As ``post``, to a runtime of this machine, which asks for no key."""
    url = f"{address}score"
    try:
        with httpx.Client(timeout=TIMEOUT_S, trust_env=False, transport=transport) as http:
            answer = http.post(url, content=content, headers={"Content-Type": "application/json"})
    except httpx.TransportError as error:
        raise ShoalError("The local deployment does not answer", f"{url}: {error}") from error
    if answer.is_success:
        return answer.text
    hints = ("`shoal online-deployment get-logs --local` has more.",)
    raise ScoringFailed(answer.status_code, answer.text, hints)


def call(
    shown: Endpoint,
    secret: str,
    path: str,
    content: bytes,
    headers: Mapping[str, str],
    deployment: str | None,
    client: Client,
) -> httpx.Response:
    """What is answered below the endpoint's address. Raises ScoringFailed, and ShoalError when
    nothing answers."""
    sent = {**headers, "Authorization": f"Bearer {secret}"}
    if deployment:
        sent[PIN] = deployment
    url = f"{shown['scoring_uri']}{path}"
    trusted = trust(authority(client, shown["ca_path"]))
    try:
        with httpx.Client(
            verify=trusted,
            timeout=TIMEOUT_S,
            trust_env=not is_loopback(url),
            transport=client.concurrency.http_transport(url, trusted),
        ) as http:
            answer = http.post(url, content=content, headers=sent)
    except httpx.TransportError as error:
        raise ShoalError(
            "The endpoint does not answer",
            f"{url}: {error}",
            [
                "`shoal gateway ca > shoal-ca.pem` says whom to trust: let SSL_CERT_FILE name it "
                "(REQUESTS_CA_BUNDLE for programs with Python's requests)."
            ]
            if "CERTIFICATE" in str(error)
            else ["Is the gateway running? `shoal doctor` looks."],
        ) from error
    if answer.is_success:
        return answer
    hints = {
        404: ("Give a deployment traffic, or name one with --deployment-name.",),
        424: ("The model refused it; its words are above. `shoal logs` has more.",),
    }.get(answer.status_code, ())
    raise ScoringFailed(answer.status_code, answer.text, hints)
