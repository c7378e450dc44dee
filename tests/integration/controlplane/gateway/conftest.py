"""A real Envoy on free ports, and stand-in replicas that a test may kill."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gateway_harness import Gateway, Upstream, start, stop

from controlplane.gateway.bootstrap import prepare
from controlplane.gateway.settings import GatewaySettings
from tests.support.gateway_folder import settings_in


@pytest.fixture
def gateway_settings(tmp_path: Path) -> GatewaySettings:
    return settings_in(tmp_path, concurrency=2)


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
