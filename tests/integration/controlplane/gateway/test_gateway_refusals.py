"""What a real Envoy refuses is found and left out; keys and everything else go on."""

import copy
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from gateway_agent_harness import ControlPlane
from gateway_harness import (
    KEY,
    Gateway,
    Upstream,
    deployment,
    digits,
    endpoint,
    wait_until,
)

from controlplane.deployments.selectors import RoutedEndpoint, RoutedReplica, RoutingView
from controlplane.gateway.agent import GatewayAgent
from controlplane.gateway.render import render
from wire.messages import GatewaySnapshot, LeftOut

Launch = Callable[[str], Upstream]
DIGITS, OTHER = (f"/endpoints/{name}/v2/models/m/infer" for name in ("digits", "other"))
NEW_KEY = "renewed"


def snapshot_of(*endpoints: RoutedEndpoint) -> GatewaySnapshot:
    return render(RoutingView(endpoints))


def told(control_plane: ControlPlane, version: str) -> tuple[LeftOut, ...] | None:
    """What the newest report leaves out of this version; None while it is not applied."""
    last = control_plane.reports[-1:]
    return last[0].left_out if last and last[0].applied_version == version else None


def settled(control_plane: ControlPlane, snapshot: GatewaySnapshot) -> tuple[LeftOut, ...]:
    control_plane.snapshot = snapshot
    wait_until(lambda: told(control_plane, snapshot.version) is not None, "applied and reported")
    found = told(control_plane, snapshot.version)
    assert found is not None
    return found


def status(gateway: Gateway, path: str, key: str = KEY) -> int:
    with gateway.client(key) as client:
        return client.post(path, content=b"x").status_code


def other(*deployments: Any, key: str = KEY) -> RoutedEndpoint:
    return endpoint("other", *deployments, keys=(key,))


def with_bad(blue: Upstream, *addresses: str) -> RoutedEndpoint:
    """The endpoint digits; some of its replicas are at addresses that are none."""
    good = deployment("blue", 100, blue)
    bad = tuple(
        RoutedReplica(f"bad{number}", address, 9000 + number, 9100 + number, draining=False)
        for number, address in enumerate(addresses)
    )
    return digits(replace(good, replicas=(*good.replicas, *bad)))


