"""Which routes hold requests, and which are as if nothing did."""

import json
from dataclasses import replace
from typing import Any

from controlplane.deployments.selectors import (
    Hold,
    RoutedDeployment,
    RoutedEndpoint,
    RoutedReplica,
    RoutingView,
    Rule,
    Sticky,
)
from controlplane.gateway.filters import CORS, HOLD
from controlplane.gateway.render import render
from wire.waking import HoldLimits

REPLICA = RoutedReplica("r1", "10.0.0.1", 9001, 9002, draining=False)
LEAVING = replace(REPLICA, draining=True)
AWAKE = RoutedDeployment("blue", 60, 0, 1500, True, (REPLICA,), hold=Hold(30, 7))
ASLEEP = replace(AWAKE, name="green", weight=40, replicas=(LEAVING,))
ALWAYS = replace(AWAKE, hold=None)


def routes(*deployments: RoutedDeployment, **values: Any) -> list[dict[str, Any]]:
    endpoint = RoutedEndpoint("digits", 7, (), deployments, **values)
    (host,) = render(RoutingView((endpoint,))).routes["scoring"]["virtual_hosts"]
    return [route for route in host["routes"] if "timeout" in route.get("route", {})]


def held(part: dict[str, Any]) -> bool | None:
    """Whether its requests wait; None: it is not said."""
    found = part.get("typed_per_filter_config", {}).get(HOLD)
    return None if found is None else "check_settings" in found


def test_who_always_has_a_replica_or_has_one_now_pays_nothing() -> None:
    for deployment in (ALWAYS, AWAKE, replace(ALWAYS, replicas=())):
        assert HOLD not in json.dumps(routes(deployment))


def test_each_target_of_a_split_says_whether_it_holds() -> None:
    found = routes(AWAKE, ASLEEP)
    pinned = {
        route["route"]["cluster"].split("__")[1]: held(route)
        for route in found
        if "cluster" in route["route"]
    }
    assert pinned == {"blue": False, "green": True}
    splits = [route for route in found if "weighted_clusters" in route["route"]]
    assert len(splits) == 5
    for route in splits:
        targets = route["route"]["weighted_clusters"]["clusters"]
        assert [(one["weight"], held(one)) for one in targets] == [(60, False), (40, True)]
        assert held(route) is None


def test_a_rule_holds_as_its_deployment_does_and_so_does_each_run_of_a_sticky_split() -> None:
    rules = (Rule("x-a", "present", "", "green"), Rule("x-b", "exact", "1", "blue"))
    runs = (("blue", 40), ("green", 40), ("blue", 20))
    found = routes(AWAKE, ASLEEP, rules=rules, sticky=Sticky("header", "x-user", 0, runs))
    asked = {
        match["name"]: held(route)
        for route in found
        for match in route["match"]["headers"]
        if match["name"] in ("x-a", "x-b")
    }
    assert asked == {"x-a": True, "x-b": False}
    splits = [
        route["route"]["weighted_clusters"]
        for route in found
        if "weighted_clusters" in route["route"]
    ]
    assert len(splits) == 5
    for split in splits:
        told = [(one["weight"], held(one)) for one in split["clusters"]]
        assert told == [(40, False), (40, True), (20, False)]


def test_beside_other_filters_of_the_endpoint() -> None:
    found = routes(ASLEEP, cors_origins=("*",))
    pinned = next(route for route in found if "cluster" in route["route"])
    assert pinned["typed_per_filter_config"].keys() == {CORS, HOLD}


def test_no_request_is_idle_for_too_long_while_it_waits() -> None:
    assert routes(AWAKE)[0]["route"]["idle_timeout"] == "91.500s"
    assert routes(ALWAYS)[0]["route"]["idle_timeout"] == "61.500s"


def test_agents_are_told_the_bounds_of_whoever_may_sleep() -> None:
    def snapshot(deployment: RoutedDeployment) -> Any:
        return render(RoutingView((RoutedEndpoint("digits", 7, (), (deployment,)),)))

    limits = HoldLimits(timeout_s=30, most=7)
    assert snapshot(AWAKE).holds == {"digits__blue__http": limits, "digits__blue__grpc": limits}
    assert snapshot(ALWAYS).holds == {}
    assert snapshot(AWAKE).version != snapshot(replace(AWAKE, hold=Hold(30, 8))).version
