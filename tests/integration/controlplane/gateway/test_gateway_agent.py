"""The agent between a control plane that may be down and a real Envoy that may restart."""

import ssl
import time
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest
from gateway_agent_harness import OWN_KEY, ControlPlane, signer
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

from controlplane.core.certificates import pem
from controlplane.deployments.selectors import RoutingView
from controlplane.gateway.agent import RESTING_POLL_S, GatewayAgent
from controlplane.gateway.render import render
from wire.own_requests import signed_id

Launch = Callable[[str], Upstream]
DIGITS = "/endpoints/digits/v2/models/m/infer"


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


def test_woken_it_looks_at_once_and_rests_else(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    """Also after the stream has ended; a wake-up that is lost costs seconds, and no more."""
    del gateway
    blue = upstreams("blue")
    one = digits(deployment("blue", 100, blue))
    for wanted in ((one,), ()):
        control_plane.wakes = True
        wait_until(lambda: agent.wake_ups.flow, "the stream is open")
        wait_until(lambda: agent.applied == control_plane.snapshot.version, "all is applied")
        wait_until(lambda: len(control_plane.reports) > 0, "it has reported")
        control_plane.snapshot = render(RoutingView(wanted))
        control_plane.wake()
        wait_until(
            lambda: control_plane.reports[-1].applied_version == control_plane.snapshot.version,
            "what changed is applied and reported",
            timeout_s=RESTING_POLL_S - 0.5,
        )
        control_plane.wakes = False
        wait_until(lambda: not agent.wake_ups.flow, "the stream has ended")
    control_plane.wakes = True
    wait_until(lambda: agent.wake_ups.flow, "the stream is open again")
    already = len(control_plane.asked)
    wait_until(lambda: len(control_plane.asked) > already + 1, "it asks once more")
    control_plane.snapshot = render(RoutingView((one,)))
    wait_until(
        lambda: agent.applied == control_plane.snapshot.version,
        "it is found without a wake-up",
        timeout_s=5.0,
    )
    assert control_plane.asked[-1] - control_plane.asked[-2] > RESTING_POLL_S - 0.5


def test_what_the_control_plane_asks_to_compare_is_counted_for_nobody(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    control_plane.snapshot = render(
        RoutingView((digits(deployment("blue", 100, upstreams("blue"))),))
    )
    wait_until(lambda: agent.applied == control_plane.snapshot.version, "applied")
    wait_until(lambda: agent.own_requests.key == OWN_KEY, "it has been told")
    own = signed_id(OWN_KEY, "digits", time.time())
    made_up = signed_id("of nobody", "digits", time.time())
    with gateway.client() as client:
        for request_id in (own, signed_id(OWN_KEY, "digits", time.time()), own, made_up, "mine"):
            assert client.post(DIGITS, headers={"x-request-id": request_id}).status_code == 200

    def told() -> list[str]:
        return sorted(seen.id for batch in control_plane.batches for seen in batch.requests)

    wait_until(lambda: "mine" in told(), "the last one arrives")
    samples = [sample for batch in control_plane.batches for sample in batch.samples]
    assert sum(sample.requests for sample in samples) == 3, "sent twice it is not ours"
    assert told() == sorted([own, made_up, "mine"])


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
    assert sum(sample.timed for sample in counted) == 20
    assert sum(sample.receive_us for sample in counted) > 0
    assert sum(sample.new_connections for sample in counted) == 1, "one client, one connection"
    told = [seen for batch in control_plane.batches for seen in batch.requests]
    refused = [seen for seen in told if seen.status == 401]
    assert [(seen.why, seen.deployment, seen.host) for seen in refused] == [("failed", "", "")]
    answered = [seen for seen in told if seen.deployment == "blue"]
    assert all(seen.host.startswith("127.0.0.1:") for seen in answered)
    assert len({seen.id for seen in answered}) == len(answered) >= 3


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
    control_plane.snapshot = replace(good, version="bad", routes=routes)
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


def test_envoy_shows_what_the_control_plane_signed_and_takes_the_next_while_it_serves(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent
) -> None:
    """Without a restart, and without a request that is refused meanwhile."""

    def believed() -> bool:
        trusted = ssl.create_default_context(cadata=pem(control_plane.signer.certificate))
        url = f"https://127.0.0.1:{gateway.settings.tls_port}"
        try:
            answer = httpx.get(url, verify=trusted, trust_env=False)
        except httpx.ConnectError as error:
            assert "certificate verify failed" in str(error), error
            return False
        return answer.status_code == 404

    wait_until(believed, "Envoy shows one that the control plane signed")
    control_plane.signer = signer()
    assert not believed()
    agent.serving_certificate.look()  # as it does each hour
    wait_until(believed, "it shows one of the next authority")
    wait_until(
        lambda: (
            [getattr(one.served, "source", "") for one in control_plane.reports[-1:]]
            == ["installation"]
        ),
        "it is reported",
    )
