"""``shoal endpoint show`` tells of the last change of traffic."""

import json
from typing import Any

import pytest

from shoal.cli.main import main
from shoal.cli.traffic_change import traffic_change_lines
from shoal.display.units import moment
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent

AT = "2026-01-01T12:00:00+00:00"
NONE: dict[str, Any] = {"mirror_traffic": {}, "traffic_rules": []}
RULES = [{"header": "x-debug", "present": True, "deployment": "green"}]
CHANGE: dict[str, Any] = {
    "state": "watching", "actor": "anna", "changed_at": AT, "routed_at": AT, "watched_until": AT,
    "before": NONE | {"traffic": {"blue": 100}},
    "after": NONE | {"traffic": {"blue": 90, "green": 10}},
    "undone_by": "", "undone_at": None, "undo": {"traffic": {"blue": 100}},
}  # fmt: skip
FOUND = {"text": "green does no worse than before: errors 0.00 %, p95 8.1 ms."}


def told(left_s: float | None = None, **over: Any) -> str:
    watch = {"endpoint": "net", "change": CHANGE | over, "left_s": left_s, "found": FOUND}
    return "\n".join(traffic_change_lines(watch))


def test_who_changed_it_how_it_does_and_the_way_back() -> None:
    assert told(99.2).splitlines() == [
        f"Traffic was changed by anna {moment(AT)}: blue 100 % -> blue 90 %, green 10 %",
        "  It is watched for 100 s more.",
        "  green does no worse than before: errors 0.00 %, p95 8.1 ms.",
        "  Take it back: shoal traffic net blue=100",
    ]


@pytest.mark.parametrize(
    ("over", "there", "missing"),
    [
        ({"state": "routing", "routed_at": None}, "not confirmed it yet", "no worse"),
        ({"state": "watched"}, "no worse", "more."),
        ({"state": "undone", "undone_by": "bert", "undone_at": AT}, "bert took that back", "shoal"),
        ({"undo": None}, "no worse", "Take it back"),
        ({"undo": {"traffic_rules": RULES}}, "no worse", "Take it back"),
        ({"undo": {"traffic": {}}}, "no worse", "Take it back"),
        ({"undo": {"traffic_rules": []}}, "shoal traffic net --no-rules", "blue=100"),
        (
            {"undo": {"traffic": {"blue": 100}, "mirror_traffic": {"green": 5}}},
            "shoal traffic net blue=100 --mirror green=5",
            "rules",
        ),
        ({"before": CHANGE["before"] | {"traffic": {}}}, "nobody -> blue 90 %", "rules"),
        ({"after": CHANGE["before"] | {"traffic_rules": RULES}}, ": other rules", "blue 100"),
        ({"after": CHANGE["after"] | {"traffic_rules": RULES}}, "green 10 %, other rules", "x-"),
    ],
)
def test_what_is_told_of_other_states(over: dict[str, Any], there: str, missing: str) -> None:
    said = told(**over)
    assert there in said
    assert missing not in said


def test_an_endpoint_is_shown_with_its_change(
    installed: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    item = {
        "name": "net", "description": "", "serving_state": "Healthy",
        "provisioning_state": "Succeeded", "traffic": {"blue": 90, "green": 10},
        "scoring_uri": "u", "plain_uri": "p", "grpc_target": "g", "ca_path": "", "models": [],
        "deployments": [], "traffic_change": CHANGE,
    }  # fmt: skip
    watch = {"endpoint": "net", "change": CHANGE, "left_s": 1.0, "found": FOUND}
    Sent(installed, "GET /endpoints/net", item, item, item | {"traffic_change": None})
    asked = Sent(installed, "GET /endpoints/net/traffic/watch", watch, watch)
    assert main(["endpoint", "show", "net"]) == 0
    assert "changed by anna" in capsys.readouterr().out
    assert main(["endpoint", "show", "net", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["traffic_watch"] == watch
    assert main(["endpoint", "show", "net"]) == 0
    assert "changed by" not in capsys.readouterr().out
    assert len(asked.bodies) == 2


def test_an_endpoint_says_of_which_deployments_scaling_stands_still(
    installed: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    blue = {
        "name": "blue", "serving_state": "Healthy", "provisioning_state": "Succeeded",
        "model": "net", "version": 1, "traffic": 100, "replicas": [], "error": None,
        "autoscaling": {"blocked": "No node can take 1 of 5 replicas."},
    }  # fmt: skip
    green = {**blue, "name": "green", "autoscaling": {"blocked": ""}}
    item = {
        "name": "net", "description": "", "serving_state": "Healthy",
        "provisioning_state": "Succeeded", "traffic": {"blue": 100}, "scoring_uri": "u",
        "plain_uri": "p", "grpc_target": "g", "ca_path": "", "models": [],
        "deployments": [blue, green], "traffic_change": None,
    }  # fmt: skip
    Sent(installed, "GET /endpoints/net", item)
    assert main(["endpoint", "show", "net"]) == 0
    out = capsys.readouterr().out
    assert "! blue is not autoscaled as it should be: No node can take 1 of 5 replicas." in out
    assert "green is not" not in out
