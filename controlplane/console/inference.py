"""One inference through the gateway over HTTP, with binary tensors. ``grpc_inference`` has gRPC."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote

import httpx

from controlplane.console.tensors import Tensor
from controlplane.core.answers import PLAIN, AnswerRefused, aread_answer

HEADER_LENGTH = "inference-header-content-length"
PIN = "x-shoal-deployment"
UPSTREAM = "x-shoal-upstream-us"
LARGEST_ANSWER = 256 << 20  # bytes, over HTTP and over gRPC
CODES = {401: "KeyRefused", 403: "NotReachable", 404: "NotFound", 408: "Timeout", 429: "Busy"}


class InferenceFailed(Exception):
    """``status`` is HTTP's, or gRPC's number; ``triton`` is what the server said, verbatim.

    ``deployment``: whose replica refused; empty where none was reached, or where nobody knows.
    """

    def __init__(
        self, code: str, message: str, *, triton: str = "", status: int = 0, deployment: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.triton = triton
        self.status = status
        self.deployment = deployment


@dataclass(frozen=True, slots=True)
class Target:
    """Where calls for one endpoint go, and how they prove themselves."""

    base_url: str  # of the gateway
    endpoint: str
    key: str
    deployment: str  # pinned; empty for the traffic split

    def headers(self) -> dict[str, str]:
        pin = {PIN: self.deployment} if self.deployment else {}
        return {"authorization": f"Bearer {self.key}", **pin}

    def url(self, path: str) -> str:
        return f"{self.base_url}/endpoints/{quote(self.endpoint)}/{path}"

    @property
    def grpc_target(self) -> str:
        return self.base_url.partition("://")[2]


@dataclass(frozen=True, slots=True)
class Answer:
    outputs: tuple[Tensor, ...]
    model_version: str
    total_us: float
    upstream_us: float | None  # from the last byte to the replica until its first byte back
    deployment: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One response of a stream. ``at_us`` counts from when the call was sent."""

    index: int
    at_us: float
    outputs: tuple[Tensor, ...]
    model_version: str
    deployment: str


Parameter = str | int | bool


@dataclass(frozen=True, slots=True)
class Call:
    """What to ask a model. ``version`` empty lets the server choose. ``id``: as the server logs and
    captures it. ``request_id``: what gateways know it by (``x-request-id``); over HTTP."""

    model: str
    inputs: Sequence[Tensor]
    outputs: Sequence[str] = ()  # none: all
    version: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)  # sequence_id and the like
    id: str = ""
    request_id: str = ""

    @property
    def path(self) -> str:
        version = ["versions", quote(self.version, safe="")] if self.version else []
        return model_path(self.model, *version, "infer")


class StreamingClient(Protocol):
    """What also calls models that answer several times, or not at all."""

    async def infer(self, target: Target, call: Call, timeout_s: float) -> Answer: ...
    def stream(self, target: Target, call: Call, timeout_s: float) -> AsyncGenerator[Part]: ...
    async def close(self) -> None: ...


def model_path(model: str, *rest: str) -> str:
    return "/".join(["v2/models", quote(model, safe=""), *rest])


async def infer_http(
    client: httpx.AsyncClient, target: Target, call: Call, timeout_s: float
) -> Answer:
    """Raises InferenceFailed."""
    head = json.dumps(
        {
            "inputs": [
                {
                    "name": tensor.name,
                    "datatype": tensor.datatype,
                    "shape": list(tensor.shape),
                    "parameters": {"binary_data_size": len(tensor.raw)},
                }
                for tensor in call.inputs
            ],
            **({"id": call.id} if call.id else {}),
            **_wanted(call),
        }
    ).encode()
    headers = {
        **target.headers(),
        **PLAIN,
        "content-type": "application/octet-stream",
        HEADER_LENGTH: str(len(head)),
        **({"x-request-id": call.request_id} if call.request_id else {}),
    }
    body = b"".join([head, *(tensor.raw for tensor in call.inputs)])
    began = time.perf_counter()
    try:
        async with (
            asyncio.timeout(timeout_s),
            client.stream(
                "POST", target.url(call.path), content=body, headers=headers, timeout=timeout_s
            ) as response,
        ):
            content = await aread_answer(response, most=LARGEST_ANSWER)
    except AnswerRefused as error:
        raise InferenceFailed("AnswerUnreadable", f"The answer is refused: {error}.") from error
    except (httpx.HTTPError, TimeoutError) as error:
        raise InferenceFailed(
            "GatewayUnreachable", f"The gateway did not answer: {error!r}"
        ) from error
    total_us = (time.perf_counter() - began) * 1e6
    if response.status_code != httpx.codes.OK:
        text = content.decode("utf-8", "replace")
        raise refused(response.status_code, text, response.headers.get(PIN, ""))
    found, version = parse_http(content, response.headers.get(HEADER_LENGTH))
    return Answer(
        outputs=found,
        model_version=version,
        total_us=total_us,
        upstream_us=number(response.headers.get(UPSTREAM)),
        deployment=response.headers.get(PIN, ""),
    )


def _wanted(call: Call) -> dict[str, Any]:
    parameters = dict(call.parameters)
    binary = {"binary_data": True}
    if call.outputs:
        wanted = [{"name": name, "parameters": binary} for name in call.outputs]
        return {"outputs": wanted, "parameters": parameters}
    return {"parameters": {**parameters, "binary_data_output": True}}


def refused(status: int, text: str, deployment: str = "") -> InferenceFailed:
    """A failure in the server's own words."""
    try:
        reason = str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        reason = text[:2000]
    code = CODES.get(status, "InvalidInput" if status == 400 else "InferenceFailed")
    return InferenceFailed(
        code, reason or f"Status {status}.", triton=reason, status=status, deployment=deployment
    )


def parse_http(content: bytes, header_length: str | None) -> tuple[tuple[Tensor, ...], str]:
    """Outputs and model version of an answer in JSON with binary tensors behind it.

    Raises InferenceFailed.
    """
    try:
        size = int(header_length) if header_length else len(content)
        head = json.loads(content[:size])
        offset = size
        found = []
        for output in head["outputs"]:
            length = output["parameters"]["binary_data_size"]
            raw = content[offset : offset + length]
            offset += length
            found.append(Tensor(output["name"], output["datatype"], tuple(output["shape"]), raw))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        text = content[:500].decode("utf-8", "replace")
        raise InferenceFailed(
            "AnswerUnreadable", f"The answer cannot be read: {error!r}", triton=text
        ) from error
    return tuple(found), str(head.get("model_version", ""))


def number(value: object) -> float | None:
    try:
        return float(str(value))
    except ValueError:
        return None
