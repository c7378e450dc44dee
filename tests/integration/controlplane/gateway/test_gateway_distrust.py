"""An Envoy whose agent is dead, or hears nothing, stops believing its keys, and wakes nobody."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from gateway_agent_harness import ControlPlane
from gateway_harness import Gateway, Upstream, deployment, digits, wait_until

from controlplane.deployments.selectors import Hold, RoutingView
from controlplane.gateway.agent import GatewayAgent
from controlplane.gateway.render import render

PATH = "/endpoints/digits/v2/health/ready"
SCORE = "/endpoints/digits/v2/models/m/infer"
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


def test_without_its_agent_nobody_is_woken_and_a_new_one_goes_on(
    control_plane: ControlPlane, gateway: Gateway, upstreams: Callable[[str], Upstream]
) -> None:
    awake = replace(deployment("blue", 100, upstreams("a")), hold=Hold(timeout_s=20, most=10))
    asleep = replace(awake, replicas=())
    gateway.apply(digits(asleep))
    with gateway.client() as client:
        answer = client.post(SCORE, timeout=20)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "the gateway's agent, which wakes one, is away" in answer.json()["error"]
    control_plane.snapshot = render(RoutingView((digits(asleep),)))
    with ThreadPoolExecutor(1) as callers, gateway.client() as client:
        with agent_of(gateway):
            call = callers.submit(client.post, SCORE, timeout=20)
            wait_until(lambda: bool(control_plane.wake_requests), "it waits")
        control_plane.snapshot = render(RoutingView((digits(awake),)))
        with agent_of(gateway):
            answer = call.result(30)
    assert (answer.status_code, answer.json().get("replica")) == (200, "a"), answer.text
