"""The metrics listener: Prometheus text at /metrics."""

from collections.abc import Callable
from typing import Any

from worker_runtime.protocols.http.connection import Connection
from worker_runtime.protocols.http.encode import Answer
from worker_runtime.protocols.http.heads import Head, HeadCache
from worker_runtime.types.request import Arrays, InferRequest

_TEXT = b"text/plain; charset=utf-8"


class MetricsApp:
    """``scrape`` gives the whole exposition; it runs in the event loop and must be quick."""

    def __init__(self, scrape: Callable[[], bytes]) -> None:
        self.heads = HeadCache()
        self.max_chunked_bytes = 64 * 1024
        self.connections: set[Connection] = set()
        self._scrape = scrape

    def handle(self, connection: Connection, head: Head, body: Any) -> None:  # noqa: ARG002
        if head.segments not in (("metrics",), ("metrics", "")):
            connection.reply(404, b'{"error":"Not Found"}')
        elif head.method != "GET":
            connection.reply(405, b'{"error":"Method Not Allowed"}', headers=b"Allow: GET\r\n")
        else:
            connection.reply(200, self._scrape(), content_type=_TEXT)

    def cancelled(self, request: InferRequest) -> None:
        raise AssertionError(f"the metrics listener has no requests: {request.id}")

    def encode(self, head: Head, request: InferRequest, outputs: Arrays) -> Answer:
        raise AssertionError(f"{head.path}: no inference here: {request.id} {len(outputs)}")
