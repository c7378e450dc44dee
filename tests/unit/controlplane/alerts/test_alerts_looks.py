"""Looks, notifications, silences and channels over rows and REST; receivers are real ones."""

import hashlib
import hmac
import json
import logging
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, User
from controlplane.alerts.models import Alert, Channel, Delivery, ObjectiveRow, Silence
from controlplane.alerts.selectors import facts
from controlplane.alerts.services import deliveries, keeping, looks
from controlplane.core import addresses
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.gateway.models import Gateway
from controlplane.metrics.services import gateway_samples_ingest
from controlplane.nodes.models import Node
from tests.support.certificates import certificate_authority
from tests.support.people import make_user
from tests.support.project_world import member
from tests.support.webhook_receiver import Receiver
from wire.samples import GatewaySample, GatewaySampleBatch

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
Build = Callable[[User], APIClient]
GONE = "gateway-silent"


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.SHOAL_ALERT_NETWORKS = ("127.0.0.0/8",)
    found = Receiver()
    yield found
    found.close()


@pytest.fixture
def boss(client_of: Build) -> APIClient:
    return client_of(make_user("ada", User.Role.ADMIN))


@pytest.fixture(autouse=True)
def room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk of this machine is none of these tests' business."""
    monkeypatch.setattr(facts, "disks", lambda *_: iter(()))
    monkeypatch.setattr(facts, "FACTS", {**facts.FACTS, "disk-nearly-full": lambda *_: iter(())})
    monkeypatch.setattr(looks, "FACTS", facts.FACTS)


def gateway(now: datetime, silent_s: float) -> None:
    Gateway.objects.update_or_create(
        name="gw", defaults={"last_seen_at": now - timedelta(seconds=silent_s)}
    )


def channel(api: APIClient, receiver: Receiver, **more: Any) -> dict[str, Any]:
    body = {"name": "on-call", "kind": "webhook", "url": f"{receiver.url}/hook", **more}
    answer = api.post("/api/v1/channels", body, format="json")
    assert answer.status_code == 201, answer.json()
    found: dict[str, Any] = answer.json()
    return found


def look(now: datetime) -> None:
    looks.alerts_look(now=now)
    deliveries.deliver(now=now)


def test_an_alert_fires_is_told_with_a_signature_and_is_resolved(
    boss: APIClient, receiver: Receiver
) -> None:
    secret = channel(boss, receiver)["secret"]
    now = timezone.now()
    gateway(now, 90)
    look(now)
    (row,) = Alert.objects.all()
    assert (row.rule, row.subject, row.state) == (GONE, "gateway/gw", "firing")
    ((path, headers, content),) = receiver.got
    assert path == "/hook"
    stamp = headers["Shoal-Timestamp"]
    signed = hmac.new(secret.encode(), f"{stamp}.".encode() + content, hashlib.sha256)
    assert headers["Shoal-Signature"] == f"v1={signed.hexdigest()}"
    told = json.loads(content)
    assert told["delivery"] == headers["Shoal-Delivery"]
    assert told["alert"]["id"] == row.pk
    assert told["alert"]["runbook"] == "docs/runbooks/gateway-silent.md"
    look(now + timedelta(seconds=15))
    assert len(receiver.got) == 1, "told once"
    for seconds in (30, 45, 60, 75):
        gateway(now + timedelta(seconds=seconds), 1)
        look(now + timedelta(seconds=seconds))
    row.refresh_from_db()
    assert (row.state, row.resolution) == ("resolved", "The rule holds again.")
    assert receiver.events() == ["firing", "resolved"]
    verbs = ["alert.fired", "alert.resolved"]
    assert [e.verb for e in Event.objects.filter(verb__in=verbs).order_by("seq")] == verbs
    # and again: another alert
    gateway(now + timedelta(seconds=90), 90)
    look(now + timedelta(seconds=90))
    assert Alert.objects.count() == 2


