"""Rules by header and sticky clients, as commands, files and the SDK say them."""

import json
from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import main
from shoal.cli.rules import rule_text, rules_of
from shoal.client.client import Client
from shoal.client.errors import ShoalError
from shoal.entities import ManagedOnlineEndpoint
from shoal.entities.loading import load_online_endpoint
from shoal.sdk import MLClient
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
TESTERS = {"header": "x-group", "exact": "testers", "deployment": "green"}
RULES = [
    ("x-group=testers->green", TESTERS),
    ("user-agent^=beta/->blue", {"header": "user-agent", "prefix": "beta/", "deployment": "blue"}),
    ("x-t~a->b|c->blue", {"header": "x-t", "regex": "a->b|c", "deployment": "blue"}),
    ("x-debug->blue", {"header": "x-debug", "present": True, "deployment": "blue"}),
    ("x-a=b=c->blue", {"header": "x-a", "exact": "b=c", "deployment": "blue"}),
]


@pytest.fixture
def serving(installed: FakeServer, tmp_path: Path) -> FakeServer:
    for name in ("net.onnx", "net2.onnx"):
        (tmp_path / name).write_bytes(name.encode())
    assert main(["deploy", "net.onnx"]) == 0
    assert main(["deploy", "net2.onnx", "--name", "net"]) == 0
    return installed


@pytest.fixture
def ml_client(client: Client) -> MLClient:
    return MLClient(client=client)


@pytest.mark.parametrize(("text", "rule"), RULES)
def test_a_rule_is_written_as_it_is_shown(text: str, rule: dict[str, Any]) -> None:
    assert rules_of([text]) == [rule]
    assert rule_text(rule) == text


@pytest.mark.parametrize("text", ["x-group=a", "->green", "x-group=a->", "x group=a->green", ""])
def test_a_rule_that_is_none_is_told_as_such(
    serving: FakeServer, capsys: Capture, text: str
) -> None:
    assert main(["traffic", "net", "--rule", text]) == 2
    assert "HEADER=VALUE->DEPLOYMENT" in capsys.readouterr().err
    assert "traffic_rules" not in serving.endpoints["net"]


def test_rules_and_clients_that_stay_are_set_shown_and_taken_away(
    serving: FakeServer, capsys: Capture
) -> None:
    rules = [word for text, _ in RULES for word in ("--rule", text)]
    assert main(["traffic", "net", *rules, "--sticky", "cookie=arm", "--max-age", "60"]) == 0
    row = serving.endpoints["net"]
    assert row["traffic_rules"] == [rule for _, rule in RULES]
    assert row["sticky"] == {"cookie": "arm", "max_age_s": 60}
    told = capsys.readouterr().out
    assert all(text in told for text, _ in RULES)
    assert "told apart by cookie arm, for 60 s" in told
    assert main(["traffic", "net", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["traffic_rules"][0] == TESTERS
    assert main(["online-endpoint", "show", "-n", "net", "-o", "table"]) == 0
    assert "by cookie arm, for 60 s" in capsys.readouterr().out
    assert main(["traffic", "net", "--no-rules", "--sticky", "none"]) == 0
    assert (row["traffic_rules"], row["sticky"]) == ([], None)


@pytest.mark.parametrize(
    "words",
    [
        ("--no-rules", "--rule", "x-a->blue"),
        ("--max-age", "60"),
        ("--sticky", "arm"),
        ("--sticky", "cookie="),
        ("--sticky", "none", "--max-age", "60"),
    ],
)
def test_what_does_not_fit_together_is_refused(serving: FakeServer, words: tuple[str, ...]) -> None:
    assert main(["traffic", "net", *words]) == 2
    assert "sticky" not in serving.endpoints["net"]


def test_a_file_says_them_once(serving: FakeServer, tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "net.endpoint.yml"
    file.write_text(
        "name: net\nauth_mode: key\ntraffic_rules:\n"
        "  - {header: X-Group, exact: testers, deployment: green}\n"
        "sticky: {header: X-User}\n"
    )
    assert main(["apply", "-f", str(file)]) == 0
    row = serving.endpoints["net"]
    assert (row["traffic_rules"], row["sticky"]) == ([TESTERS], {"header": "x-user"})
    capsys.readouterr()
    assert main(["apply", "-f", str(file), "-o", "json"]) == 0
    assert [line["action"] for line in json.loads(capsys.readouterr().out)] == ["none"]
    file.write_text("name: net\nauth_mode: key\ntags: {a: b}\n")
    assert main(["apply", "-f", str(file)]) == 0
    assert row["traffic_rules"] == [TESTERS], "a file that does not name them leaves them"


def test_a_file_with_a_key_that_is_none_says_where() -> None:
    with pytest.raises(ShoalError, match="traffic_rules"):
        load_online_endpoint({"name": "net", "traffic_rules": [{"heder": "x", "deployment": "b"}]})


def test_the_sdk_keeps_what_it_was_not_told(serving: FakeServer, ml_client: MLClient) -> None:
    endpoints = ml_client.online_endpoints
    endpoints.set_traffic("net", None, rules=[TESTERS], sticky={"header": "X-User"}).result()
    shown = endpoints.get("net")
    assert (shown.traffic_rules, shown.sticky) == ([TESTERS], {"header": "x-user"})
    shown.tags = {"a": "b"}
    endpoints.begin_create_or_update(shown).result()
    assert serving.endpoints["net"]["traffic_rules"] == [TESTERS]
    endpoints.set_traffic("net", None, rules=[], sticky={}).result()
    assert serving.endpoints["net"]["traffic_rules"] == []
    assert serving.endpoints["net"]["sticky"] is None


def test_a_new_endpoint_has_nobody_to_rule(installed: FakeServer, ml_client: MLClient) -> None:
    entity = ManagedOnlineEndpoint(name="fresh", traffic_rules=[TESTERS])
    with pytest.raises(ShoalError, match="no endpoint fresh yet"):
        ml_client.online_endpoints.begin_create_or_update(entity).result()
