"""The order in which a snapshot reaches Envoy, and what is waited for, with a slow Envoy."""

import json
from pathlib import Path
from typing import Any

import pytest

from controlplane.deployments.selectors import (
    RoutedDeployment,
    RoutedEndpoint,
    RoutedReplica,
    RoutingView,
)
from controlplane.gateway.admin import Host, Said, Taken
from controlplane.gateway.apply import Applied, apply
from controlplane.gateway.clusters import endpoints
from controlplane.gateway.render import render
from controlplane.gateway.xds import XdsFolder


class SlowEnvoy:
    """Takes clusters and routes at once, endpoints and their health only after some looks."""

    def __init__(self, xds: XdsFolder, *, hosts_after: int, healthy_after: int) -> None:
        self.xds = xds
        self.looks = 0
        self.hosts_after = hosts_after
        self.healthy_after = healthy_after
        self.routes_written_at_look = -1

    def taken(self) -> Taken:
        return Taken(frozenset(self.xds.clusters()), frozenset(), ())

    def said(self) -> dict[str, Said]:
        self.looks += 1
        routes = self.xds.folder / "rds" / "scoring.json"
        if routes.exists() and self.routes_written_at_look < 0:
            self.routes_written_at_look = self.looks
        read = self.xds.writes
        found = {
            "clusters": Said(_version(self.xds.folder / "cds.json"), read),
            "routes": Said(_version(routes), read),
        }
        for name in self.xds.endpoint_files():
            file = self.xds.folder / "eds" / f"{name}.json"
            late = self.looks <= self.hosts_after
            found[name] = Said() if late else Said(_version(file), read)
        return found

    def hosts(self) -> dict[str, dict[str, Host]]:
        self.looks += 1
        healthy = self.looks > self.healthy_after
        return {
            name: {
                "127.0.0.1:9001": Host(draining=False, healthy=healthy),
                "127.0.0.1:9003": Host(draining=True, healthy=False),
            }
            if name.endswith("http")
            else {
                "127.0.0.1:9002": Host(draining=False, healthy=healthy),
                "127.0.0.1:9004": Host(draining=True, healthy=False),
            }
            for name in self.xds.endpoint_files()
        }


def _version(file: Path) -> str:
    return str(json.loads(file.read_text())["version_info"]) if file.exists() else ""


REPLICAS = (
    RoutedReplica("a", "127.0.0.1", 9001, 9002, draining=False),
    RoutedReplica("b", "127.0.0.1", 9003, 9004, draining=True),
)
BLUE = RoutedDeployment("blue", 100, 0, 5000, True, REPLICAS)
VIEW = RoutingView((RoutedEndpoint("digits", 1, (), (BLUE,)),))


@pytest.fixture
def xds(tmp_path: Path) -> XdsFolder:
    folder = XdsFolder(tmp_path / "xds")
    folder.prepare()
    folder.write_clusters([])
    return folder


def run(envoy: Any, xds: XdsFolder) -> Applied:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    return apply(render(VIEW), xds, envoy, sleep=sleep, clock=lambda: now[0])


def test_endpoints_are_believed_when_envoy_shows_them(xds: XdsFolder) -> None:
    envoy = SlowEnvoy(xds, hosts_after=4, healthy_after=7)
    run(envoy, xds)
    assert envoy.routes_written_at_look > envoy.healthy_after


def test_a_dead_replica_holds_up_nothing_for_long(xds: XdsFolder) -> None:
    run(SlowEnvoy(xds, hosts_after=0, healthy_after=10**9), xds)


def test_endpoints_that_never_arrive_are_named(xds: XdsFolder) -> None:
    found = run(SlowEnvoy(xds, hosts_after=10**9, healthy_after=0), xds)
    assert {(part.endpoint, part.deployment) for part in found.left_out} == {("digits", "blue")}


def test_a_port_given_again_belongs_to_who_answers() -> None:
    successor = RoutedReplica("c", "127.0.0.1", 9003, 9005, draining=False)
    blue = RoutedDeployment("blue", 100, 0, 5000, True, (*REPLICAS, successor))
    (part,) = endpoints("digits__blue__http", "http", blue)["endpoints"]
    hosts = [
        (host["endpoint"]["address"]["socket_address"]["port_value"], host.get("health_status"))
        for host in part["lb_endpoints"]
    ]
    assert hosts == [(9001, None), (9003, None)]
