"""``shoal objective``, ``shoal alert`` and ``shoal channel``, the SDK's, and what is shown."""

import io
from typing import Any

import pytest

from shoal import MLClient
from shoal.cli.main import main
from shoal.client import Client
from tests.support.shoal_server import FakeServer
from tests.unit.shoal.test_shoal_administration import Sent, page

Capture = pytest.CaptureFixture[str]
AT = "2026-01-05T10:00:00Z"
OBJECTIVE: dict[str, Any] = {
    "name": "answered", "endpoint": "net", "kind": "availability", "target_percent": 99.9,
    "window_days": 28, "threshold_ms": None, "state": "burning", "told": "", "requests": 12_000,
    "bad_requests": 18, "good_percent": 99.85, "budget_left": -0.5,
    "burn_rates": [{"speed": "fast", "long_s": 3600.0, "short_s": 300.0, "factor": 14.4,
                    "long_rate": 20.123, "short_rate": None, "long_requests": 9,
                    "burning": True}],
    "created_by": "dora", "created_at": AT, "updated_at": AT,
}  # fmt: skip
ALERT: dict[str, Any] = {
    "id": "a" * 32, "rule": "queue-slow", "title": "Requests wait long in the queue",
    "severity": "ticket", "state": "firing", "subject": "endpoint/net", "part": "blue",
    "project": "default", "value": 900.0, "summary": "Requests to blue waited 900 ms.",
    "untold": "", "started_at": AT, "fired_at": AT, "resolved_at": None, "resolution": "",
    "acknowledged_by": "", "acknowledged_at": None, "notified_at": AT, "silenced_until": None,
    "silence": "", "page": "/endpoints/net/overview", "runbook": "docs/runbooks/queue-slow.md",
}  # fmt: skip
RULE: dict[str, Any] = {
    "name": "queue-slow", "title": "x", "about": "x", "enabled": True, "threshold": 500.0,
    "default_threshold": 500.0, "unit": "ms", "for_s": 120, "clear_s": 120, "severity": "ticket",
    "runbook": "docs/runbooks/queue-slow.md", "steps": ["More comes in than is answered."],
    "kinds": ["project", "endpoint"], "thresholds": [],
}  # fmt: skip
SILENCE: dict[str, Any] = {
    "id": "s1", "rule": "", "subject": "endpoint/net", "project": "default", "reason": "load test",
    "starts_at": AT, "ends_at": AT, "created_by": "dora",
}  # fmt: skip
CHANNEL: dict[str, Any] = {
    "name": "on-call", "kind": "webhook", "enabled": True, "address": "https://hooks.example.org",
    "recipients": [], "severities": [], "projects": [], "signed": True, "created_by": "ada",
    "created_at": AT, "updated_at": AT,
}  # fmt: skip
DELIVERY: dict[str, Any] = {
    "id": "d1", "channel": "on-call", "event": "test", "alert": "", "status": "delivered",
    "attempts": 1, "next_at": None, "created_at": AT, "delivered_at": AT, "replay_of": "",
    "log": [{"at": AT, "ms": 12.0, "status": 200, "error": ""}], "message": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "body"),
    [
        (
            ["--availability", "99.9"],
            {"kind": "availability", "target_percent": 99.9, "window_days": 28,
             "threshold_ms": None},
        ),
        (
            ["--latency", "250", "--target", "99", "--days", "7"],
            {"kind": "latency", "target_percent": 99.0, "window_days": 7, "threshold_ms": 250.0},
        ),
    ],
)  # fmt: skip
def test_an_objective_is_set(
    installed: FakeServer, capsys: Capture, options: list[str], body: dict[str, Any]
) -> None:
    sent = Sent(installed, "PUT /endpoints/net/objectives/answered", OBJECTIVE)
    assert main(["objective", "set", "net", "answered", *options]) == 0
    assert sent.bodies == [body]
    out = capsys.readouterr().out
    for text in ("99.9 % without a 5xx, 28 days", "-50.0 %", "1 h and 5 min", "20.1 and –"):
        assert text in out


@pytest.mark.parametrize(
    "options",
    [[], ["--availability", "99", "--latency", "5"], ["--latency", "5"], ["--target", "9"]],
)
def test_an_objective_is_one_or_the_other(installed: FakeServer, options: list[str]) -> None:
    assert main(["objective", "set", "net", "answered", *options]) == 2
    assert installed.calls == []


