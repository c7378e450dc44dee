"""The metrics listener: Prometheus text at /metrics."""

from collections.abc import Callable, Sequence
from typing import Any

from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.protocols.http.replies import Answer
from worker_runtime.protocols.http.slices import Later
from worker_runtime.protocols.members import Members
from worker_runtime.types.request import Arrays, InferRequest, ParameterValue

_TEXT = b"text/plain; charset=utf-8"
_MAX_BODY = 64 * 1024


class MetricsApp:
    """``scrape`` gives the whole exposition; it runs in the event loop and must be quick."""

    def __init__(self, scrape: Callable[[], bytes]) -> None:
        self.heads = HeadCache()
        self.connections: Members[Connection] = Members()
        self._scrape = scrape

    def body_limit(self, head: Head) -> int:  # noqa: ARG002
        return _MAX_BODY

    def too_large(self, head: Head) -> str:
        return "no body is expected here" if head.content_length > _MAX_BODY else ""

    def handle(self, connection: Connection, head: Head, body: Any) -> None:  # noqa: ARG002
        if head.method != "GET":
            connection.reply(405, b'{"error":"Method Not Allowed"}', headers=b"Allow: GET\r\n")
        elif head.path in ("/metrics", "/metrics/"):
            connection.reply(200, self._scrape(), content_type=_TEXT)
        else:
            connection.reply(200, content_type=_TEXT)

    def answer_later(self, connection: Connection, later: Later) -> None:
        raise AssertionError(f"{connection}: no inference here: {later}")

    def cancelled(self, request: InferRequest) -> None:
        raise AssertionError(f"the metrics listener has no requests: {request.id}")

    def encode(self, head: Head, request: InferRequest, outputs: Arrays) -> Answer:
        raise AssertionError(f"{head.path}: no inference here: {request.id} {len(outputs)}")

    def encode_any(
        self,
        head: Head,
        request: InferRequest,
        names: Sequence[str],
        outputs: Arrays,
        parameters: dict[str, ParameterValue] | None,
    ) -> Answer:
        raise AssertionError(f"{head.path}: {request.id} {names} {len(outputs)} {parameters}")
