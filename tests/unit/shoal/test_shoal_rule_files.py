"""Rules of alerts as files: loaded, refused, changed and told."""

from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from shoal import MLClient, load_alert_rules
from shoal.cli.main import main
from shoal.client import Client
from shoal.entities import EntityInvalid
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent
from tests.unit.shoal.test_shoal_alerts import RULE

Capture = pytest.CaptureFixture[str]
OTHER: dict[str, Any] = {**RULE, "name": "node-silent", "threshold": 60.0, "unit": "s"}
NONE: dict[str, Any] = {
    **RULE, "name": "endpoint-unavailable", "threshold": None, "default_threshold": None,
    "unit": "", "severity": "page", "clear_s": 15,
}  # fmt: skip
ALL = {"items": [RULE, OTHER, NONE]}
FILE = {"name": "queue-slow", "threshold": 900, "for_s": 300, "severity": "page", "enabled": False}
CHANGED = {**RULE, "threshold": 900.0, "for_s": 300, "severity": "page", "enabled": False}


def written(values: Any) -> str:
    Path("rules.yml").write_text(yaml.safe_dump(values))
    return "rules.yml"


@pytest.mark.parametrize(
    ("values", "options", "body"),
    [
        (FILE, [], {name: value for name, value in FILE.items() if name != "name"}),
        ({"name": "queue-slow", "threshold": "0.5"}, [], {"threshold": 0.5}),
        ({"name": "queue-slow", "for_s": 0}, [], {"for_s": 0}),
        ({"name": "queue-slow", "severity": "Ticket"}, [], {"severity": "ticket"}),
        ({"name": "queue-slow", "enabled": True}, [], {"enabled": True}),
        ({"name": "queue-slow", "threshold": None, "for_s": 9}, [], {"for_s": 9}),
        ({"threshold": 9}, ["queue-slow"], {"threshold": 9.0}),
        (
            FILE,
            ["--threshold", "7", "--for", "5m", "--severity", "ticket", "--on"],
            {"threshold": 7.0, "for_s": 300, "severity": "ticket", "enabled": True},
        ),
        (
            {"name": "queue-slow", "for_s": 9},
            ["--reset"],
            {"enabled": True, "threshold": None, "for_s": 9, "severity": None},
        ),
    ],
)
def test_a_rule_becomes_as_its_file_says_and_options_go_before(
    installed: FakeServer, values: dict[str, Any], options: list[str], body: dict[str, Any]
) -> None:
    Sent(installed, "GET /alert-rules", ALL)
    sent = Sent(installed, "PATCH /alert-rules/queue-slow", CHANGED)
    assert main(["alert", "rule", *options, "-f", written(values)]) == 0
    assert sent.bodies == [body]


