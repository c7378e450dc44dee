"""A gateway that fell silent: its Envoy may serve on, so nothing is said to be done without it."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.deployments.services import endpoint_create
from controlplane.gateway.models import Gateway
from controlplane.gateway.services import gateways_watch
from controlplane.operations.services import GatewayFacts
from controlplane.operations.services.reports import unconfirmed_rows
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode
from wire import codec
from wire.messages import GatewayReport, GatewaySnapshot

NOW = timezone.now()
BASE = "/agent/v1/gateway/"
database = pytest.mark.django_db(databases=["default", "metrics"])


@pytest.fixture
def client(settings: Any) -> Client:
    return Client(headers={"authorization": f"Bearer {settings.SHOAL_GATEWAY_TOKEN}"})


def report(client: Client, *names: str) -> None:
    """Each has applied what is wanted now."""
    version = codec.decode(GatewaySnapshot, client.get(f"{BASE}snapshot").content).version
    for name in names:
        body = codec.encode(GatewayReport(name=name, applied_version=version, sent_at=0.0))
        answer = client.post(f"{BASE}report", body, content_type="application/json")
        assert answer.status_code == 200


def fall_silent(*names: str, seconds: float = 40.0) -> None:
    past = timezone.now() - timedelta(seconds=seconds)
    Gateway.objects.filter(name__in=names).update(last_seen_at=past)


def shown(api: APIClient) -> tuple[bool, list[str]]:
    body = api.get("/api/v1/endpoints/digits").json()
    return body["routed"], [row["gateway"] for row in body["unconfirmed"]]


def replace_key(api: APIClient) -> None:
    path = "/api/v1/endpoints/digits/keys/regenerate"
    assert api.post(path, {"key_type": "primary"}, format="json").status_code == 200


def verbs(*prefixes: str) -> list[str]:
    found = Event.objects.order_by("seq").values_list("verb", flat=True)
    return [verb for verb in found if verb.startswith(prefixes)]


@pytest.mark.parametrize(
    ("silent", "its", "listed", "missing"),
    [
        (True, 1, False, True),
        (True, 2, False, False),
        (True, 0, False, True),  # it never had the endpoint, or what it has is not known
        (False, 1, False, False),  # it reports: the generation is simply not confirmed yet
        (False, 1, True, True),  # it is back, and has not caught up
        (False, 2, True, False),
    ],
)
def test_who_has_not_confirmed(silent: bool, its: int, listed: bool, missing: bool) -> None:
    gateway = GatewayFacts("east", NOW, silent, {})
    before = [{"gateway": "east", "silent_since": "before"}] if listed else []
    rows = unconfirmed_rows(2, before, [(gateway, its)])
    since = NOW.isoformat() if silent else "before"
    assert rows == ([{"gateway": "east", "silent_since": since}] if missing else [])


@database
def test_a_key_is_not_replaced_for_a_gateway_that_has_not_heard_of_it(
    client: Client, api: APIClient
) -> None:
    endpoint_create(name="digits", actor="ada", now=timezone.now())
    report(client, "east", "west")
    assert shown(api) == (True, [])
    fall_silent("east")
    report(client, "west")
    assert shown(api) == (True, []), "nothing has changed since it confirmed"

    replace_key(api)
    assert shown(api) == (False, [])
    report(client, "west")
    assert shown(api) == (False, ["east"])
    row = Endpoint.objects.get()
    assert row.confirmed_generation == row.generation, "operations go on by those that live"
    report(client, "west")
    assert verbs("endpoint.unconfirmed", "endpoint.confirmed") == ["endpoint.unconfirmed"]

    report(client, "east")
    assert shown(api) == (True, [])
    assert verbs("endpoint.unconfirmed", "endpoint.confirmed")[1:] == ["endpoint.confirmed"]


@database
def test_one_that_comes_back_counts_until_it_has_caught_up(client: Client, api: APIClient) -> None:
    endpoint_create(name="digits", actor="ada", now=timezone.now())
    report(client, "east", "west")
    fall_silent("east")
    replace_key(api)
    report(client, "west")
    before = GatewayReport(name="east", applied_version="", sent_at=0.0)
    client.post(f"{BASE}report", codec.encode(before), content_type="application/json")
    report(client, "west")
    assert shown(api) == (False, ["east"])


@database
def test_silence_is_noticed_once_and_told_when_nobody_reports_any_more(
    client: Client, api: APIClient
) -> None:
    endpoint_create(name="digits", actor="ada", now=timezone.now())
    report(client, "east")
    gateways_watch(now=timezone.now())
    assert verbs("gateway.") == []
    fall_silent("east")
    replace_key(api)
    for _ in range(2):
        gateways_watch(now=timezone.now())
    assert verbs("gateway.") == ["gateway.went_silent"]
    assert shown(api) == (False, ["east"])
    report(client, "east")
    assert verbs("gateway.") == ["gateway.went_silent", "gateway.returned"]
    assert shown(api) == (True, [])


@database
def test_one_that_is_said_to_be_gone_counts_no_more(
    client: Client, api: APIClient, admin_api: APIClient
) -> None:
    endpoint_create(name="digits", actor="ada", now=timezone.now())
    report(client, "east", "west")
    refused = admin_api.delete("/api/v1/gateways/east")
    assert (refused.status_code, refused.json()["code"]) == (409, "GatewayAlive")
    fall_silent("east")
    replace_key(api)
    report(client, "west")
    items = api.get("/api/v1/gateways").json()["items"]
    assert [(item["name"], item["state"]) for item in items] == [
        ("east", "silent"),
        ("west", "online"),
    ]
    assert admin_api.delete("/api/v1/gateways/east").status_code == 204
    assert shown(api) == (True, [])
    assert "gateway.removed" in verbs("gateway.")
    assert admin_api.delete("/api/v1/gateways/east").json()["code"] == "GatewayNotFound"


@database
@pytest.mark.parametrize("others", [(), ("west",)])
def test_a_deployment_is_routed_by_those_that_live_and_names_the_others(
    client: Client, api: APIClient, others: tuple[str, ...]
) -> None:
    node = SimulatedNode()
    model_register()
    report(client, "east", *others)
    fall_silent("east")
    deploy = {"model": "digits", "endpoint": "digits", "traffic": 100}
    operation = api.post("/api/v1/deploy", deploy, format="json").json()["id"]
    node.bring_up()
    report(client, *others)
    gateways_watch(now=timezone.now())
    body = api.get(f"/api/v1/operations/{operation}").json()
    stage = next(stage for stage in body["stages"] if stage["name"] == "route")
    if others:
        assert body["state"] == "Succeeded"
        assert "not confirmed by gateway east (silent for 4" in stage["detail"]
    else:
        assert body["state"] == "Running"
        assert stage["detail"] == "waiting for the gateway to confirm; gateway east is silent"
