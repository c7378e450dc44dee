"""Requests of a deployment at zero wait in Envoy while its agent has a replica started."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import grpc
import httpx
import pytest
from gateway_agent_harness import ControlPlane
from gateway_harness import KEY, Gateway, Upstream, deployment, digits, wait_until
from tritonclient.grpc import service_pb2, service_pb2_grpc

from controlplane.deployments.selectors import Hold, RoutedDeployment, RoutingView
from controlplane.gateway.agent import GatewayAgent
from controlplane.gateway.render import render
from wire.waking import WakeReply

PATH = "/endpoints/digits/v2/models/m/infer"
NAMED = (("x-shoal-endpoint", "digits"), ("authorization", f"Bearer {KEY}"))
BURST = 500
pytestmark = pytest.mark.usefixtures("agent")


def held(agent: GatewayAgent) -> int:
    return sum(agent.hold_server.holding.held().values())


def asleep(
    name: str, weight: int, *upstreams: Upstream, timeout_s: int = 20, most: int = 1000
) -> RoutedDeployment:
    return replace(deployment(name, weight, *upstreams), hold=Hold(timeout_s, most))


def route(control_plane: ControlPlane, *deployments: RoutedDeployment) -> None:
    """From now on the agent is told of these."""
    control_plane.snapshot = render(RoutingView((digits(*deployments),)))
    control_plane.wake()


def routed(control_plane: ControlPlane, gateway: Gateway, *deployments: RoutedDeployment) -> None:
    """Until Envoy has taken them, too."""
    route(control_plane, *deployments)
    wanted = control_plane.snapshot.version
    wait_until(
        lambda: bool(control_plane.reports) and control_plane.reports[-1].applied_version == wanted,
        "the agent has applied it",
    )


def infer(target: str) -> str:
    with grpc.insecure_channel(target) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        answer = stub.ModelInfer(
            service_pb2.ModelInferRequest(model_name="m"), metadata=NAMED, timeout=20
        )
        return answer.model_name


def stream(target: str) -> list[str]:
    with grpc.insecure_channel(target) as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        asked = iter([service_pb2.ModelInferRequest(model_name="m")] * 2)
        found = stub.ModelStreamInfer(asked, metadata=NAMED, timeout=20)
        return [one.infer_response.model_name for one in found]


def test_held_requests_are_answered_once_a_replica_is_there(
    gateway: Gateway, control_plane: ControlPlane, upstreams: Callable[[str], Upstream]
) -> None:
    control_plane.wakes = True
    routed(control_plane, gateway, asleep("blue", 100))
    with ThreadPoolExecutor(4) as callers, gateway.client() as client:
        body = b"x" * (3 << 20)  # more than Envoy's buffer
        calls = [
            callers.submit(client.post, PATH, content=b"{}"),
            callers.submit(client.post, PATH, content=body),
            callers.submit(infer, gateway.grpc_target),
            callers.submit(stream, gateway.grpc_target),
        ]
        wait_until(lambda: bool(control_plane.wake_requests), "the control plane is asked")
        assert not any(call.done() for call in calls)
        route(control_plane, asleep("blue", 100, upstreams("a")))
        first, large, unary, streamed = (call.result(20) for call in calls)
    assert (first.status_code, first.json()["replica"]) == (200, "a")
    assert (large.status_code, large.json()["received"]) == (200, len(body))
    assert "authorization" not in first.json()["headers"]
    assert (unary, streamed) == ("a", ["a", "a"])
    assert {(one.endpoint, one.deployment) for one in control_plane.wake_requests} == {
        ("digits", "blue")
    }


async def burst(gateway: Gateway) -> list[str]:
    """Ids of the answers to so many requests at once, each over a connection of its own."""

    async def one(number: int) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.settings.plain_port)
        head = f"POST {PATH} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {KEY}\r\n"
        writer.write(f"{head}Content-Length: 0\r\nX-Request-Id: n{number}\r\n\r\n".encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        writer.close()
        assert answer[0] == "HTTP/1.1 200 OK"
        return next(line[14:] for line in answer if line.startswith("x-request-id: "))

    return await asyncio.gather(*(one(number) for number in range(BURST)))


def test_a_burst_at_zero_is_answered_once_each(
    gateway: Gateway,
    control_plane: ControlPlane,
    agent: GatewayAgent,
    upstreams: Callable[[str], Upstream],
) -> None:
    routed(control_plane, gateway, asleep("blue", 100))

    with ThreadPoolExecutor(1) as callers:
        answers = callers.submit(asyncio.run, burst(gateway))
        wait_until(lambda: held(agent) == BURST, "all of them wait")
        route(control_plane, asleep("blue", 100, upstreams("a")))
        assert answers.result(40) == [f"n{n}" for n in range(BURST)]
    assert len(control_plane.wake_requests) < 10  # of one deployment, however many wait
    with gateway.client() as client:
        assert client.post(PATH).json()["answered"] == BURST + 1


def test_who_waits_too_long_or_is_one_too_many_is_told_so(
    gateway: Gateway, control_plane: ControlPlane
) -> None:
    control_plane.wake_reply = WakeReply(wakes=True, reason="No node can take 1 of 1 replicas.")
    routed(control_plane, gateway, asleep("blue", 100, timeout_s=2, most=1))
    with ThreadPoolExecutor(1) as callers, gateway.client() as client:
        first = callers.submit(client.post, PATH)
        wait_until(lambda: bool(control_plane.wake_requests), "one waits")
        second = client.post(PATH)
        waited = first.result(20)
        assert (second.status_code, second.headers["retry-after"]) == (503, "1")
        assert second.json()["error"].startswith("1 at most may wait for a replica")
        assert (waited.status_code, waited.headers["retry-after"]) == (503, "5")
        assert waited.json()["error"] == (
            "No replica of this deployment was ready within 2 s: No node can take 1 of 1 replicas."
        )
        with pytest.raises(grpc.RpcError) as refused:
            infer(gateway.grpc_target)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE
    assert "was ready within 2 s" in refused.value.details()


def test_strangers_wake_nobody_and_without_a_control_plane_the_wait_ends(
    gateway: Gateway, control_plane: ControlPlane
) -> None:
    control_plane.wake_reply = None
    routed(control_plane, gateway, asleep("blue", 100, timeout_s=2))
    with gateway.client("another-key") as stranger:
        assert stranger.post(PATH).status_code == 401
    assert control_plane.wake_requests == []
    with gateway.client() as client:
        answer = client.post(PATH)
    assert answer.status_code == 503
    assert answer.json()["error"].endswith("the control plane, which starts one, does not answer.")
    assert control_plane.wake_requests


def test_only_who_is_bound_for_the_sleeping_deployment_waits(
    gateway: Gateway,
    control_plane: ControlPlane,
    agent: GatewayAgent,
    upstreams: Callable[[str], Upstream],
) -> None:
    """Envoy has drawn the target of a split before it asks; Azure's header is read after that."""
    awake = deployment("blue", 50, upstreams("a"))
    routed(control_plane, gateway, awake, asleep("green", 50))
    # why so many without a pin: lots are drawn for them, and all on one side would be no fault
    pins = [{}] * 16 + [{"azureml-model-deployment": "green"}, {"x-shoal-deployment": "green"}] * 2
    count = len(pins)
    with ThreadPoolExecutor(count) as callers, gateway.client() as client:
        blue = [client.post(PATH, headers={"azureml-model-deployment": "blue"}) for _ in range(8)]
        assert {one.json()["replica"] for one in blue} == {"a"}
        assert control_plane.wake_requests == []
        calls = [callers.submit(client.post, PATH, headers=one) for one in pins]
        wait_until(lambda: held(agent) + sum(c.done() for c in calls) == count, "the others wait")
        assert 4 <= held(agent) < count
        routed(control_plane, gateway, awake, asleep("green", 50, upstreams("b")))
        answers = [call.result(20) for call in calls]
    assert {one.status_code for one in answers} == {200}
    assert {one.json()["replica"] for one in answers} == {"a", "b"}
    pinned = [one for one, pin in zip(answers, pins, strict=True) if pin]
    assert {one.json()["replica"] for one in pinned} == {"b"}


