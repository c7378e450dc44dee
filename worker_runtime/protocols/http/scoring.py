"""``/score`` of a scoring script: the whole HTTP request is its input, its answer the response.

The script runs as a Python model (backends/python/stub/shoal_stub/scoring), whose tensors are the
bodies and, as JSON, the heads.
"""

import re
from http import HTTPStatus
from time import monotonic_ns

import msgspec

from worker_runtime.errors import Internal
from worker_runtime.protocols.engine import Engine, Model
from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.errors import model_error
from worker_runtime.protocols.http.heads import Head
from worker_runtime.protocols.http.limits import check_size
from worker_runtime.types.request import Arrays, InferRequest, Response
from worker_runtime.types.tensor import string_array

_PARAMETER = "AZUREML_ENTRY_SCRIPT"
_INPUTS = ("REQUEST", "REQUEST_HEAD")
_ANSWER, _ANSWER_HEAD = "RESPONSE", "RESPONSE_HEAD"
_OUTPUTS = (_ANSWER, _ANSWER_HEAD)
_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# Of the connection, which is ours to keep.
_OURS = frozenset({"content-length", "transfer-encoding", "connection", "keep-alive", "upgrade"})
_LINE_ENDS = str.maketrans("", "", "\r\n\0")


class _ResponseHead(msgspec.Struct):
    status: int
    headers: list[tuple[str, str]]


_READ = msgspec.json.Decoder(_ResponseHead)


def is_scoring_script(model: Model) -> bool:
    return _PARAMETER in model.config.parameters


def scoring_request(
    engine: Engine, model: Model, head: Head, body: bytes, sink: "Scoring", limit: int
) -> InferRequest:
    """Raises InvalidArgument for a body of more than ``limit`` bytes."""
    arrived = monotonic_ns()
    check_size(len(body), limit, "Request raw input size")
    about = {
        "method": head.method,
        "path": head.path,
        "query": head.query,
        # of a body that came compressed and is plain now
        "headers": [item for item in head.headers if item[0].lower() != "content-encoding"],
    }
    shape = (1, 1) if model.signature.max_batch_size > 0 else (1,)
    plan = engine.plan(model, "", tuple((name, "BYTES", shape) for name in _INPUTS), _OUTPUTS)
    values = {"REQUEST": body, "REQUEST_HEAD": msgspec.json.encode(about)}
    inputs = [string_array([values[item.name]]) for item in plan.inputs]
    return InferRequest(plan, inputs, sink, "", arrived)


class Scoring:
    """The sink of one request: anything but 200 is 424, as at Azure's endpoints."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def deliver(self, request: InferRequest, outputs: Arrays) -> None:
        self.respond(request, Response(request.plan.outputs, outputs), final=True)

    def fail(self, request: InferRequest, error: Exception) -> None:
        if self._connection.request is request:
            self._connection.request = None
            self._connection.fail_with(error)

    def respond(self, request: InferRequest, response: Response | None, *, final: bool) -> None:
        if self._connection.request is not request or not (final or response):
            return
        if response is None or response.error is not None:
            error = response.error if response is not None else None
            self.fail(request, error or Internal("expected a single response, got 0"))
            return
        found = dict(zip(response.names, response.arrays, strict=True))
        try:
            body, head = (bytes(found[name].reshape(-1)[0]) for name in _OUTPUTS)
            about = _READ.decode(head)
            content_type, lines = _headers(about)
        except (LookupError, ValueError, TypeError) as error:
            text = f"model '{request.model.name}' gave no HTTP response: {error!r}"
            self.fail(request, Internal(text))
            return
        self._connection.request = None
        status = 200 if about.status == HTTPStatus.OK else 424
        if status != HTTPStatus.OK:
            lines += model_error(about.status)
        self._connection.reply(status, body, content_type=content_type, headers=lines)


def _headers(about: _ResponseHead) -> tuple[bytes, bytes]:
    """The content type, and the other lines. Raises ValueError for a name that is none."""
    content_type, lines = b"application/octet-stream", b""
    for given, text in about.headers:
        name = given.lower()
        value = text.translate(_LINE_ENDS).encode("latin-1", "replace")
        if not _NAME.fullmatch(given):
            raise ValueError(f"{given!r} is no header's name")
        if name == "content-type":
            content_type = value
        elif name not in _OURS:
            lines += b"%s: %s\r\n" % (given.encode("ascii"), value)
    return content_type, lines
