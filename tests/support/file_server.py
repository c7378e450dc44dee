"""A server of files for whoever fetches some: each path answers as it is told, on loopback."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from tests.support.quiet_handler import QuietHandler

Answering = Callable[[Any], None]


class FileServer:
    """``routes``: path, without a query -> bytes, or what answers the request."""

    def __init__(self) -> None:
        self.routes: dict[str, bytes | Answering] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []  # path with its query, headers
        self.over = threading.Event()  # for answers that never end
        served = self

        class Handler(QuietHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                served.asked.append((self.path, dict(self.headers)))
                found = served.routes.get(self.path.partition("?")[0])
                if found is None:
                    self.answer(404, b"no such file")
                elif isinstance(found, bytes):
                    self.answer(200, found)
                else:
                    found(self)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()


@contextmanager
def file_server() -> Iterator[FileServer]:
    server = FileServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def redirect(to: str) -> Answering:
    def answering(handler: Any) -> None:
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answering


def headed(headers: dict[str, str], body: bytes = b"", status: int = 200) -> Answering:
    """As it is told, true or not; the connection ends with it."""

    def answering(handler: Any) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
        handler.close_connection = True

    return answering
