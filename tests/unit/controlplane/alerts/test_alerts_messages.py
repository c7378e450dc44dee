"""What channels are told, how it is signed, and where nothing is sent."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from controlplane.alerts.messages import Message, backoff_s, body, headline, signature, text
from controlplane.alerts.services.addresses import AddressRefused, refuse, target, url_check
from controlplane.core.errors import Invalid

NOW = datetime(2026, 11, 27, 12, 0, tzinfo=UTC)
MESSAGE = Message(
    event="firing", id="a1", rule="queue-slow", title="Requests wait long in the queue",
    severity="ticket", subject="endpoint/quote", part="blue", project="default",
    summary="Requests to blue waited <900> ms & more.", value=900.0,
    started_at="2026-11-27T11:58:00+00:00", resolved_at="", resolution="",
    url="https://shoal/endpoints/quote/overview", alert_url="https://shoal/alerts?alert=a1",
    runbook="docs/alerts.md#queue-slow", runbook_url="https://shoal/alerts?tab=rules",
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
    assert told["alert"]["runbook"] == "docs/alerts.md#queue-slow"
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


@pytest.mark.parametrize(
    ("address", "scheme", "refused"),
    [
        ("127.0.0.1", "https", True),
        ("10.1.2.3", "https", True),
        ("192.168.1.1", "https", True),
        ("169.254.169.254", "https", True),  # of clouds, with credentials
        ("100.64.0.1", "https", True),
        ("0.0.0.0", "https", True),
        ("224.0.0.1", "https", True),
        ("240.0.0.1", "https", True),
        ("::1", "https", True),
        ("fe80::1", "https", True),
        ("fd00::1", "https", True),
        ("::ffff:127.0.0.1", "https", True),
        ("::ffff:169.254.169.254", "https", True),
        ("64:ff9b::7f00:1", "https", True),
        ("2002:7f00:1::", "https", True),
        ("1.1.1.1", "http", True),
        ("1.1.1.1", "https", False),
        ("2606:4700::1111", "https", False),
    ],
)
def test_only_public_addresses_are_called(address: str, scheme: str, refused: bool) -> None:
    if not refused:
        refuse(ip_address(address), "host", scheme, [])
        return
    with pytest.raises(AddressRefused):
        refuse(ip_address(address), "host", scheme, [])


def test_a_setting_allows_networks() -> None:
    refuse(ip_address("10.1.2.3"), "host", "http", [ip_network("10.0.0.0/8")])
    refuse(ip_address("::ffff:10.1.2.3"), "host", "http", [ip_network("10.0.0.0/8")])
    with pytest.raises(AddressRefused):
        refuse(ip_address("11.1.2.3"), "host", "http", [ip_network("10.0.0.0/8")])


@pytest.mark.parametrize("host", ["localhost", "127.1", "2130706433", "0x7f.1", "[::1]"])
def test_spellings_of_this_machine_are_refused(host: str) -> None:
    with pytest.raises(AddressRefused):
        target(f"https://{host}/hook", [])


def test_the_address_is_called_under_the_name() -> None:
    found = target("http://localhost:9/hook?x=1", ["127.0.0.0/8", "::1/128"])
    assert found.authority == "localhost:9"
    assert found.url in ("http://127.0.0.1:9/hook?x=1", "http://[::1]:9/hook?x=1")


@pytest.mark.parametrize(
    "url",
    ["ftp://host/x", "host/x", "", "https://", "https://a:b@host/", "https://host:99999/",
     "https://ho st/", "https://host/" + "x" * 2000, "https://[::1/", "file:///etc/passwd",
     "https://host/\r\nX: y"],
)  # fmt: skip
def test_what_is_no_url_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        url_check(url)
    assert caught.value.field == "url"


def test_what_is_shown_of_a_url_is_its_host() -> None:
    shown = url_check("https://hooks.slack.com/services/T0/B0/secret")
    assert shown == "https://hooks.slack.com"
