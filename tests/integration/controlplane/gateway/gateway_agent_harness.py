"""A control plane for gateway agents, over real HTTP."""

import threading
import time
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from controlplane.deployments.selectors import RoutingView
from controlplane.gateway.render import render
from tests.support.quiet_handler import QuietHandler
from wire import codec
from wire.messages import GatewayReport, GatewaySampleBatch, GatewaySnapshot
from wire.wake_up import ALIVE, WAKE_UP
from wire.waking import WakeReply, WakeRequest


class ControlPlane:
    """Its three resources; a test says what the snapshot is, and looks at what came."""

    def __init__(self) -> None:
        self.snapshot: GatewaySnapshot = render(RoutingView(()))
        self.reports: list[GatewayReport] = []
        self.batches: list[GatewaySampleBatch] = []
        self.wake_requests: list[WakeRequest] = []
        self.wake_reply: WakeReply | None = WakeReply(wakes=True)  # None: it does not answer
        self.tokens: set[str | None] = set()
        self.not_modified = 0
        self.asked: list[float] = []  # for the snapshot, in monotonic seconds
        self.wakes = False  # else it is of the version before, which had no wake-ups
        self.woken = threading.Condition()
        owner = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                owner.tokens.add(self.headers["Authorization"])
                if self.path.endswith("/wake-ups"):
                    self._wake_ups()
                    return
                owner.asked.append(time.monotonic())
                have = parse_qs(urlsplit(self.path).query).get("version", [""])[0]
                if have == owner.snapshot.version:
                    owner.not_modified += 1
                    self.answer(304, b"")
                else:
                    self.answer(200, codec.encode(owner.snapshot))

            def _wake_ups(self) -> None:
                if not owner.wakes:
                    self.answer(404, b"{}")
                    return
                self.send_response(200)
                self.end_headers()
                while owner.wakes:
                    with owner.woken:
                        rung = owner.woken.wait(0.2)
                    self.wfile.write(WAKE_UP if rung else ALIVE)
                self.close_connection = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path.endswith("/report"):
                    owner.reports.append(codec.decode(GatewayReport, body))
                    self.answer(200, b"{}")
                elif self.path.endswith("/wake"):
                    owner.wake_requests.append(codec.decode(WakeRequest, body))
                    if owner.wake_reply is None:
                        self.answer(503, b"{}")
                    else:
                        self.answer(200, codec.encode(owner.wake_reply))
                elif self.path.endswith("/certificate"):
                    self.answer(404, b"{}")  # as a control plane of the version before
                else:
                    owner.batches.append(codec.decode(GatewaySampleBatch, body))
                    self.answer(200, b'{"sample_interval_s": 0.5}')

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def wake(self) -> None:
        with self.woken:
            self.woken.notify_all()

    def close(self) -> None:
        self.wakes = False
        self.server.shutdown()
        self.server.server_close()
