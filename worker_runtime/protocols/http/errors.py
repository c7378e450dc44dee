"""The one map from faults to HTTP status codes."""

import re
from http import HTTPStatus

import msgspec

from worker_runtime.errors import (
    AlreadyExists,
    Internal,
    NotFound,
    Overloaded,
    RuntimeFault,
    Unavailable,
    Unsupported,
)

_STATUS: tuple[tuple[type[RuntimeFault], int], ...] = (
    (NotFound, 404),
    (Unavailable, 503),
    (Unsupported, 501),
    (Internal, 500),
)

REASONS = {
    200: "OK",
    400: "Bad Request",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    409: "Conflict",
    413: "Content Too Large",
    417: "Expectation Failed",
    424: "Failed Dependency",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
    507: "Insufficient Storage",
}


SAGEMAKER_MODELS = "/models"
_NO_MEMORY = re.compile(
    "out of memory|out_of_memory|outofmemory|memoryerror|failed to allocate memory|"
    "cublas_status_alloc_failed|no space left on device",
    re.IGNORECASE,
)
SCORE = "/score"  # ours, not Triton's: JSON for the only model
_LATER = b"Retry-After: 1\r\n"


class HttpRefusal(Exception):
    """A request that is refused before it reaches the engine.

    ``close`` ends the connection: where the request ends is not known.
    """

    def __init__(
        self, status: int, message: str, *, close: bool = False, headers: bytes = b""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.close = close
        self.headers = headers


def no_room(why: str) -> HttpRefusal:
    """For a request that there is no memory for."""
    return HttpRefusal(503, why, close=True, headers=_LATER)


def status_of(error: Exception) -> int:
    """The status of a fault: 400 unless the table says otherwise, 500 for what is none."""
    if isinstance(error, HttpRefusal):
        return error.status
    if not isinstance(error, RuntimeFault):
        return 500
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)


def headers_of(error: Exception) -> bytes:
    """Lines that the answer has besides: when to come again, if there was only too much to do.

    Triton sends none. Gateways tell by them a busy server from a broken one.
    """
    if isinstance(error, HttpRefusal):
        return error.headers
    return _LATER if isinstance(error, Overloaded) else b""


def answered(error: Exception, path: str) -> tuple[int, bytes]:
    """The status of an answer to a request for ``path``, and the lines that it has besides."""
    if path.partition("?")[0] == SCORE:
        return scored(error)
    if path.startswith(SAGEMAKER_MODELS):
        return invoked(error), headers_of(error)
    return status_of(error), headers_of(error)


def scored(error: Exception) -> tuple[int, bytes]:
    """Of ``/score``, as Azure answers: 429 for what nobody had time for, else 424 and the status.

    The second is the lines of ``headers_of``, with what the model said in two more.
    """
    headers = headers_of(error)
    if isinstance(error, Overloaded):
        return 429, headers
    return 424, headers + model_error(status_of(error))


def model_error(status: int) -> bytes:
    """The lines that tell the status of a model whose answer is not 200."""
    try:
        reason = REASONS.get(status) or HTTPStatus(status).phrase
    except ValueError:  # a number of the model's own
        reason = ""
    return b"ms-azureml-model-error-statuscode: %d\r\nms-azureml-model-error-reason: %s\r\n" % (
        status,
        reason.lower().replace(" ", "_").encode(),
    )


def invoked(error: Exception) -> int:
    """Of a model among many in SageMaker, which unloads others where memory is short (507)."""
    if _NO_MEMORY.search(str(error) or type(error).__name__):
        return 507
    if isinstance(error, AlreadyExists):
        return 409
    return 404 if isinstance(error, NotFound) else 400


def error_body(error: Exception) -> bytes:
    text = str(error) or type(error).__name__
    try:
        return msgspec.json.encode({"error": text})
    except UnicodeEncodeError:  # names out of a request whose bytes are not UTF-8
        return msgspec.json.encode({"error": text.encode("utf-8", "replace").decode()})
