"""Pure: what channels are told, in each of their shapes, and how a webhook is signed."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from controlplane.alerts.rules import RULES
from controlplane.alerts.types import FORGOTTEN_AFTER, ChannelKind

SIGNATURE_HEADER: Final = "Shoal-Signature"
TIMESTAMP_HEADER: Final = "Shoal-Timestamp"
DELIVERY_HEADER: Final = "Shoal-Delivery"
VERSION: Final = "v1"
ALERTMANAGER_PATH: Final = "/api/v2/alerts"
FIRING, RESOLVED, TEST = "firing", "resolved", "test"


@dataclass(frozen=True, slots=True)
class Message:
    """One alert at one moment, as rows keep it. Times are ISO 8601."""

    event: str  # firing, resolved, test
    id: str  # of the alert
    rule: str
    title: str
    severity: str
    subject: str
    part: str
    project: str
    summary: str
    value: float | None
    started_at: str
    resolved_at: str
    resolution: str
    url: str  # of the page of what it is about
    alert_url: str
    runbook: str  # in the documentation
    runbook_url: str  # in the studio


def message_from_json(data: Mapping[str, Any]) -> Message:
    return Message(**data)


def message_to_json(message: Message) -> dict[str, Any]:
    return asdict(message)


def page_of(subject: str) -> str:
    """The path in the studio of what an alert is about."""
    kind, _, name = subject.partition("/")
    if kind == "endpoint":
        return f"/endpoints/{name}/overview"
    return f"/nodes/{name}" if kind == "node" else "/system"


def headline(message: Message) -> str:
    word = {FIRING: "Firing", RESOLVED: "Resolved", TEST: "Test"}[message.event]
    about = f"{message.subject} {message.part}".strip()
    return f"{word}: {message.title}, {about}"


def text(message: Message) -> str:
    """What an e-mail says."""
    told = message.resolution or message.summary
    lines = [told, "", f"Severity: {message.severity}", f"Since: {message.started_at}"]
    if message.project:
        lines.append(f"Project: {message.project}")
    lines += ["", f"Page: {message.url}", f"Alert: {message.alert_url}"]
    if message.runbook_url:
        lines.append(f"What to do: {message.runbook_url}")
    return "\n".join(lines)


def body(kind: str, message: Message, delivery: str, now: datetime) -> bytes:
    """What is posted to a channel of this kind."""
    if kind == ChannelKind.SLACK:
        shape: Any = _slack(message)
    elif kind == ChannelKind.ALERTMANAGER:
        shape = _alertmanager(message, now)
    else:
        shape = _webhook(message, delivery)
    return json.dumps(shape, ensure_ascii=False).encode()


def _webhook(message: Message, delivery: str) -> dict[str, Any]:
    told = asdict(message)
    event = told.pop("event")
    return {"version": 1, "delivery": delivery, "event": event, "alert": told}


COLOURS: Final = {"page": "#c4314b", "ticket": "#c27803"}
GREEN: Final = "#2f9e44"


def _escaped(words: str) -> str:
    """Slack reads three characters as its own."""
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _slack(message: Message) -> dict[str, Any]:
    told = _escaped(message.resolution or message.summary)
    links = [f"<{message.url}|Page>", f"<{message.alert_url}|Alert>"]
    if message.runbook_url:
        links.append(f"<{message.runbook_url}|What to do>")
    line = f"*{_escaped(headline(message))}*"
    block = {"type": "section", "text": {"type": "mrkdwn", "text": f"{line}\n{told}"}}
    footer = {"type": "context", "elements": [{"type": "mrkdwn", "text": " · ".join(links)}]}
    colour = GREEN if message.event == RESOLVED else COLOURS[message.severity]
    return {
        "text": _escaped(headline(message)),
        "attachments": [{"color": colour, "blocks": [block, footer]}],
    }


def _alertmanager(message: Message, now: datetime) -> list[dict[str, Any]]:
    """POST /api/v2/alerts. It resolves by itself what it is not told again in time."""
    labels = {
        "alertname": message.rule,
        "severity": message.severity,
        "subject": message.subject,
        "part": message.part,
        "project": message.project,
        "source": "shoal",
    }
    ends_at = message.resolved_at or (now + FORGOTTEN_AFTER).isoformat()
    return [
        {
            "labels": {name: value for name, value in labels.items() if value},
            "annotations": {
                "summary": message.title,
                "description": message.resolution or message.summary,
                "runbook": message.runbook,
                "runbook_url": message.runbook_url,
                "page": message.url,
            },
            "startsAt": message.started_at,
            "endsAt": ends_at,
            "generatorURL": message.alert_url,
        }
    ]


def signature(secret: str, timestamp: int, content: bytes) -> str:
    """``v1=`` and the HMAC-SHA256 of the timestamp, a dot, and the body."""
    signed = f"{timestamp}.".encode() + content
    return f"{VERSION}={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def title_of(rule: str) -> str:
    """Of a rule that is no longer there its name."""
    return RULES[rule].title if rule in RULES else rule


def backoff_s(attempts: int) -> float | None:
    """How long to wait after so many tries that failed; None: give up."""
    return WAITS_S[attempts - 1] if attempts <= len(WAITS_S) else None


WAITS_S: Final = (5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 3600.0 * 4)
