"""A receiver of OpenTelemetry spans over HTTP, for tests."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.quiet_handler import QuietHandler


class Receiver:
    """An OTLP receiver: keeps the spans that it is sent."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []
        self.url = ""
        self.status = 200  # of its answers; it keeps nothing where that is another one

    def take(self, body: bytes) -> None:
        for group in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resources.append(
                {item.key: item.value.string_value for item in group.resource.attributes}
            )
            for scope in group.scope_spans:
                self.spans.extend(scope.spans)


@contextmanager
def receiver(context: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """``context``: where it listens by TLS."""
    found = Receiver()

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            body = self._body()
            if found.status == 200:
                found.take(body)
            self.answer(found.status, b"")

        def _body(self) -> bytes:
            if "Content-Length" in self.headers:
                return self.rfile.read(int(self.headers["Content-Length"]))
            pieces = []  # chunks, as Envoy sends
            while size := int(self.rfile.readline(), 16):
                pieces.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(pieces)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    scheme = "http" if context is None else "https"
    found.url = f"{scheme}://127.0.0.1:{server.server_port}/v1/traces"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
