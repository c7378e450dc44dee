"""The order in which a snapshot reaches Envoy, and what is waited for, with a slow Envoy."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from controlplane.deployments.selectors import (
    RoutedDeployment,
    RoutedEndpoint,
    RoutedReplica,
    RoutingView,
)
from controlplane.gateway.admin import Host, Said
from controlplane.gateway.apply import Applied, apply
from controlplane.gateway.clusters import cluster
from controlplane.gateway.parts import address_of, hosts_of
from controlplane.gateway.render import render
from controlplane.gateway.xds import XdsFolder
from wire.messages import GatewaySnapshot


class SlowEnvoy:
    """Takes clusters and routes at once; their replicas answer only after some looks."""

    def __init__(self, xds: XdsFolder, *, warm_after: int, healthy_after: int) -> None:
        self.xds = xds
        self.looks = 0
        self.warm_after = warm_after
        self.healthy_after = healthy_after
        self.routes_written_at_look = -1

    def warming(self) -> frozenset[str]:
        self.looks += 1
        return frozenset(self.xds.clusters() if self.looks <= self.warm_after else ())

    def said(self) -> dict[str, Said]:
        self.looks += 1
        routes = self.xds.folder / "rds" / "scoring.json"
        if routes.exists() and self.routes_written_at_look < 0:
            self.routes_written_at_look = self.looks
        read = self.xds.writes
        return {
            "clusters": Said(_version(self.xds.folder / "cds.json"), read),
            "routes": Said(_version(routes), read),
        }

    def hosts(self) -> dict[str, dict[str, Host]]:
        self.looks += 1
        healthy = self.looks > self.healthy_after
        return {
            name: {
                address_of(host): Host(
                    draining="health_status" in host,
                    healthy=healthy and "health_status" not in host,
                )
                for host in hosts_of(cluster)
            }
            for name, cluster in self.xds.clusters().items()
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


def run(envoy: Any, xds: XdsFolder, snapshot: GatewaySnapshot | None = None) -> Applied:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    return apply(snapshot or render(VIEW), xds, envoy, sleep=sleep, clock=lambda: now[0])


def test_replicas_are_believed_when_envoy_shows_them(xds: XdsFolder) -> None:
    envoy = SlowEnvoy(xds, warm_after=4, healthy_after=7)
    run(envoy, xds)
    assert envoy.routes_written_at_look > envoy.healthy_after


def test_a_dead_replica_holds_up_nothing_for_long(xds: XdsFolder) -> None:
    assert run(SlowEnvoy(xds, warm_after=0, healthy_after=10**9), xds).left_out == ()


def test_replicas_that_never_answer_are_named(xds: XdsFolder) -> None:
    (left,) = run(SlowEnvoy(xds, warm_after=10**9, healthy_after=0), xds).left_out
    assert (left.endpoint, left.deployment, left.waits) == ("digits", "blue", True)


def test_a_port_given_again_belongs_to_who_answers() -> None:
    successor = RoutedReplica("c", "127.0.0.1", 9003, 9005, draining=False)
    blue = RoutedDeployment("blue", 100, 0, 5000, True, (*REPLICAS, successor))
    hosts = [
        (address_of(host), host.get("health_status"))
        for host in hosts_of(cluster("digits__blue__http", "http", blue))
    ]
    assert hosts == [("127.0.0.1:9001", None), ("127.0.0.1:9003", None)]


def test_endpoints_of_an_older_control_plane_are_put_into_their_clusters(xds: XdsFolder) -> None:
    """Its clusters name a file for each, and the addresses come beside them."""
    snapshot = render(VIEW)
    clusters, endpoints = copy.deepcopy(snapshot.clusters), {}
    for name, resource in clusters.items():
        kind = {"@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"}
        endpoints[name] = {**kind, **resource.pop("load_assignment")}
        resource |= {"type": "EDS", "eds_cluster_config": {"eds_config": {}}}
    older = replace(snapshot, clusters=clusters, endpoints=endpoints)
    (xds.folder / "eds").mkdir()
    found = run(SlowEnvoy(xds, warm_after=0, healthy_after=0), xds, older)
    assert xds.clusters() == found.accepted.clusters == snapshot.clusters
    assert not (xds.folder / "eds").exists()
