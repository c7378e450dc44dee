"""A gateway that is gone for good says so, once its Envoy has ended, and is on no list any more."""

import threading
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from controlplane.core.errors import Unauthenticated
from controlplane.core.models import Event
from controlplane.gateway import agent as gateway_agent
from controlplane.gateway import services
from controlplane.gateway.admin import EnvoyUnreachable
from controlplane.gateway.agent import GatewayAgent
from controlplane.gateway.control_client import ControlPlaneUnavailable
from controlplane.gateway.models import Gateway
from controlplane.gateway.services import Caller
from controlplane.gateway.settings import SettingsError, load
from tests.support.gateway_folder import settings_in


class Envoy:
    """Its admin interface: it answers so many times more."""

    def __init__(self, answers: int) -> None:
        self.answers = answers

    def host_health(self) -> dict[str, bool]:
        if not self.answers:
            raise EnvoyUnreachable("it has ended")
        self.answers -= 1
        return {}

    def close(self) -> None:
        """As the real one."""


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the agent does, in order; it waits for nothing."""
    found: list[str] = []
    monkeypatch.setattr(GatewayAgent, "step", lambda *_: found.append("step"))
    monkeypatch.setattr(gateway_agent.time, "sleep", lambda _: None)
    monkeypatch.setattr(gateway_agent.ControlPlaneClient, "leave", lambda _: found.append("leave"))
    return found


def stopped(home: Path, envoy: Any, *, leaves: bool) -> None:
    agent = GatewayAgent(settings_in(home, leaves=leaves))
    agent.admin = envoy
    stop = threading.Event()
    stop.set()
    agent.run(stop)


def test_it_follows_the_control_plane_until_envoy_has_ended(
    said: list[str], tmp_path: Path
) -> None:
    stopped(tmp_path, Envoy(answers=3), leaves=True)
    assert said == ["step", "step", "step", "leave"]


def test_one_that_comes_again_says_nothing(said: list[str], tmp_path: Path) -> None:
    stopped(tmp_path, Envoy(answers=3), leaves=False)
    assert said == []


def test_an_envoy_that_serves_on_is_not_gone(
    said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_agent, "LONGEST_DRAIN_S", -1.0)
    stopped(tmp_path, Envoy(answers=3), leaves=True)
    assert said == []


def test_a_control_plane_that_is_away_does_not_keep_it(
    said: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def away(_: object) -> None:
        raise ControlPlaneUnavailable("no answer")

    monkeypatch.setattr(gateway_agent.ControlPlaneClient, "leave", away)
    stopped(tmp_path, Envoy(answers=0), leaves=True)
    assert "Left without a word: no answer" in caplog.text


@pytest.mark.django_db(databases=["default", "metrics"])
def test_only_the_gateway_itself_leaves() -> None:
    for name in ("a", "b"):
        Gateway.objects.create(name=name, last_seen_at=timezone.now())
    with pytest.raises(Unauthenticated, match="certificate"):
        services.gateway_leave(caller=Caller(""))
    services.gateway_leave(caller=Caller("a"))
    assert [row.name for row in Gateway.objects.all()] == ["b"]
    assert Event.objects.get(verb="gateway.left").subject == "gateway/a"


def test_it_is_said_by_true_or_false(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not load().leaves
    monkeypatch.setenv("SHOAL_GATEWAY_LEAVES", "true")
    assert load().leaves
    monkeypatch.setenv("SHOAL_GATEWAY_LEAVES", "yes")
    with pytest.raises(SettingsError, match="SHOAL_GATEWAY_LEAVES='yes': expected true or false"):
        load()
