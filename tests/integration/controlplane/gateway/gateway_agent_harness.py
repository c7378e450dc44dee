"""A control plane for gateway agents, over real HTTP."""

import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from controlplane.core.certificates import SERVER, Signer, hosts, pem, requested_key
from controlplane.deployments.selectors import RoutingView
from controlplane.gateway import tls
from controlplane.gateway.render import render
from tests.support.quiet_handler import QuietHandler
from wire import codec
from wire.messages import GatewayReport, GatewaySnapshot
from wire.samples import GatewaySampleBatch, GatewaySamplesReply
from wire.serving_certificates import (
    ServingAuthority,
    ServingCertificateReply,
    ServingCertificateRequest,
)
from wire.wake_up import ALIVE, WAKE_UP
from wire.waking import WakeReply, WakeRequest

OWN_KEY = "of the installation"


def signer() -> Signer:
    return Signer.new("authority", now=datetime.now(UTC), life=timedelta(days=900))


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
        self.signer = signer()  # of what Envoy shows
        owner = self

        class Handler(QuietHandler):
            def do_GET(self) -> None:
                owner.tokens.add(self.headers["Authorization"])
                if self.path.endswith("/wake-ups"):
                    self._wake_ups()
                    return
                if self.path.endswith("/serving-authority"):
                    self.answer(200, codec.encode(owner.authority()))
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
                self.answer(*owner.posted(self.path.rpartition("/")[2], body))

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def authority(self) -> ServingAuthority:
        told = pem(self.signer.certificate)
        return ServingAuthority(trusted=told, signing=told, names=("scoring.example",))

    def signed(self, wanted: ServingCertificateRequest) -> ServingCertificateReply:
        made = self.signer.signed(
            tls.SUBJECT, requested_key(wanted.csr), usage=SERVER,
            alternatives=hosts((*wanted.names, "scoring.example")), now=datetime.now(UTC),
            life=timedelta(days=90),
        )  # fmt: skip
        return ServingCertificateReply(pem(made), pem(self.signer.certificate))

    def posted(self, what: str, body: bytes) -> tuple[int, bytes]:
        if what == "report":
            self.reports.append(codec.decode(GatewayReport, body))
            return 200, b"{}"
        if what == "wake":
            self.wake_requests.append(codec.decode(WakeRequest, body))
            reply = self.wake_reply
            return (503, b"{}") if reply is None else (200, codec.encode(reply))
        if what == "serving-certificate":
            return 200, codec.encode(self.signed(codec.decode(ServingCertificateRequest, body)))
        if what == "certificate":
            return 404, b"{}"  # as a control plane of the version before
        self.batches.append(codec.decode(GatewaySampleBatch, body))
        return 200, codec.encode(GatewaySamplesReply(0.5, own_requests_key=OWN_KEY))

    def wake(self) -> None:
        with self.woken:
            self.woken.notify_all()

    def close(self) -> None:
        self.wakes = False
        self.server.shutdown()
        self.server.server_close()