def test_who_goes_away_is_not_held_any_more(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent
) -> None:
    routed(control_plane, gateway, asleep("blue", 100))
    with gateway.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post(PATH, timeout=0.5)
    wait_until(lambda: held(agent) == 0, "its place is free")
    asked = len(control_plane.wake_requests)
    assert asked >= 1


def test_nothing_is_lost_between_asleep_and_awake(
    gateway: Gateway, control_plane: ControlPlane, upstreams: Callable[[str], Upstream]
) -> None:
    """Callers go on while the last replica drains, is woken, and drains again."""
    replica = upstreams("a")
    awake = asleep("blue", 100, replica)
    draining = replace(awake, replicas=(replica.replica(draining=True),))
    routed(control_plane, gateway, awake)
    done = threading.Event()

    def call() -> set[int]:
        with gateway.client() as client:
            found = set()
            while not done.is_set():
                found.add(client.post(PATH).status_code)
            return found

    with ThreadPoolExecutor(4) as callers:
        calls = [callers.submit(call) for _ in range(4)]
        for _ in range(3):
            asked = len(control_plane.wake_requests)
            routed(control_plane, gateway, draining)
            wait_until(lambda n=asked: len(control_plane.wake_requests) > n, "one is held")
            routed(control_plane, gateway, awake)
        done.set()
        assert set().union(*(call.result(20) for call in calls)) == {200}