def test_a_bad_replica_is_left_out_and_nothing_else(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    """One such address stopped every later change: of all endpoints, and of their keys."""
    blue, red = upstreams("blue"), upstreams("red")
    addresses = ["127.0.0.1", "not an address", "127.0.0.2", "127.0.0.3", "[::1]"]
    began = time.monotonic()
    left = settled(
        control_plane,
        snapshot_of(with_bad(blue, *addresses), other(deployment("red", 100, red))),
    )
    assert time.monotonic() - began < 10
    assert {(part.endpoint, part.deployment, part.address.rpartition(":")[0]) for part in left} == {
        ("digits", "blue", "not an address"),
        ("digits", "blue", "[::1]"),
    }
    assert (status(gateway, DIGITS), status(gateway, OTHER)) == (200, 200)
    known = set(gateway.admin.hosts()["digits__blue__http"])
    assert known == {f"127.0.0.1:{blue.http_port}"} | {
        f"127.0.0.{n}:900{m}" for n, m in ((1, 0), (2, 2), (3, 3))
    }
    # everybody else is changed meanwhile, and what was refused is not asked again
    reads = gateway.admin.said()["clusters"].attempts
    green = upstreams("green")
    left = settled(
        control_plane,
        snapshot_of(with_bad(blue, *addresses), other(deployment("green", 100, green))),
    )
    assert len(left) == 4  # two replicas, over HTTP and gRPC
    # the clusters of green beside those of red, and without these: no question is asked again
    assert gateway.admin.said()["clusters"].attempts == reads + 2
    with gateway.client() as client:
        assert client.post(OTHER, content=b"x").json()["replica"] == "green"
    # one that is mended is taken in
    left = settled(control_plane, snapshot_of(with_bad(blue, "127.0.0.1"), other()))
    assert left == ()
    assert "127.0.0.1:9000" in gateway.admin.hosts()["digits__blue__http"]


def test_an_endpoint_with_only_bad_replicas_has_none(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    bad = RoutedReplica("bad", "not an address", 9000, 9001, draining=False)
    blue = replace(deployment("blue", 100), replicas=(bad,))
    red = other(deployment("red", 100, upstreams("red")))
    left = settled(control_plane, snapshot_of(digits(blue), red))
    assert {part.address for part in left} == {"not an address:9000", "not an address:9001"}
    assert (status(gateway, DIGITS), status(gateway, OTHER)) == (503, 200)


def broken_cluster(snapshot: GatewaySnapshot) -> GatewaySnapshot:
    clusters = copy.deepcopy(snapshot.clusters)
    for name, resource in clusters.items():
        if name.startswith("digits__"):
            resource["connect_timeout"] = "0s"
    return replace(snapshot, version=f"bad{snapshot.version}", clusters=clusters)


def broken_cluster_late(snapshot: GatewaySnapshot) -> GatewaySnapshot:
    """Of those that Envoy refuses one by one, when it has taken others of the same file."""
    clusters = copy.deepcopy(snapshot.clusters)
    for name, resource in clusters.items():
        if name.startswith("digits__"):
            resource["type"] = "ORIGINAL_DST"  # which has no addresses of its own
    return replace(snapshot, version=f"worse{snapshot.version}", clusters=clusters)


def broken_routes(snapshot: GatewaySnapshot) -> GatewaySnapshot:
    routes = copy.deepcopy(snapshot.routes)
    for route in routes["scoring"]["virtual_hosts"][0]["routes"]:
        if "digits" in str(route.get("metadata")) and "route" in route:
            route["route"]["timeout"] = "never"
    return replace(snapshot, version=f"bad{snapshot.version}", routes=routes)


def nested_regex(snapshot: GatewaySnapshot) -> GatewaySnapshot:
    """Can be read, but not be made."""
    routes = copy.deepcopy(snapshot.routes)
    for route in routes["scoring"]["virtual_hosts"][0]["routes"]:
        if "digits" in str(route.get("metadata")):
            route["match"] = {"safe_regex": {"regex": "((("}}
    return replace(snapshot, version=f"worse{snapshot.version}", routes=routes)


@pytest.mark.parametrize(
    "broken", [broken_cluster, broken_cluster_late, broken_routes, nested_regex]
)
def test_a_bad_endpoint_stays_as_it_was_and_all_others_change(
    gateway: Gateway,
    control_plane: ControlPlane,
    agent: GatewayAgent,
    upstreams: Launch,
    broken: Callable[[GatewaySnapshot], GatewaySnapshot],
) -> None:
    blue, green, red = upstreams("blue"), upstreams("green"), upstreams("red")
    others = [
        endpoint(f"more-{number}", deployment("red", 100, red), keys=(KEY,)) for number in range(7)
    ]
    before = snapshot_of(digits(deployment("blue", 100, blue)), *others)
    assert settled(control_plane, before) == ()
    # the bad endpoint also gets a new key, which acts although nothing else of it does
    renewed = endpoint("digits", deployment("green", 100, green), keys=(NEW_KEY,))
    wanted = broken(snapshot_of(renewed, *others, other(deployment("red", 100, red))))
    left = settled(control_plane, wanted)
    assert [(part.endpoint, part.deployment) for part in left] == [("digits", "")]
    assert left[0].reason
    assert status(gateway, OTHER) == 200
    with gateway.client(NEW_KEY) as client:
        assert client.post(DIGITS, content=b"x").json()["replica"] == "blue", "as it was"
    assert status(gateway, DIGITS) == 401, "the key before is revoked"
    # it is asked again once it has changed
    mended = snapshot_of(renewed, *others, other(deployment("red", 100, red)))
    assert settled(control_plane, mended) == ()
    with gateway.client(NEW_KEY) as client:
        assert client.post(DIGITS, content=b"x").json()["replica"] == "green"


def test_what_could_not_be_rendered_stays_as_it_was(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    blue, red = upstreams("blue"), upstreams("red")
    assert settled(control_plane, snapshot_of(digits(deployment("blue", 100, blue)))) == ()
    odd: Any = {"period": 1}  # a probe without its other fields
    unrenderable = replace(deployment("blue", 100, blue), readiness_probe=odd)
    snapshot = snapshot_of(
        endpoint("digits", unrenderable, keys=(NEW_KEY,)), other(deployment("red", 100, red))
    )
    (left,) = settled(control_plane, snapshot)
    assert left.endpoint == "digits"
    assert "KeyError" in left.reason
    assert (status(gateway, DIGITS, NEW_KEY), status(gateway, DIGITS)) == (200, 401)
    assert status(gateway, OTHER) == 200


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


def test_a_revoked_key_does_not_wait_for_what_envoy_waits_for(
    gateway: Gateway,
    control_plane: ControlPlane,
    agent: GatewayAgent,
    upstreams: Launch,
    silent: int,
) -> None:
    """A new cluster warms until its replicas have answered a first question, or have not."""
    blue = deployment("blue", 100, upstreams("blue"))
    assert settled(control_plane, snapshot_of(digits(blue))) == ()
    probe = {"period": 60, "timeout": 60, "failure_threshold": 3, "success_threshold": 1}
    mute = RoutedReplica("mute", "127.0.0.1", silent, silent, draining=False)
    red = replace(deployment("red", 100), replicas=(mute,), readiness_probe=probe)
    control_plane.snapshot = snapshot_of(digits(blue), other(red))
    wait_until(lambda: bool(gateway.admin.warming()), "a cluster warms")
    renewed = snapshot_of(endpoint("digits", blue, keys=(NEW_KEY,)), other(red))
    began = time.monotonic()
    control_plane.snapshot = renewed
    wait_until(lambda: status(gateway, DIGITS) == 401, "the key before opens nothing", 5)
    took = time.monotonic() - began
    assert gateway.admin.warming(), "what it did not wait for is still under way"
    assert status(gateway, DIGITS, NEW_KEY) == 200
    assert took < 3, f"{took:.2f} s"
    # nor does anybody else for long
    green = endpoint("green", deployment("green", 100, upstreams("green")), keys=(KEY,))
    left = settled(control_plane, snapshot_of(digits(blue), other(red), green))
    assert {(part.endpoint, part.deployment, part.waits) for part in left} == {
        ("other", "red", True)
    }
    assert status(gateway, "/endpoints/green/v2/models/m/infer") == 200


def test_a_renewed_key_changes_no_routes(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    """Each change of routes gives every caller a full burst again."""
    blue = deployment("blue", 100, upstreams("blue"))
    assert settled(control_plane, snapshot_of(digits(blue))) == ()
    before = gateway.admin.said()["routes"]
    assert settled(control_plane, snapshot_of(endpoint("digits", blue, keys=(NEW_KEY,)))) == ()
    assert (status(gateway, DIGITS), status(gateway, DIGITS, NEW_KEY)) == (401, 200)
    assert gateway.admin.said()["routes"] == before


def test_the_keys_of_an_older_control_plane_are_those_in_its_routes(
    gateway: Gateway, control_plane: ControlPlane, agent: GatewayAgent, upstreams: Launch
) -> None:
    snapshot = snapshot_of(digits(deployment("blue", 100, upstreams("blue"))))
    assert settled(control_plane, replace(snapshot, keys=None)) == ()
    assert (status(gateway, DIGITS), status(gateway, DIGITS, "wrong")) == (200, 401)
