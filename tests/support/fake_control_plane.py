"""A control plane as nodes see it, in memory: what a real agent process talks to in tests."""

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any

from tests.support.quiet_handler import QuietHandler
from wire import codec
from wire.messages import (
    CachedBlob,
    CacheReport,
    DesiredReplica,
    DesiredState,
    FileRef,
    NodeReport,
    ObservedReplica,
    RegisterReply,
    RegisterRequest,
    ReportReply,
    SpoiledBlob,
)
from wire.samples import LogBatch, LogEntry, ReplicaSample, SampleBatch
from wire.wake_up import ALIVE, WAKE_UP

TOKEN = "join-me-once"
CREDENTIAL = "snode_n1_secret"


class FakeControlPlane:
    """Set `replicas` (through `desire`) and look at what the node reported. Thread-safe enough:
    every attribute is replaced or appended to, never edited."""

    def __init__(self, *, poll_interval_s: float = 0.2) -> None:
        self.poll_interval_s = poll_interval_s
        self.woken = threading.Condition()
        self.listeners = 0  # agents with an open wake-up stream
        self.refusing = False  # ends the wake-up stream, and answers 503 to who opens it
        self.tokens = {TOKEN}
        self.generation = 1
        self.replicas: tuple[DesiredReplica, ...] = ()
        self.blobs: dict[str, bytes] = {}
        self.ranges: list[str] = []
        self.desired_requests = 0
        self.reports: list[NodeReport] = []
        self.samples: list[ReplicaSample] = []
        self.logs: list[LogEntry] = []
        self.cached: tuple[CachedBlob, ...] = ()
        self.spoiled: list[SpoiledBlob] = []
        self.broken_blobs: set[str] = set()  # their next transfer ends half way
        self.refused_names = 0  # so many joins: another node has this one's name
        self.url = ""

    def file(self, path: str, content: bytes) -> FileRef:
        sha256 = hashlib.sha256(content).hexdigest()
        self.blobs[sha256] = content
        return FileRef(path=path, size=len(content), sha256=sha256)

    def desire(self, *replicas: DesiredReplica) -> None:
        self.replicas = replicas
        self.generation += 1

    def observed(self, replica_id: str) -> ObservedReplica | None:
        """The newest report's word about a replica."""
        for report in self.reports[-1:]:
            for replica in report.replicas:
                if replica.replica_id == replica_id:
                    return replica
        return None

    def states(self, replica_id: str) -> list[str]:
        """Every state reported of a replica, repeats dropped."""
        found: list[str] = []
        for report in list(self.reports):
            for replica in report.replicas:
                if replica.replica_id == replica_id and found[-1:] != [replica.state]:
                    found.append(replica.state)
        return found

    def wake(self) -> None:
        with self.woken:
            self.woken.notify_all()

    @contextmanager
    def serve(self, port: int = 0) -> Iterator[None]:
        """Listen on loopback; may be left and entered again on the same port."""
        server = ThreadingHTTPServer(
            ("127.0.0.1", port), type("Handler", (_Handler,), {"control_plane": self})
        )
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        self.refusing = False
        try:
            yield
        finally:
            self.refusing = True
            self.wake()
            server.shutdown()
            server.server_close()
            thread.join()


class _Handler(QuietHandler):
    control_plane: FakeControlPlane

    def do_GET(self) -> None:
        if not self._known():
            return
        if self.path == "/agent/v1/desired":
            self.control_plane.desired_requests += 1
            self._say(
                DesiredState(
                    node_id="n1",
                    generation=self.control_plane.generation,
                    replicas=self.control_plane.replicas,
                    poll_interval_s=self.control_plane.poll_interval_s,
                    sample_interval_s=0.2,
                    drain_timeout_s=5,
                )
            )
        elif self.path == "/agent/v1/wake-ups":
            self._wake_ups()
        else:
            self._blob(self.path.rpartition("/")[2])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/agent/v1/register":
            return self._register(codec.decode(RegisterRequest, body))
        if not self._known():
            return None
        if self.path == "/agent/v1/logs":
            self.control_plane.logs.extend(codec.decode(LogBatch, body).entries)
            return self.answer(200, b"{}")
        if self.path == "/agent/v1/cache":
            report = codec.decode(CacheReport, body)
            self.control_plane.cached = report.blobs
            self.control_plane.spoiled.extend(report.spoiled)
            return self.answer(200, b"{}")
        if self.path == "/agent/v1/report":
            self.control_plane.reports.append(codec.decode(NodeReport, body))
        else:
            self.control_plane.samples.extend(codec.decode(SampleBatch, body).samples)
        return self._say(
            ReportReply(
                desired_generation=self.control_plane.generation,
                sample_interval_s=0.2,
                poll_interval_s=self.control_plane.poll_interval_s,
                heartbeat_interval_s=0.5,
            )
        )

    def _register(self, request: RegisterRequest) -> None:
        if self.control_plane.refused_names:
            self.control_plane.refused_names -= 1
            self.answer(409, json.dumps({"detail": "The name n1 is taken."}).encode())
            return
        if request.token not in self.control_plane.tokens:
            self.answer(401, json.dumps({"detail": "this token was used"}).encode())
            return
        self.control_plane.tokens.discard(request.token)
        self._say(
            RegisterReply(
                node_id="n1",
                credential=CREDENTIAL,
                heartbeat_interval_s=0.5,
            )
        )

    def _known(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {CREDENTIAL}":
            return True
        self.answer(401, b'{"detail": "unknown node"}')
        return False

    def _wake_ups(self) -> None:
        if self.control_plane.refusing:
            self.answer(503, b"{}")
            return
        self.close_connection = True
        self.send_response(200)
        self.end_headers()
        with self.control_plane.woken, contextlib.suppress(ConnectionError):
            self.control_plane.listeners += 1
            try:
                while not self.control_plane.refusing:
                    self.wfile.write(WAKE_UP if self.control_plane.woken.wait(0.5) else ALIVE)
            finally:
                self.control_plane.listeners -= 1

    def _blob(self, sha256: str) -> None:
        wanted = self.headers.get("Range", "")
        self.control_plane.ranges.append(wanted)
        content = self.control_plane.blobs[sha256]
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted else 0
        self.send_response(206 if wanted else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        if sha256 in self.control_plane.broken_blobs:
            self.control_plane.broken_blobs.discard(sha256)
            self.wfile.write(content[start : start + len(content) // 2])
            self.close_connection = True
            return
        self.wfile.write(content[start:])

    def _say(self, message: Any) -> None:
        self.answer(200, codec.encode(message))
