"""An Envoy whose agent is dead, or hears nothing, stops believing its keys."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from gateway_agent_harness import ControlPlane
from gateway_harness import Gateway, Upstream, deployment, digits, wait_until

from controlplane.deployments.selectors import RoutingView
from controlplane.gateway.agent import GatewayAgent
from controlplane.gateway.render import render

PATH = "/endpoints/digits/v2/health/ready"
TRUST_S = 3


@contextmanager
def agent_of(gateway: Gateway) -> Iterator[None]:
    agent = GatewayAgent(replace(gateway.settings, trust_s=TRUST_S))
    halt = threading.Event()
    thread = threading.Thread(target=agent.run, args=(halt,))
    thread.start()
    try:
        yield
    finally:
        halt.set()
        thread.join(20)
        assert not thread.is_alive()


def test_keys_are_believed_as_long_as_the_agent_hears_of_them(
    control_plane: ControlPlane, gateway: Gateway, upstreams: Callable[[str], Upstream]
) -> None:
    control_plane.snapshot = render(RoutingView((digits(deployment("blue", 100, upstreams("a"))),)))
    with gateway.client() as client, gateway.client("wrong") as stranger:

        def status() -> int:
            return client.get(PATH).status_code

        with agent_of(gateway):
            wait_until(lambda: status() == 200, "served")
            scripts = gateway.xds.folder / "keys.json"
            first = scripts.read_text()
            wait_until(lambda: scripts.read_text() != first, "the belief is moved on")
            assert status() == 200
            assert stranger.get(PATH).status_code == 401
        wait_until(lambda: status() == 503, "nobody believes the keys any more")
        refused = client.get(PATH)
        assert "has not heard from its control plane" in refused.json()["error"]
        assert refused.headers["retry-after"] == "5"
        assert stranger.get(PATH).status_code == 503
        with agent_of(gateway):
            wait_until(lambda: status() == 200, "served again")
