"""The HTTP port: every request goes on to one endpoint, with its key, over TLS."""

import http.client
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# Headers that concern one connection only, and those that are ours to say.
HOP = frozenset(
    {
        *("connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
        *("proxy-connection", "host", "authorization"),
    }
)
PIECE_BYTES = 1 << 16
TIMEOUT_S = 3600.0


@dataclass(frozen=True)
class Target:
    """``base`` ends with a slash: the endpoint's scoring_uri. ``pin``: always this deployment."""

    base: str
    key: str
    context: ssl.SSLContext
    pin: str | None = None

    def headers(self) -> dict[str, str]:
        found = {"Authorization": f"Bearer {self.key}"}
        return found | ({"azureml-model-deployment": self.pin} if self.pin else {})


class Forwarder(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: Target  # set by ``serve``

    def setup(self) -> None:
        super().setup()
        parts = urlsplit(self.target.base)
        self.upstream = http.client.HTTPSConnection(
            str(parts.hostname), parts.port, context=self.target.context, timeout=TIMEOUT_S
        )

    def finish(self) -> None:
        self.upstream.close()
        super().finish()

    def _forward(self) -> None:
        path = urlsplit(self.target.base).path + self.path.lstrip("/")
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP}
        body = b"".join(self._body())
        if body or self.command in ("POST", "PUT"):
            headers["Content-Length"] = str(len(body))
        try:
            self.upstream.request(self.command, path, body, headers | self.target.headers())
            answer = self.upstream.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.upstream.close()
            self.send_error(502, "The gateway does not answer", str(error))
            return
        self._answer(answer)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_OPTIONS = _forward

    def _answer(self, answer: http.client.HTTPResponse) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                self.send_header(name, value)
        chunked = answer.getheader("Content-Length") is None and self.command != "HEAD"
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while piece := answer.read1(PIECE_BYTES):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        answer.close()  # read to its end, or the connection takes no further request
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _body(self) -> Iterator[bytes]:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        elif length := int(self.headers.get("Content-Length") or 0):
            yield self.rfile.read(length)

    def log_message(self, *_: object) -> None:
        """The gateway keeps the access log."""


def serve(target: Target, host: str, port: int) -> ThreadingHTTPServer:
    """Serves in threads until ``shutdown``. Raises OSError when the port is taken."""
    handler = type("EndpointForwarder", (Forwarder,), {"target": target})
    server = ThreadingHTTPServer((host, port), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="proxy-http", daemon=True).start()
    return server
