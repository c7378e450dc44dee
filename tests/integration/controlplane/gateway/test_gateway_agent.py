"""The agent between a control plane that may be down and a real Envoy that may restart."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from gateway_harness import (
    KEY,
    Gateway,
    Upstream,
    deployment,
    digits,
    start,
    stop,
    wait_until,
)

from controlplane.deployments.selectors import RoutingView
from controlplane.gateway.agent import GatewayAgent
from controlplane.gateway.render import render
from controlplane.gateway.settings import GatewaySettings
from tests.support.quiet_handler import QuietHandler
from wire import codec
from wire.messages import GatewayReport, GatewaySampleBatch, GatewaySnapshot

Launch = Callable[[str], Upstream]
DIGITS = "/endpoints/digits/v2/models/m/infer"


class ControlPlane:
    """The three doors of the control plane, over real HTTP."""

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


@pytest.fixture
def control_plane() -> Iterator[ControlPlane]:
    running = ControlPlane()
    yield running
    running.close()


@pytest.fixture
def gateway_settings(
    gateway_settings: GatewaySettings, control_plane: ControlPlane
) -> GatewaySettings:
    return replace(gateway_settings, control_url=control_plane.url)


@pytest.fixture
def agent(gateway: Gateway) -> Iterator[GatewayAgent]:
    running = GatewayAgent(gateway.settings)
    halt = threading.Event()
    thread = threading.Thread(target=running.run, args=(halt,))
    thread.start()
    yield running
    halt.set()
    thread.join(20)
    assert not thread.is_alive()


def test_a_snapshot_is_applied_reported_and_then_asked_for_by_version(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    wait_until(lambda: agent.applied == control_plane.snapshot.version, "the empty snapshot holds")
    blue = upstreams("blue")
    control_plane.snapshot = render(RoutingView((digits(deployment("blue", 100, blue)),)))
    wait_until(
        lambda: any(
            report.applied_version == control_plane.snapshot.version
            and report.healthy
            and report.host_health.get(f"127.0.0.1:{blue.http_port}")
            for report in control_plane.reports
        ),
        "version and host health are reported",
    )
    with gateway.client() as client:
        assert client.post(DIGITS, content=b"x").status_code == 200
    asked = control_plane.not_modified
    wait_until(lambda: control_plane.not_modified > asked, "the agent asks by version")
    assert control_plane.tokens == {"Bearer token"}


def test_requests_become_samples(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    control_plane.snapshot = render(
        RoutingView((digits(deployment("blue", 100, upstreams("blue"))),))
    )
    wait_until(lambda: agent.applied == control_plane.snapshot.version, "applied")
    with gateway.client() as client:
        for _ in range(20):
            client.post(DIGITS, content=b"x" * 10)
        client.get("/endpoints/digits/v2/health/ready")
        client.post(DIGITS, headers={"Authorization": "Bearer wrong"})

    def totals() -> dict[tuple[str, str], int]:
        found: dict[tuple[str, str], int] = {}
        for batch in control_plane.batches:
            for sample in batch.samples:
                for status, count in sample.status_classes.items():
                    key = (sample.deployment, status)
                    found[key] = found.get(key, 0) + count
        return found

    wait_until(lambda: sum(totals().values()) >= 21, "all samples arrive")
    assert totals() == {("blue", "2xx"): 20, ("", "4xx"): 1}
    counted = [s for batch in control_plane.batches for s in batch.samples if s.deployment]
    assert sum(sum(sample.histogram.values()) for sample in counted) == 20
    assert sum(sample.request_bytes for sample in counted) == 200


def test_scoring_goes_on_while_the_control_plane_is_away_and_envoy_restarts(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    control_plane.snapshot = render(
        RoutingView((digits(deployment("blue", 100, upstreams("blue"))),))
    )
    wait_until(lambda: agent.applied == control_plane.snapshot.version, "applied")
    control_plane.close()
    stop(gateway)
    again = start(gateway.settings)
    try:
        with again.client() as client:

            def scores() -> bool:
                return client.post(DIGITS, content=b"x").status_code == 200

            wait_until(scores, "Envoy serves from its files")
    finally:
        stop(again)


def test_a_refused_snapshot_leaves_the_old_one_serving_and_is_reported(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    good = render(RoutingView((digits(deployment("blue", 100, upstreams("blue"))),)))
    control_plane.snapshot = good
    wait_until(lambda: agent.applied == good.version, "applied")
    routes = {"scoring": {**good.routes["scoring"], "virtual_hosts": [{"name": "", "domains": []}]}}
    control_plane.snapshot = GatewaySnapshot("bad", good.endpoints, good.clusters, {}, routes)
    wait_until(
        lambda: any(
            report.error is not None and report.error.code == "SnapshotRefused"
            for report in control_plane.reports
        ),
        "the refusal is reported",
        timeout_s=30,
    )
    last = control_plane.reports[-1]
    assert last.applied_version == good.version
    assert not last.healthy
    with gateway.client() as client:
        assert client.post(DIGITS, content=b"x").status_code == 200
    files = (gateway.settings.folder / "xds" / "rds" / "scoring.json").read_text()
    assert "/endpoints/digits/" in files


def test_the_access_log_is_rotated_without_losing_lines(
    gateway: Gateway,
    control_plane: ControlPlane,
    agent: GatewayAgent,
    upstreams: Launch,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    control_plane.snapshot = render(
        RoutingView((digits(deployment("blue", 100, upstreams("blue"))),))
    )
    wait_until(lambda: agent.applied == control_plane.snapshot.version, "applied")
    monkeypatch.setattr("controlplane.gateway.agent.MAX_LOG_BYTES", 4000)
    moved = gateway.settings.folder / "access.log.1"
    sent = 0
    deadline = time.monotonic() + 20
    with gateway.client(KEY) as client:
        while not moved.exists() or sent < 120:
            assert time.monotonic() < deadline
            client.post(DIGITS, content=b"x")
            sent += 1
    wait_until(
        lambda: sum(s.requests for b in control_plane.batches for s in b.samples) == sent,
        f"all {sent} requests are counted",
    )
