"""A control plane for gateway agents, over real HTTP."""

import threading
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from controlplane.deployments.selectors import RoutingView
from controlplane.gateway.render import render
from tests.support.quiet_handler import QuietHandler
from wire import codec
from wire.messages import GatewayReport, GatewaySampleBatch, GatewaySnapshot


class ControlPlane:
    """Its three resources; a test says what the snapshot is, and looks at what came."""

    def __init__(self) -> None:
        self.snapshot: GatewaySnapshot = render(RoutingView(()))
        self.reports: list[GatewayReport] = []
        self.batches: list[GatewaySampleBatch] = []
        self.tokens: set[str | None] = set()
        self.not_modified = 0
        owner = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                owner.tokens.add(self.headers["Authorization"])
                have = parse_qs(urlsplit(self.path).query).get("version", [""])[0]
                if have == owner.snapshot.version:
                    owner.not_modified += 1
                    self.answer(304, b"")
                else:
                    self.answer(200, codec.encode(owner.snapshot))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path.endswith("/report"):
                    owner.reports.append(codec.decode(GatewayReport, body))
                    self.answer(200, b"{}")
                elif self.path.endswith("/certificate"):
                    self.answer(404, b"{}")  # as a control plane of the version before
                else:
                    owner.batches.append(codec.decode(GatewaySampleBatch, body))
                    self.answer(200, b'{"sample_interval_s": 0.5}')

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
