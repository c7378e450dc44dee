"""What channels are told, how it is signed, and where nothing is sent."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from controlplane.alerts.messages import Message, backoff_s, body, headline, signature, text

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
MESSAGE = Message(
    event="firing", id="a1", rule="queue-slow", title="Requests wait long in the queue",
    severity="ticket", subject="endpoint/quote", part="blue", project="default",
    summary="Requests to blue waited <900> ms & more.", value=900.0,
    started_at="2026-11-27T11:58:00+00:00", resolved_at="", resolution="",
    url="https://shoal/endpoints/quote/overview", alert_url="https://shoal/alerts?alert=a1",
    runbook="docs/runbooks/queue-slow.md", runbook_url="https://shoal/alerts?tab=rules",
)  # fmt: skip
ENDED = replace(
    MESSAGE,
    event="resolved",
    resolved_at="2026-11-27T12:00:00+00:00",
    resolution="The rule holds again.",
)


def made(kind: str, message: Message = MESSAGE) -> Any:
    return json.loads(body(kind, message, "d1", NOW))


def test_a_webhook_has_all_of_it() -> None:
    told = made("webhook")
    assert (told["version"], told["delivery"], told["event"]) == (1, "d1", "firing")
    assert told["alert"]["summary"] == MESSAGE.summary
    assert told["alert"]["runbook"] == "docs/runbooks/queue-slow.md"
    assert "event" not in told["alert"]


def test_slack_has_a_line_and_an_attachment() -> None:
    told = made("slack")
    assert told["text"] == "Firing: Requests wait long in the queue, endpoint/quote blue"
    words = told["attachments"][0]["blocks"][0]["text"]["text"]
    assert "&lt;900&gt; ms &amp; more" in words
    assert made("slack", ENDED)["attachments"][0]["color"] != told["attachments"][0]["color"]


def test_alertmanager_has_its_shape() -> None:
    (told,) = made("alertmanager")
    assert told["labels"] == {
        "alertname": "queue-slow", "severity": "ticket", "subject": "endpoint/quote",
        "part": "blue", "project": "default", "source": "shoal",
    }  # fmt: skip
    assert told["annotations"]["runbook_url"] == MESSAGE.runbook_url
    assert told["startsAt"] == MESSAGE.started_at
    assert told["endsAt"] == "2026-11-27T15:00:00+00:00", "it is told again before"
    (ended,) = made("alertmanager", ENDED)
    assert ended["labels"] == told["labels"], "or it would be another alert"
    assert ended["endsAt"] == ENDED.resolved_at


def test_mail_says_it_in_words() -> None:
    assert headline(ENDED).startswith("Resolved: ")
    assert "The rule holds again." in text(ENDED)
    assert "What to do: https://shoal/alerts?tab=rules" in text(MESSAGE)


def test_a_signature_is_of_time_and_body() -> None:
    expected = hmac.new(b"secret", b"1700.{}", hashlib.sha256).hexdigest()
    assert signature("secret", 1700, b"{}") == f"v1={expected}"
    assert signature("secret", 1701, b"{}") != signature("secret", 1700, b"{}")


def test_tries_come_less_and_less_often_and_end() -> None:
    waits = [backoff_s(attempts) for attempts in range(1, 9)]
    assert waits == [5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, None]
