"""The API for gateway agents: who may enter, what they get, what their word confirms."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.deployments.services import endpoint_create
from controlplane.gateway import agent_api
from controlplane.gateway.models import Gateway, Release
from controlplane.gateway.selectors import generations_confirmed
from controlplane.gateway.snapshots import Snapshots
from controlplane.metrics.models import GatewaySample as SampleRow
from controlplane.metrics.selectors import own_requests_key, request_salt
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode
from wire import codec
from wire.messages import GatewayReport, GatewaySnapshot, LeftOut, Problem
from wire.samples import GatewaySample, GatewaySampleBatch
from wire.waking import WakeReply, WakeRequest

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BASE = "/agent/v1/gateway/"


@pytest.fixture
def client(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Client:
    # why: what the process keeps is of another test's database, of which the revision may be equal
    monkeypatch.setattr(agent_api, "snapshots", Snapshots())
    return Client(headers={"authorization": f"Bearer {settings.SHOAL_GATEWAY_TOKEN}"})


def fetch(client: Client, have: str = "") -> GatewaySnapshot | None:
    response = client.get(f"{BASE}snapshot", {"version": have})
    if response.status_code == 304:
        return None
    assert response.status_code == 200
    return codec.decode(GatewaySnapshot, response.content)


def say(client: Client, version: str, name: str = "local", **more: Any) -> None:
    report = GatewayReport(name=name, applied_version=version, sent_at=0.0, **more)
    response = client.post(f"{BASE}report", codec.encode(report), content_type="application/json")
    assert response.status_code == 200


@pytest.mark.parametrize("token", ["", "Bearer wrong", "Basic test-gateway-token", "Bearer"])
@pytest.mark.parametrize("path", ["snapshot", "report", "samples", "wake"])
def test_only_the_gateway_token_opens_it(token: str, path: str) -> None:
    client = Client(headers={"authorization": token} if token else {})
    answer = client.get(BASE + path) if path == "snapshot" else client.post(BASE + path)
    assert answer.status_code == 401
    assert answer["content-type"] == "application/problem+json"


def test_who_asks_for_what_does_not_wake_is_told_so(client: Client) -> None:
    asked = codec.encode(WakeRequest("digits", "blue"))
    answer = client.post(f"{BASE}wake", asked, content_type="application/json")
    found = codec.decode(WakeReply, answer.content)
    assert (found.wakes, "paused it, deleted it" in found.reason) == (False, True)
    assert client.post(f"{BASE}wake", b"{}", content_type="application/json").status_code == 400


def test_a_snapshot_is_sent_once_and_again_after_a_change(client: Client) -> None:
    first = fetch(client)
    assert first is not None
    assert fetch(client, first.version) is None
    endpoint_create(name="digits", actor="ada", now=timezone.now())
    second = fetch(client, first.version)
    assert second is not None
    assert second.version != first.version


def test_a_report_confirms_the_generations_of_its_version(client: Client) -> None:
    endpoint = endpoint_create(name="digits", actor="ada", now=timezone.now())
    first = fetch(client)
    assert first is not None
    say(client, first.version)
    endpoint.refresh_from_db()
    assert endpoint.confirmed_generation == endpoint.generation

    Endpoint.objects.filter(pk=endpoint.pk).update(
        generation=endpoint.generation + 1, traffic={"blue": 100}
    )
    say(client, first.version)
    endpoint.refresh_from_db()
    assert endpoint.confirmed_generation == endpoint.generation - 1, "the new one is not applied"
    # nothing that gateways see has changed, so the version stays, and stands for both generations
    assert fetch(client, first.version) is None
    say(client, first.version)
    endpoint.refresh_from_db()
    assert endpoint.confirmed_generation == endpoint.generation


def test_the_slowest_live_gateway_decides() -> None:
    now = timezone.now()
    Release.objects.create(version="old", generations={"digits": 1})
    Release.objects.create(version="new", generations={"digits": 2, "other": 5})
    for name, version, age_s in (("a", "new", 0), ("b", "old", 3), ("c", "gone", 60)):
        Gateway.objects.create(
            name=name, applied_version=version, last_seen_at=now - timedelta(seconds=age_s)
        )
    assert generations_confirmed(now) == {"digits": 1}
    Gateway.objects.filter(name="b").update(applied_version="unknown")
    assert generations_confirmed(now) == {}
    Gateway.objects.filter(name="b").update(applied_version="new")
    assert generations_confirmed(now) == {"digits": 2, "other": 5}


def left_out(**part: Any) -> tuple[LeftOut, ...]:
    return (LeftOut("digits", "Envoy refuses it", **part),)


def verbs_of_digits() -> list[str]:
    events = Event.objects.filter(subject="endpoint/digits", verb__regex="left_out|taken_in")
    return list(events.values_list("verb", flat=True))


@pytest.mark.parametrize("part", [{}, {"deployment": "blue", "address": "10.0.0.1:9001"}])
def test_what_a_gateway_leaves_out_is_told_once_and_shown(
    client: Client, api: APIClient, part: dict[str, str]
) -> None:
    endpoint = endpoint_create(name="digits", actor="ada", now=timezone.now())
    first = fetch(client)
    assert first is not None
    for _ in range(3):
        say(client, first.version, left_out=left_out(**part))
    endpoint.refresh_from_db()
    # of one replica: all others are routed, and who waits for them need not
    assert (endpoint.confirmed_generation == endpoint.generation) == bool(part)
    (shown,) = api.get("/api/v1/endpoints/digits").json()["left_out"]
    assert shown == {"gateway": "local", "deployment": "", "address": "",
                     "reason": "Envoy refuses it", **part}  # fmt: skip
    assert verbs_of_digits() == ["endpoint.left_out"]
    say(client, first.version)
    endpoint.refresh_from_db()
    assert endpoint.confirmed_generation == endpoint.generation
    assert api.get("/api/v1/endpoints/digits").json()["left_out"] == []
    assert verbs_of_digits() == ["endpoint.left_out", "endpoint.taken_in"]


@pytest.mark.parametrize(
    ("part", "state", "confirmed"),
    [
        ({}, "Failed", False),
        ({"deployment": "blue"}, "Failed", True),
        ({"deployment": "blue", "address": "127.0.0.1:9001"}, "Failed", True),
        ({"deployment": "green"}, "Succeeded", True),
        ({"deployment": "blue", "waits": True}, "Running", False),
    ],
)
def test_an_operation_ends_with_what_was_left_out_of_it(
    client: Client, api: APIClient, part: dict[str, Any], state: str, confirmed: bool
) -> None:
    """It waited for a confirmation that never came, until its deadline."""
    node = SimulatedNode()
    model_register()
    deploy = {"model": "digits", "endpoint": "digits", "traffic": 100}
    operation = api.post("/api/v1/deploy", deploy, format="json").json()["id"]
    node.bring_up()
    snapshot = fetch(client)
    assert snapshot is not None
    say(client, snapshot.version, left_out=left_out(**part))
    ended = api.get(f"/api/v1/operations/{operation}").json()
    assert ended["state"] == state, ended
    if state == "Failed":
        assert ended["error"]["code"] == "GatewayRefused"
        assert "Envoy refuses it" in ended["error"]["message"]
    endpoint = Endpoint.objects.get(name="digits")
    assert (endpoint.confirmed_generation > 0) == confirmed


def test_trouble_is_recorded_once_when_it_begins_and_when_it_ends(client: Client) -> None:
    trouble = Problem(code="SnapshotRefused", message="no such field")
    for healthy in (True, False, False, True):
        say(client, "v", healthy=healthy, error=None if healthy else trouble)
    verbs = list(Event.objects.filter(verb__startswith="gateway.").values_list("verb", flat=True))
    assert verbs == ["gateway.failed", "gateway.recovered"]


def test_old_releases_go_but_not_those_in_use(client: Client) -> None:
    Gateway.objects.create(name="slow", applied_version="v0", last_seen_at=timezone.now())
    for number in range(60):
        Release.objects.create(version=f"v{number}", generations={})
    fetch(client)
    assert Release.objects.count() <= 51
    assert Release.objects.filter(version="v0").exists()


def test_samples_are_kept_and_answered_with_an_interval(client: Client) -> None:
    sample = GatewaySample("digits", "blue", at=1.0, interval_s=2.0, requests=3)
    batch = codec.encode(GatewaySampleBatch((sample,)))
    answer = client.post(f"{BASE}samples", batch, content_type="application/json")
    assert answer.json() == {
        "sample_interval_s": 2.0,
        "request_salt": request_salt(),
        "own_requests_key": own_requests_key(),
    }
    assert SampleRow.objects.get().data["requests"] == 3


def test_a_message_that_cannot_be_read_is_a_400_that_names_the_field(client: Client) -> None:
    answer = client.post(f"{BASE}report", b'{"name": 5}', content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["code"] == "MessageInvalid"
    assert "GatewayReport.name" in answer.json()["detail"]


@pytest.mark.parametrize("name", ["", "x" * 101, "a/b", "a\x1b[2J", "a\nb"])
def test_a_gateway_has_a_name_that_can_be_shown(client: Client, name: str) -> None:
    report = GatewayReport(name=name, applied_version="", sent_at=0.0)
    answer = client.post(f"{BASE}report", codec.encode(report), content_type="application/json")
    assert (answer.status_code, answer.json()["field"]) == (400, "name")
    assert not Gateway.objects.exists()


def test_what_a_gateway_says_is_cut_to_size(client: Client) -> None:
    """Whoever stole its token."""
    snapshot = fetch(client)
    assert snapshot is not None
    endless, escape = "x" * 10**6, "\x1b[2Jgone"
    parts = tuple(LeftOut(f"e{number}", endless) for number in range(1200))
    error = Problem("Refused" * 1000, endless + escape, hints=(escape,) * 100)
    report = GatewayReport(name="local", applied_version=endless, sent_at=0.0)
    answer = client.post(f"{BASE}report", codec.encode(report), content_type="application/json")
    assert (answer.status_code, answer.json()["field"]) == (400, "applied_version")
    say(client, snapshot.version, healthy=False, error=error, left_out=parts[:2])
    row = Gateway.objects.get()
    assert row.error is not None
    assert (len(row.error["code"]), len(row.error["message"])) == (256, 4096)
    assert (len(row.error["hints"]), "\x1b" in str(row.error)) == (16, False)
    assert [len(part["reason"]) for part in row.left_out] == [4096, 4096]
    say(client, "", left_out=tuple(LeftOut(part.endpoint, "no") for part in parts))
    assert len(Gateway.objects.get().left_out) == 1000
    assert "\x1b" not in Event.objects.get(verb="gateway.failed").message
