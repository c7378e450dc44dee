"""From a view to Envoy's resources, against golden files."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from controlplane.deployments.selectors import (
    KeyHash,
    RoutedDeployment,
    RoutedEndpoint,
    RoutedReplica,
    RoutingView,
)
from controlplane.gateway.parts import hosts_of
from controlplane.gateway.render import render
from controlplane.gateway.routes import MANAGEMENT_PATHS, V2_PATHS

GOLDEN = Path(__file__).parent / "golden"
BLUE = RoutedDeployment(
    name="blue",
    weight=90,
    mirror_percent=0,
    request_timeout_ms=1500,
    retries=True,
    replicas=(
        RoutedReplica("r1", "10.0.0.1", 8000, 8001, draining=False),
        RoutedReplica("r2", "10.0.0.2", 8000, 8001, draining=True),
    ),
)
GREEN = RoutedDeployment(
    name="green",
    weight=10,
    mirror_percent=5,
    request_timeout_ms=60_000,
    retries=False,
    replicas=(),
)
VIEW = RoutingView(
    (
        RoutedEndpoint(
            "digits",
            generation=7,
            keys=(KeyHash("primary", "a" * 64), KeyHash("secondary", "b" * 64)),
            deployments=(BLUE, GREEN),
        ),
        RoutedEndpoint("empty", generation=1, keys=(), deployments=()),
    )
)


@pytest.mark.parametrize("part", ["clusters", "routes"])
def test_the_snapshot_is_the_golden_one(part: str) -> None:
    """After a deliberate change: delete the golden file, run once, read the difference."""
    found = json.dumps(getattr(render(VIEW), part), indent=1, sort_keys=True) + "\n"
    file = GOLDEN / f"{part}.json"
    if not file.exists():
        file.parent.mkdir(exist_ok=True)
        file.write_text(found)
        pytest.fail(f"{file.name} was missing; it is written now: review it and run again")
    assert found == file.read_text()


def routes_of(endpoint: str) -> list[dict[str, Any]]:
    routes: list[dict[str, Any]] = render(VIEW).routes["scoring"]["virtual_hosts"][0]["routes"]
    return [
        route
        for route in routes
        if route.get("metadata", {}).get("filter_metadata", {}).get("shoal")
        == {"endpoint": endpoint}
    ]


def test_every_route_of_an_endpoint_asks_for_its_keys() -> None:
    for name, keys in (("digits", {"a" * 64: "primary", "b" * 64: "secondary"}), ("empty", {})):
        for route in routes_of(name):
            lua = route["metadata"]["filter_metadata"]["envoy.filters.http.lua"]
            assert lua == {"endpoint": name, "keys": keys}, (
                "an empty list of keys must refuse, not allow"
            )


def test_a_split_takes_the_longest_timeout_and_the_strictest_retries() -> None:
    split = next(
        r["route"] for r in routes_of("digits") if "weighted_clusters" in r.get("route", {})
    )
    assert split["timeout"] == "60.000s"
    assert split["retry_policy"]["retry_on"].split(",")[-1] != "reset"
    pinned = [r["route"] for r in routes_of("digits") if "cluster" in r.get("route", {})]
    blue = next(route for route in pinned if route["cluster"] == "digits__blue__http")
    assert blue["timeout"] == "1.500s"
    assert blue["retry_policy"]["retry_on"].split(",")[-1] == "reset"


def test_streams_have_no_timeout() -> None:
    streams = [
        route["route"]
        for route in routes_of("digits")
        if route["match"][
            "prefix" if "prefix" in route["match"] else "path_separated_prefix"
        ].endswith("ModelStreamInfer")
    ]
    assert streams
    assert all(route["timeout"] == route["idle_timeout"] == "0s" for route in streams)


def test_equal_content_has_the_same_version_and_any_change_another() -> None:
    again = render(RoutingView(VIEW.endpoints))
    assert again.version == render(VIEW).version
    assert render(RoutingView(VIEW.endpoints[:1])).version != again.version


def test_a_draining_replica_is_marked_and_grpc_is_checked_over_http() -> None:
    hosts = hosts_of(render(VIEW).clusters["digits__blue__grpc"])
    assert [host.get("health_status") for host in hosts] == [None, "DRAINING"]
    assert hosts[0]["endpoint"]["health_check_config"] == {"port_value": 8000}
    assert hosts[0]["endpoint"]["address"]["socket_address"]["port_value"] == 8001


@pytest.mark.parametrize(
    "path",
    [
        "/v2",
        "/v2/",
        "/v2/health/live",
        "/v2/health/ready",
        "/v2/models/stats",
        "/v2/models/a",
        "/v2/models/a%2Fb:0/infer",
        "/v2/models/a/versions/3",
        "/v2/models/a/versions/3/ready",
        "/v2/models/a/generate_stream",
        "/swagger.json",
    ],
)
def test_scoring_paths_pass(path: str) -> None:
    assert re.fullmatch(V2_PATHS, path)


@pytest.mark.parametrize(
    "path",
    [
        "/v2/repository/index",
        "/v2/repository/models/a/load",
        "/v2/systemsharedmemory/status",
        "/v2/cudasharedmemory/region/r/register",
        "/v2/trace/setting",
        "/v2/logging",
        "/v2/models/a/trace/setting",
        "/v2/models/a/versions/1/trace/setting",
    ],
)
def test_management_paths_do_not_pass(path: str) -> None:
    assert not re.fullmatch(V2_PATHS, path)
    assert re.fullmatch(MANAGEMENT_PATHS, path)
