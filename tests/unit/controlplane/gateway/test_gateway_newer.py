"""A snapshot that comes while the one before is applied is the next, and waits for no poll."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controlplane.deployments.selectors import RoutingView
from controlplane.gateway import agent as gateway_agent
from controlplane.gateway.agent import GatewayAgent
from controlplane.gateway.bootstrap import XDS
from controlplane.gateway.render import render
from controlplane.gateway.waiting import SnapshotRefused
from tests.support.gateway_folder import settings_in
from wire.messages import GatewayReport, GatewaySnapshot
from wire.samples import GatewaySamplesReply

FIRST = render(RoutingView(()))
NEWER = replace(FIRST, version="newer")


@dataclass
class ControlPlane:
    """It has ``snapshot``, and is told what was applied."""

    snapshot_now: GatewaySnapshot
    applied: list[str]

    def snapshot(self, known: str) -> GatewaySnapshot | None:
        return None if known == self.snapshot_now.version else self.snapshot_now

    def report(self, report: GatewayReport) -> None:
        self.applied.append(report.applied_version)

    def samples(self, *_: object) -> GatewaySamplesReply:
        return GatewaySamplesReply(sample_interval_s=60.0)


@pytest.mark.parametrize("outcome", ["applied", "applied in part", "refused"])
def test_it_is_applied_at_once(
    outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)
    (settings.folder / XDS).mkdir(parents=True)
    agent = GatewayAgent(settings)
    control_plane: Any = ControlPlane(FIRST, [])
    agent.client = control_plane
    agent.admin = SimpleNamespace(host_health=dict)  # type: ignore[assignment] # all that is asked
    monkeypatch.setattr(agent, "_certificates", lambda _: None)
    monkeypatch.setattr(gateway_agent, "keys_confirm", lambda *_: None)
    tried: list[str] = []

    def apply(snapshot: GatewaySnapshot, *_: Any, sleep: Any, **__: Any) -> Any:
        tried.append(snapshot.version)
        left_out: tuple[Any, ...] = ()
        if tried == [FIRST.version]:
            control_plane.snapshot_now = NEWER
            agent.wake_ups.heard.set()
            sleep(0.0)
            if outcome == "refused":
                raise SnapshotRefused("by Envoy")
            if outcome == "applied in part":
                left_out = (SimpleNamespace(waits=True),)
        return SimpleNamespace(accepted=snapshot, left_out=left_out)

    monkeypatch.setattr(gateway_agent, "apply", apply)
    began = time.monotonic()
    agent.step(began)
    assert tried == [FIRST.version]
    assert agent._timers.rest_s(began) < 0.1, "it does not rest with something to do"
    agent.step(began)
    assert tried == [FIRST.version, NEWER.version]
    assert control_plane.applied[-1] == NEWER.version