def test_what_changed_is_told_and_what_did_not(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /alert-rules", ALL, {"items": [CHANGED, OTHER, NONE]})
    Sent(installed, "PATCH /alert-rules/queue-slow", CHANGED, CHANGED)
    Sent(installed, "PATCH /alert-rules/node-silent", OTHER, OTHER)
    file = written([FILE, {"name": "node-silent", "threshold": 60}])
    assert main(["alert", "rule", "-f", file, "-o", "yaml"]) == 0
    out = capsys.readouterr()
    assert out.err.splitlines() == [
        "queue-slow: enabled true → false, threshold 500 → 900, for_s 120 → 300, "
        "severity ticket → page",
        "node-silent: as it was",
    ]
    assert yaml.safe_load(out.out) == [CHANGED, OTHER]
    assert main(["alert", "rule", "-f", file]) == 0
    assert "queue-slow: as it was" in capsys.readouterr().err


def test_one_rule_is_shown(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /alert-rules/queue-slow", RULE, RULE)
    assert main(["alert", "rules", "queue-slow", "-o", "yaml"]) == 0
    shown = capsys.readouterr().out
    (entity,) = load_alert_rules(StringIO(shown))
    names = ("enabled", "threshold", "for_s", "severity")
    assert entity.settings() == {name: RULE[name] for name in names}
    assert entity.notes == []
    (again,) = load_alert_rules(StringIO(str(entity)))
    assert again == entity
    assert main(["alert", "rules", "queue-slow"]) == 0
    assert "500 ms" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("threshold: 9", ["name: is missing"]),
        ("name: queue-slow\nthreshhold: 9", ["line 2, threshhold: there is", "mean threshold?"]),
        ("name: queue-slow\nthreshold: 9 ms", ["line 2, threshold: expected a number, not '9 ms'"]),
        ("name: queue-slow\nthreshold: true", ["line 2, threshold: expected a number, not True"]),
        ("name: queue-slow\nthreshold: .inf", ["line 2, threshold: expected a number, not inf"]),
        ("name: queue-slow\nfor_s: 5m", ["line 2, for_s: expected a whole number, not '5m'"]),
        ("name: queue-slow\nenabled: 2", ["line 2, enabled: expected true or false, not 2"]),
        ("name: queue-slow\nseverity: loud", ["line 2, severity: 'loud' is none of page, ticket"]),
        ("name: queue-slow\nclear_s: x", ["line 2, clear_s: expected a whole number, not 'x'"]),
        ("name: [a]", ["line 1, name: expected a text"]),
        (
            "- name: queue-slow\n- name: node-silent\n  treshold: 4\n- name: queue-slow",
            ["line 3, [1].treshold: there is no such key", "line 4, [2].name: 'queue-slow' stands"],
        ),
        ("- queue-slow", ["line 1, [0]: expected keys and values, not 'queue-slow'"]),
        ("[]", ["expected a rule at least"]),
    ],
)
def test_what_is_wrong_is_named_with_value_line_and_what_was_expected(
    text: str, told: list[str]
) -> None:
    with pytest.raises(EntityInvalid) as error:
        load_alert_rules(StringIO(text))
    for one in told:
        assert one in f"{error.value.detail} {error.value.hints}"


@pytest.mark.parametrize(
    ("values", "options", "code", "told"),
    [
        ([FILE, {"name": "quue-slow", "for_s": 1}], [], 3, "Did you mean queue-slow?"),
        ({**FILE, "clear_s": 9}, [], 1, "clear_s: 9, expected 120 for queue-slow: it is built in"),
        ([FILE], ["--off"], 1, "name and options are for one"),
        ({"name": "queue-slow"}, [], 2, "Say what shall change"),
        ({}, ["--off"], 1, "name: is missing"),
    ],
)
def test_nothing_is_changed_where_one_of_the_rules_is_wrong(
    installed: FakeServer,
    capsys: Capture,
    values: Any,
    options: list[str],
    code: int,
    told: str,
) -> None:
    Sent(installed, "GET /alert-rules", ALL)
    unknown = {"title": "Not Found", "status": 404, "detail": "Did you mean queue-slow?"}
    Sent(installed, "GET /alert-rules/quue-slow", unknown, status=404)
    assert main(["alert", "rule", "-f", written(values), *options]) == code
    assert told in capsys.readouterr().err
    assert not [call for call in installed.calls if call.startswith("PATCH")]
    assert main(["alert", "rule", "--off"]) == 2


def test_a_refusal_names_its_rule_and_those_that_are_changed(
    installed: FakeServer, capsys: Capture
) -> None:
    Sent(installed, "GET /alert-rules", ALL)
    Sent(installed, "PATCH /alert-rules/queue-slow", CHANGED)
    refusal = {"title": "That cannot be done", "detail": "threshold: 9", "code": "Invalid"}
    installed.fail_next(
        "PATCH /alert-rules/node-silent", lambda _: httpx.Response(400, json=refusal)
    )
    assert main(["alert", "rule", "-f", written([FILE, {**FILE, "name": "node-silent"}])]) == 1
    error = capsys.readouterr().err
    assert "node-silent: That cannot be done" in error
    assert "These are as the file says already: queue-slow." in error


def test_the_sdk_takes_what_is_loaded(client: Client, server: FakeServer) -> None:
    ml_client = MLClient(client=client, show_progress=False)
    Sent(server, "GET /alert-rules", ALL)
    sent = Sent(server, "PATCH /alert-rules/queue-slow", CHANGED)
    Sent(server, "GET /alert-rules/queue-slow", CHANGED)
    ((before, after),) = ml_client.alerts.update_rules(load_alert_rules([FILE]))
    assert (before, after, sent.bodies[0]["for_s"]) == (RULE, CHANGED, 300)
    assert ml_client.alerts.get_rule("queue-slow") == CHANGED