def test_objectives_are_listed_and_removed(installed: FakeServer, capsys: Capture) -> None:
    Sent(installed, "GET /endpoints/net/objectives", {"items": [OBJECTIVE]})
    assert main(["objective", "list", "net"]) == 0
    assert "12,000" in capsys.readouterr().out
    Sent(installed, "DELETE /endpoints/net/objectives/answered", None, status=204)
    assert main(["objective", "delete", "net", "answered"]) == 0


def test_alerts_are_listed_and_shown_with_what_to_do(
    installed: FakeServer, capsys: Capture
) -> None:
    Sent(installed, "GET /alerts", page(ALERT), page(ALERT))
    assert main(["alert", "list"]) == 0
    assert "endpoint/net blue" in capsys.readouterr().out
    Sent(installed, f"GET /alerts/{ALERT['id']}", ALERT)
    Sent(installed, "GET /alert-rules", {"items": [RULE]})
    assert main(["alert", "show", "aaaa"]) == 0
    out = capsys.readouterr().out
    assert "1. More comes in than is answered." in out
    assert "docs/runbooks/queue-slow.md" in out


def test_alerts_are_acknowledged_and_silenced(installed: FakeServer, capsys: Capture) -> None:
    acked = {**ALERT, "acknowledged_by": "dora"}
    Sent(installed, f"POST /alerts/{ALERT['id']}/acknowledge", acked)
    assert main(["alert", "ack", ALERT["id"]]) == 0
    assert "firing, dora looks" in capsys.readouterr().out
    sent = Sent(installed, "POST /silences", SILENCE, status=201)
    options = ["--subject", "endpoint/net", "--for", "2h", "--reason", "load test"]
    assert main(["alert", "silence", *options]) == 0
    assert sent.bodies[0]["subject"] == "endpoint/net"
    assert main(["alert", "silence", "--for", "2 hours", "--reason", "x"]) == 2
    assert "expected 30m, 2h or 3d" in capsys.readouterr().err


def test_a_rule_is_changed(installed: FakeServer) -> None:
    Sent(installed, "GET /alert-rules", *[{"items": [RULE]}] * 2)
    sent = Sent(installed, "PATCH /alert-rules/queue-slow", RULE, RULE)
    assert main(["alert", "rule", "queue-slow", "--threshold", "900", "--for", "5m"]) == 0
    assert main(["alert", "rule", "queue-slow", "--reset"]) == 0
    assert sent.bodies == [
        {"threshold": 900.0, "for_s": 300},
        {"threshold": None, "for_s": None, "severity": None, "enabled": True},
    ]
    assert main(["alert", "rule", "queue-slow"]) == 2


def test_the_secret_of_a_channel_is_printed_once(
    installed: FakeServer, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = Sent(installed, "POST /channels", {**CHANNEL, "secret": "s3cret"}, status=201)
    monkeypatch.setattr("sys.stdin", io.StringIO("https://hooks.example.org/x\n"))
    assert main(["channel", "create", "on-call", "--kind", "webhook", "--url", "-"]) == 0
    assert sent.bodies == [
        {"name": "on-call", "kind": "webhook", "url": "https://hooks.example.org/x"}
    ]
    assert "s3cret" in capsys.readouterr().out


def test_a_test_that_is_not_taken_fails(installed: FakeServer, capsys: Capture) -> None:
    refused = {"at": AT, "ms": 12.0, "status": 500, "error": "It answered 500."}
    failed = {**DELIVERY, "status": "failed", "log": [refused]}
    Sent(installed, "POST /channels/on-call/test", DELIVERY, failed)
    assert main(["channel", "test", "on-call"]) == 0
    assert "200 in 12 ms" in capsys.readouterr().out
    assert main(["channel", "test", "on-call"]) == 1
    assert "It answered 500." in capsys.readouterr().err


def test_the_sdk_has_the_same(client: Client, server: FakeServer) -> None:
    Sent(server, "GET /alerts", page(ALERT))
    Sent(server, "GET /endpoints/net/objectives", {"items": [OBJECTIVE]})
    Sent(server, "GET /channels/on-call/deliveries", page(DELIVERY))
    ml_client = MLClient(client=client, show_progress=False)
    assert [one["rule"] for one in ml_client.alerts.list()] == ["queue-slow"]
    assert ml_client.objectives.list("net")[0]["state"] == "burning"
    assert ml_client.channels.deliveries("on-call")[0]["id"] == "d1"
