"""A real Envoy on free ports, and stand-in replicas that a test may kill."""

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from gateway_agent_harness import ControlPlane
from gateway_harness import Gateway, Upstream, start, stop

from controlplane.gateway.agent import GatewayAgent
from controlplane.gateway.bootstrap import prepare
from controlplane.gateway.settings import GatewaySettings
from tests.support.gateway_folder import settings_in


@pytest.fixture
def control_plane() -> Iterator[ControlPlane]:
    running = ControlPlane()
    yield running
    running.close()


@pytest.fixture
def gateway_settings(tmp_path: Path, request: pytest.FixtureRequest) -> GatewaySettings:
    settings = settings_in(tmp_path, concurrency=2)
    if "control_plane" not in request.fixturenames:
        return settings
    return replace(settings, control_url=request.getfixturevalue("control_plane").url)


@pytest.fixture
def gateway(gateway_settings: GatewaySettings) -> Iterator[Gateway]:
    ready = prepare(gateway_settings)
    running = start(ready)
    yield running
    stop(running)


@pytest.fixture
def upstreams() -> Iterator[Callable[[str], Upstream]]:
    started: list[Upstream] = []

    def launch(name: str) -> Upstream:
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("upstream.py")), name],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        upstream = Upstream(name, process, **json.loads(process.stdout.readline()))
        started.append(upstream)
        return upstream

    yield launch
    for upstream in started:
        upstream.kill()
        assert upstream.process.stdout is not None
        upstream.process.stdout.close()


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