def test_the_address_of_a_channel_is_in_no_log(
    boss: APIClient, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever knows it may post there: with most chats it is the secret itself."""
    caplog.set_level(logging.DEBUG)
    channel(boss, receiver, url=f"{receiver.url}/hooks/8x3kq5h1ftyq3jbm7r9x1x5i3o?key=swordfish")
    now = timezone.now()
    gateway(now, 90)
    look(now)
    assert len(receiver.got) == 1
    assert "8x3kq5h1ftyq3jbm7r9x1x5i3o" not in caplog.text
    assert "swordfish" not in caplog.text


def test_two_evaluators_at_once_tell_it_once(
    boss: APIClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one looks between the first one's reading and writing, at every step."""
    channel(boss, receiver)
    now = timezone.now()
    gateway(now, 90)
    for step in ("_begin", "_tell_one", "_end"):
        real, times = getattr(looks, step), []

        def twice(*args: Any, real: Any = real, times: list[int] = times, **more: Any) -> None:
            if not times:
                times.append(1)
                real(*args, **more)
            real(*args, **more)

        monkeypatch.setattr(looks, step, twice)
    look(now)
    assert Alert.objects.count() == 1
    assert Delivery.objects.count() == 1
    gateway(now + timedelta(seconds=15), 1)
    for seconds in range(15, 90, 15):
        gateway(now + timedelta(seconds=seconds), 1)
        look(now + timedelta(seconds=seconds))
    assert receiver.events() == ["firing", "resolved"]
    assert Event.objects.filter(verb="alert.fired").count() == 1


def test_an_objective_burns_and_metrics_that_stop_resolve_nothing(api: APIClient) -> None:
    api.post("/api/v1/endpoints", {"name": "quote"}, format="json")
    endpoint = Endpoint.objects.get()
    now = timezone.now()
    Endpoint.objects.update(created_at=now - timedelta(days=9))
    ObjectiveRow.objects.create(
        endpoint=endpoint, name="answered", kind="availability", target_percent=99.9,
        window_days=7, created_by="ada",
    )  # fmt: skip
    gateway(now, 1)
    sample = GatewaySample(
        "quote", "blue", now.timestamp() - 5, 2.0, 100, {"2xx": 90, "5xx": 10}, {"50": 100}
    )
    gateway_samples_ingest(GatewaySampleBatch((sample,)))
    looks.alerts_look(now=now)
    fast = Alert.objects.get(rule="objective-fast-burn")
    assert (fast.state, fast.part, fast.project_id) == ("firing", "answered", "default")
    assert "burn rate is 100 over 1 h and 100 over 5 min" in fast.summary
    # gateways fall silent for hours: nobody can tell
    for hours in (1, 2, 8):
        looks.alerts_look(now=now + timedelta(hours=hours))
    fast.refresh_from_db()
    assert fast.state == "firing"
    assert "No gateway" in fast.untold
    # they are back, and nobody asks
    for seconds in range(0, 240, 15):
        later = now + timedelta(hours=9, seconds=seconds)
        gateway(later, 1)
        looks.alerts_look(now=later)
    fast.refresh_from_db()
    assert (fast.state, fast.untold) == ("resolved", "")


def test_an_objective_that_is_removed_resolves_its_alert(api: APIClient) -> None:
    test_an_objective_burns_and_metrics_that_stop_resolve_nothing(api)
    Alert.objects.filter(rule="objective-fast-burn").update(state="firing", resolved_at=None)
    api.delete("/api/v1/endpoints/quote/objectives/answered")
    looks.alerts_look(now=timezone.now())
    row = Alert.objects.get(rule="objective-fast-burn")
    assert (row.state, row.resolution) == ("resolved", "What it was about is not there any more.")


def test_a_rule_that_fails_keeps_its_alerts_and_the_others_go_on(
    boss: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    gateway(now, 90)
    looks.alerts_look(now=now)

    def failing(*_: object) -> Iterator[Any]:
        raise RuntimeError("the database is gone")

    monkeypatch.setattr(looks, "FACTS", {**looks.FACTS, GONE: failing})
    Node.objects.create(id="n1", name="n1", last_seen_at=now - timedelta(minutes=5))
    looks.alerts_look(now=now + timedelta(seconds=15))
    states = {row.rule: row.state for row in Alert.objects.all()}
    assert states == {GONE: "firing", "node-silent": "firing"}


def test_what_is_silenced_is_told_once_the_silence_ends(
    boss: APIClient, receiver: Receiver
) -> None:
    channel(boss, receiver)
    now = timezone.now()
    body = {
        "subject": "gateway/gw",
        "reason": "moved to another rack",
        "ends_at": (now + timedelta(hours=1)).isoformat(),
    }
    silence = boss.post("/api/v1/silences", body, format="json")
    assert silence.status_code == 201, silence.json()
    gateway(now, 90)
    later = timezone.now()
    look(later)
    assert receiver.got == []
    (shown,) = boss.get("/api/v1/alerts?state=firing").json()["items"]
    assert shown["silence"] == silence.json()["id"]
    assert boss.get("/api/v1/alerts/counts").json() == {"open": 0, "firing": 1, "pending": 0}
    path = f"/api/v1/silences/{silence.json()['id']}"
    assert boss.get(path).json() == silence.json()
    assert boss.get("/api/v1/silences/none").status_code == 404
    ended = boss.delete(path)
    assert ended.status_code == 200
    look(timezone.now())
    assert receiver.events() == ["firing"]
    assert boss.delete(f"/api/v1/silences/{silence.json()['id']}").status_code == 409


def test_a_receiver_that_fails_is_tried_again_and_the_log_says_so(
    boss: APIClient, receiver: Receiver
) -> None:
    channel(boss, receiver)
    receiver.answers = [500, 302]
    now = timezone.now()
    gateway(now, 90)
    look(now)
    row = Delivery.objects.get()
    assert (row.status, row.attempts) == ("waiting", 1)
    assert deliveries.deliver(now=now + timedelta(seconds=4)) == 0, "not yet"
    deliveries.deliver(now=now + timedelta(seconds=6))
    assert deliveries.deliver(now=now + timedelta(seconds=30)) == 1
    listed = boss.get("/api/v1/channels/on-call/deliveries").json()["items"]
    assert [one["status"] for one in listed[0]["log"]] == [500, 302, 200]
    assert listed[0]["log"][0]["error"] == "It answered 500. words"
    assert "redirects are not followed" in listed[0]["log"][1]["error"]
    assert listed[0]["status"] == "delivered"
    assert [path for path, _, _ in receiver.got] == ["/hook"] * 3
    again = boss.post(f"/api/v1/channels/on-call/deliveries/{row.pk}/replay")
    assert (again.status_code, again.json()["replay_of"]) == (201, row.pk)
    assert deliveries.deliver(now=timezone.now()) == 1
    first, last = receiver.got[0][2], receiver.got[-1][2]
    assert json.loads(first)["alert"] == json.loads(last)["alert"]


def test_it_gives_up_after_eight_tries(boss: APIClient, receiver: Receiver) -> None:
    channel(boss, receiver)
    receiver.answers = [503] * 20
    now = timezone.now()
    gateway(now, 90)
    look(now)
    for hours in range(20):
        deliveries.deliver(now=now + timedelta(hours=5 * (1 + hours)))
    row = Delivery.objects.get()
    assert (row.status, row.attempts, row.next_at) == ("failed", 8, None)


def test_of_two_senders_one_sends(boss: APIClient, receiver: Receiver) -> None:
    channel(boss, receiver)
    now = timezone.now()
    gateway(now, 90)
    looks.alerts_look(now=now)
    row = Delivery.objects.get()
    other = Delivery.objects.get()
    assert deliveries._take(row, now)
    assert not deliveries._take(other, now)
    # who took it has died: once its lease has ended another one sends it
    assert deliveries.deliver(now=now + timedelta(seconds=59)) == 0
    assert deliveries.deliver(now=now + timedelta(seconds=61)) == 1
    assert receiver.events() == ["firing"]
    assert Delivery.objects.get().attempts == 2


def test_private_addresses_are_refused_unless_allowed(
    boss: APIClient, receiver: Receiver, settings: Settings
) -> None:
    channel(boss, receiver)
    settings.SHOAL_ALERT_NETWORKS = ()
    found = boss.post("/api/v1/channels/on-call/test").json()
    assert found["status"] == "failed"
    assert "SHOAL_ALERT_NETWORKS" in found["log"][0]["error"]
    assert receiver.got == []


@pytest.mark.parametrize(("host", "status"), [("localhost", "delivered"), ("127.0.0.1", "failed")])
def test_the_name_is_what_the_certificate_must_be_of(
    boss: APIClient,
    receiver: Receiver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    host: str,
    status: str,
) -> None:
    """The address is called, and the certificate is checked against the name all the same."""
    authority = certificate_authority()
    shown = authority.signs("localhost").context(tmp_path)
    receiver.server.socket = shown.wrap_socket(receiver.server.socket, server_side=True)
    (tmp_path / "ca.pem").write_text(authority.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setattr(addresses, "_addresses", lambda *_: [ip_address("127.0.0.1")])
    channel(boss, receiver, url=f"https://{host}:{receiver.server.server_port}/hook")
    found = boss.post("/api/v1/channels/on-call/test").json()
    assert found["status"] == status, found["log"]
    assert len(receiver.got) == (status == "delivered")


@pytest.mark.parametrize("kind", ["webhook", "slack", "alertmanager"])
def test_a_test_is_sent_at_once(boss: APIClient, receiver: Receiver, kind: str) -> None:
    made = channel(boss, receiver, kind=kind, url=receiver.url)
    assert made["signed"] == bool(made["secret"]) == (kind == "webhook")
    found = boss.post("/api/v1/channels/on-call/test").json()
    assert (found["status"], found["log"][0]["status"]) == ("delivered", 200)
    ((path, headers, content),) = receiver.got
    assert path == ("/api/v2/alerts" if kind == "alertmanager" else "/")
    assert ("Shoal-Signature" in headers) == (kind == "webhook")
    assert b"tries whether on-call hears of alerts" in content


def test_mail_goes_through_the_mail_server_that_is_set(boss: APIClient, settings: Settings) -> None:
    body = {"name": "ops-mail", "kind": "email", "recipients": ["ops@example.org"]}
    assert boss.post("/api/v1/channels", body, format="json").status_code == 201
    settings.EMAIL_HOST = ""
    found = boss.post("/api/v1/channels/ops-mail/test").json()
    assert found["log"][0]["error"] == "No mail server is set: SHOAL_EMAIL_HOST."
    settings.EMAIL_HOST = "mail.example.org"
    assert boss.post("/api/v1/channels/ops-mail/test").json()["status"] == "delivered"
    (sent,) = mail.outbox
    assert sent.to == ["ops@example.org"]
    assert sent.subject.startswith("[Shoal] Test: ")


def test_urls_and_secrets_are_sealed_and_never_shown(boss: APIClient, receiver: Receiver) -> None:
    url = f"{receiver.url}/hook/very-secret"
    made = channel(boss, receiver, url=url)
    row = Channel.objects.get()
    assert "very-secret" not in row.url
    assert made["secret"] not in row.secret
    shown = boss.get("/api/v1/channels/on-call").content.decode()
    assert "very-secret" not in shown
    assert made["secret"] not in shown
    events = json.dumps([[e.message, e.data] for e in Event.objects.all()])
    assert "very-secret" not in events
    assert made["secret"] not in events


def test_channels_are_told_what_they_ask_for(boss: APIClient, receiver: Receiver) -> None:
    channel(boss, receiver, severities=["ticket"])
    now = timezone.now()
    gateway(now, 90)  # a page
    Node.objects.create(id="n1", name="n1", last_seen_at=now - timedelta(minutes=5))  # a ticket
    look(now)
    assert [json.loads(content)["alert"]["rule"] for _, _, content in receiver.got] == [
        "node-silent"
    ]
    boss.patch("/api/v1/channels/on-call", {"projects": ["default"]}, format="json")
    gateway(now, 1)
    Node.objects.update(last_seen_at=now)
    for seconds in range(15, 90, 15):
        look(now + timedelta(seconds=seconds))
    assert len(receiver.got) == 1, "nodes belong to no project"


def test_alertmanager_is_told_again(boss: APIClient, receiver: Receiver) -> None:
    channel(boss, receiver, kind="alertmanager")
    channel(boss, receiver, name="other-one")
    now = timezone.now()
    gateway(now, 90)
    look(now)
    look(now + timedelta(minutes=61))
    paths = [path for path, _, _ in receiver.got]
    assert sorted(paths) == ["/hook", "/hook/api/v2/alerts", "/hook/api/v2/alerts"]


def test_who_was_told_that_it_fires_is_told_that_it_is_resolved(
    boss: APIClient, receiver: Receiver
) -> None:
    channel(boss, receiver, severities=["page"])
    now = timezone.now()
    gateway(now, 90)
    look(now)
    path = f"/api/v1/alert-rules/{GONE}"
    assert boss.patch(path, {"severity": "ticket"}, format="json").status_code == 200
    look(now + timedelta(seconds=15))
    assert boss.patch(path, {"enabled": False}, format="json").status_code == 200
    look(now + timedelta(seconds=30))
    assert Alert.objects.get().severity == "ticket"
    assert receiver.events() == ["firing", "resolved"]


def test_rules_are_changed_and_turned_off(boss: APIClient) -> None:
    changed = boss.patch("/api/v1/alert-rules/gateway-silent", {"threshold": 120}, format="json")
    assert (changed.status_code, changed.json()["threshold"]) == (200, 120)
    now = timezone.now()
    gateway(now, 90)
    looks.alerts_look(now=now)
    assert not Alert.objects.exists()
    boss.patch("/api/v1/alert-rules/gateway-silent", {"threshold": None}, format="json")
    looks.alerts_look(now=now)
    assert Alert.objects.get().state == "firing"
    boss.patch("/api/v1/alert-rules/gateway-silent", {"enabled": False}, format="json")
    looks.alerts_look(now=now)
    assert Alert.objects.get().resolution == "The rule is off."
    for body, field in (
        ({"threshold": 1}, "threshold"),
        ({"severity": "loud"}, "severity"),
        ({"for_s": -1}, "for_s"),
    ):
        answer = boss.patch("/api/v1/alert-rules/gateway-silent", body, format="json")
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert "gateway-silent" in answer.text or field != "threshold"
    few = boss.patch("/api/v1/alert-rules/objective-fast-burn", {"threshold": 0}, format="json")
    assert "0, expected 1 to 1,000,000,000 requests at least" in few.json()["detail"]
    nothing = boss.patch("/api/v1/alert-rules/endpoint-unavailable", {"threshold": 1})
    assert nothing.status_code == 400
    assert boss.get("/api/v1/alert-rules/gateway-silent").json()["threshold"] == 60
    assert boss.get("/api/v1/alert-rules/no-such").status_code == 404
    assert boss.patch("/api/v1/alert-rules/no-such", {"enabled": True}).status_code == 404


def test_who_may_acknowledge_and_silence(boss: APIClient, client_of: Build) -> None:
    boss.post("/api/v1/endpoints", {"name": "quote"}, format="json")
    now = timezone.now()
    made = {"severity": "page", "state": "firing", "summary": "x", "looked_at": now,
            "started_at": now}  # fmt: skip
    Alert.objects.create(
        id="of-project", rule="queue-slow", subject="endpoint/quote", project_id="default", **made
    )
    Alert.objects.create(id="of-node", rule="node-silent", subject="node/n1", **made)
    dora = client_of(make_user("dora", User.Role.DEPLOYER))
    mia = client_of(member("default", Membership.Role.DEPLOYER))
    vic = client_of(member("default", Membership.Role.VIEWER, "vic"))
    until = (now + timedelta(hours=1)).isoformat()
    here = {"subject": "endpoint/quote", "reason": "test", "ends_at": until}
    node = {"subject": "node/n1", "reason": "test", "ends_at": until}
    assert [one["id"] for one in mia.get("/api/v1/alerts").json()["items"]] == ["of-project"]
    assert len(dora.get("/api/v1/alerts").json()["items"]) == 2
    for client, path, body, code in (
        (vic, "alerts/of-project/acknowledge", None, 403),
        (mia, "alerts/of-node/acknowledge", None, 404),
        (dora, "alerts/of-node/acknowledge", None, 403),
        (mia, "alerts/of-project/acknowledge", None, 200),
        (boss, "alerts/of-node/acknowledge", None, 200),
        (vic, "silences", here, 403),
        (mia, "silences", here, 201),
        (dora, "silences", node, 403),
        (dora, "silences", {**here, "subject": ""}, 403),
        (boss, "silences", node, 201),
        (mia, "channels", {"name": "mine"}, 403),
        (dora, "channels", {"name": "mine"}, 403),
    ):
        assert client.post(f"/api/v1/{path}", body, format="json").status_code == code, (path, body)
    # of a member with one project a silence of everything is of that project
    everything = mia.post(
        "/api/v1/silences", {"reason": "test", "ends_at": until}, format="json"
    ).json()
    assert everything["project"] == "default"
    assert {row.project_id for row in Silence.objects.all()} == {"default", None}
    assert Alert.objects.get(pk="of-project").acknowledged_by == "mia"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "webhook"}, "url"),
        ({"kind": "webhook", "url": "ftp://x/y"}, "url"),
        ({"kind": "email"}, "recipients"),
        ({"kind": "email", "recipients": ["nobody"]}, "recipients"),
        ({"kind": "email", "recipients": ["a@b.org"], "url": "https://x/"}, "url"),
        ({"kind": "slack", "url": "https://x/", "secret": "x" * 20}, "secret"),
        ({"kind": "webhook", "url": "https://x/", "secret": "short"}, "secret"),
        ({"kind": "webhook", "url": "https://x/", "projects": ["none"]}, "project"),
        ({"kind": "pigeon", "url": "https://x/"}, "kind"),
        ({"kind": "webhook", "url": "https://x/", "name": "1"}, "name"),
    ],
)
def test_what_is_no_channel_names_its_field(
    boss: APIClient, body: dict[str, Any], field: str
) -> None:
    answer = boss.post("/api/v1/channels", {"name": "on-call", **body}, format="json")
    assert (answer.status_code in (400, 404), answer.json()["field"]) == (True, field)
    assert not Channel.objects.exists()


def test_history_is_kept_for_ninety_days(boss: APIClient) -> None:
    now = timezone.now()
    for days in (89, 91):
        Alert.objects.create(
            id=str(days), rule=GONE, subject="gateway/gw", severity="page", state="resolved",
            summary="x", looked_at=now, started_at=now, resolved_at=now - timedelta(days=days),
        )  # fmt: skip
    assert keeping.alerts_prune(now=now) == 1
    assert [row.pk for row in Alert.objects.all()] == ["89"]
