"""Revisions, going back without a gap, pausing; tokens and secrets of deployments."""

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.core.errors import Unavailable
from controlplane.core.models import Event
from controlplane.deployments.live_config import LARGEST_ANSWER, config_served
from controlplane.deployments.models import Deployment, DeploymentRevision, Replica
from controlplane.deployments.selectors import routing_view
from controlplane.deployments.tokens import WINDOW, hashes_valid, token_now
from controlplane.operations.models import Operation
from controlplane.registry.models import ConfigRevision, ModelVersion
from tests.support.registered_models import model_register
from tests.support.simulated_node import HEALTHY_WALK, SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BLUE = "/api/v1/endpoints/digits/deployments/blue"


@pytest.fixture
def node() -> SimulatedNode:
    return SimulatedNode()


@pytest.fixture
def serving(api: APIClient, node: SimulatedNode) -> SimulatedNode:
    model_register()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.bring_up()
    gateway_confirms()
    assert shown(api)["serving_state"] == "Healthy"
    return node


def shown(api: APIClient) -> dict[str, Any]:
    return dict(api.get(BLUE).json())


def bring_up_new(node: SimulatedNode) -> None:
    """Those that have just been asked for come up; what was ready stays ready."""
    node.desired()
    fresh = [key for key, seen in node.replicas.items() if seen.state != "ready"]
    for state in HEALTHY_WALK:
        for key in fresh:
            node.replicas[key] = replace(
                node.replicas[key], state=state, http_port=9101, grpc_port=9102
            )
        node.report()


def ended(operation: dict[str, Any]) -> str:
    return str(Operation.objects.get(pk=operation["id"]).state)


def versions_wanted(node: SimulatedNode) -> list[str]:
    """Hash of the model file of every replica that the node shall run."""
    return sorted(replica.files[0].sha256[:6] for replica in node.desired().replicas)


def test_an_update_replaces_what_serves_only_when_the_new_answers(
    api: APIClient, serving: SimulatedNode
) -> None:
    model_register(content=b"better")
    operation = api.post(f"{BLUE}/update", {"version": "@latest"}, format="json").json()
    assert operation["kind"] == "deploy"
    during = shown(api)
    assert (during["provisioning_state"], during["serving_state"]) == ("Updating", "Healthy")
    assert len(set(versions_wanted(serving))) == 2  # each replica keeps to its own revision
    bring_up_new(serving)
    assert len(routing_view().endpoints[0].deployments[0].replicas) == 2
    gateway_confirms()
    assert ended(operation) == "Succeeded"
    (running,) = Replica.objects.filter(desired="running")
    assert running.revision.number == 2
    assert len(versions_wanted(serving)) == 2  # until gateways send the old one nothing new
    gateway_confirms()
    (wanted,) = versions_wanted(serving)
    assert wanted == hashlib.sha256(b"better").hexdigest()[:6]
    rows = api.get(f"{BLUE}/revisions").json()["items"]
    assert [(r["number"], r["version"], r["current"], r["succeeded"]) for r in rows] == [
        (2, 2, True, True),
        (1, 1, False, True),
    ]
    again = api.post(f"{BLUE}/update", {"version": "2"}, format="json")
    assert again.status_code == 409


def test_going_back_runs_the_old_revision_and_is_a_revision_itself(
    api: APIClient, serving: SimulatedNode
) -> None:
    model_register(content=b"better")
    api.post(f"{BLUE}/update", {"version": "2"}, format="json")
    bring_up_new(serving)
    gateway_confirms()
    operation = api.post(f"{BLUE}/rollback", {}, format="json").json()
    bring_up_new(serving)
    gateway_confirms()
    assert ended(operation) == "Succeeded"
    body = shown(api)
    assert (body["version"], body["revision"], body["traffic"]) == (1, 3, 100)
    (first, *_) = api.get(f"{BLUE}/revisions").json()["items"]
    assert first["cause"] == "rollback to 1"
    missing = api.post(f"{BLUE}/rollback", {"revision": 9}, format="json")
    assert (missing.status_code, missing.json()["code"]) == (404, "RevisionNotFound")


@pytest.mark.parametrize("end", ["fail", "cancel"])
def test_an_update_that_does_not_come_up_leaves_what_serves(
    api: APIClient, serving: SimulatedNode, end: str
) -> None:
    model_register(content=b"worse")
    operation = api.post(f"{BLUE}/update", {"version": "2"}, format="json").json()
    before = Replica.objects.get(revision__number=1)
    if end == "cancel":
        api.post(f"/api/v1/operations/{operation['id']}/cancel")
    else:
        serving.desired()
        (fresh,) = [key for key in serving.replicas if key != before.pk]
        serving.replicas[fresh] = replace(serving.replicas[fresh], state="failed")
        serving.report()
    assert ended(operation) == ("Canceled" if end == "cancel" else "Failed")
    body = shown(api)
    assert (body["version"], body["revision"]) == (1, 1)
    assert (body["provisioning_state"], body["serving_state"]) == ("Succeeded", "Healthy")
    assert list(Replica.objects.filter(desired="running")) == [before]


def test_a_version_that_can_be_gone_back_to_is_not_deleted(
    api: APIClient, serving: SimulatedNode
) -> None:
    model_register(content=b"better")
    api.post(f"{BLUE}/update", {"version": "2"}, format="json")
    bring_up_new(serving)
    gateway_confirms()
    (used,) = api.get("/api/v1/models/digits/versions/1/usage").json()["items"]
    assert (used["current"], used["revisions"]) == (False, [1])
    answer = api.delete("/api/v1/models/digits/versions/1")
    assert (answer.status_code, answer.json()["deployments"]) == (409, ["digits/blue"])
    api.delete("/api/v1/endpoints/digits")
    Deployment.objects.all().delete()
    assert api.delete("/api/v1/models/digits/versions/1").status_code == 204


def test_a_deployment_is_updated_to_another_configuration(
    api: APIClient, serving: SimulatedNode
) -> None:
    version = ModelVersion.objects.get()
    ConfigRevision.objects.create(
        model_version=version,
        number=1,
        configs={"digits": "max_batch_size: 2"},
        code={"digits": []},
        author="dora",
    )
    operation = api.post(f"{BLUE}/update", {"config_revision": 1}, format="json").json()
    bring_up_new(serving)
    gateway_confirms()
    assert ended(operation) == "Succeeded"
    gateway_confirms()
    (replica,) = serving.desired().replicas
    assert replica.inline_files == {"digits/config.pbtxt": "max_batch_size: 2"}
    api.post(f"{BLUE}/rollback", {}, format="json")
    bring_up_new(serving)
    gateway_confirms()
    gateway_confirms()
    (replica,) = serving.desired().replicas
    assert replica.inline_files == {}


def test_pausing_and_resuming(api: APIClient, serving: SimulatedNode) -> None:
    refused = api.post(f"{BLUE}/stop")
    assert (refused.status_code, refused.json()["code"]) == (409, "DeploymentHasTraffic")
    api.put("/api/v1/endpoints/digits/traffic", {"traffic": {}}, format="json")
    operation = api.post(f"{BLUE}/stop").json()
    gateway_confirms()
    assert ended(operation) == "Succeeded"
    body = shown(api)
    assert (body["paused"], body["instance_count"], body["serving_state"]) == (True, 0, "Stopped")
    assert serving.desired().replicas == ()
    assert api.post(f"{BLUE}/stop").status_code == 409
    operation = api.post(f"{BLUE}/start").json()
    bring_up_new(serving)
    gateway_confirms()
    assert ended(operation) == "Succeeded"
    assert (shown(api)["instance_count"], shown(api)["serving_state"]) == (1, "Healthy")
    assert api.post(f"{BLUE}/start").status_code == 409


def test_secrets_reach_the_node_and_nobody_else(api: APIClient, node: SimulatedNode) -> None:
    model_register()
    api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    body = {
        "name": "blue",
        "model": "digits",
        "environment": {"APP_MODE": "fast"},
        "secret_environment": {"APP_API_KEY": "s3cret-value"},
    }
    answer = api.post("/api/v1/endpoints/digits/deployments", body, format="json")
    assert answer.status_code == 202, answer.content
    (replica,) = node.desired().replicas
    assert replica.environment == {"APP_MODE": "fast", "APP_API_KEY": "s3cret-value"}
    assert shown(api)["secret_environment"] == ["APP_API_KEY"]
    assert api.get(f"{BLUE}/revisions").json()["items"][0]["secret_environment"] == ["APP_API_KEY"]
    everywhere = [
        api.get(BLUE).content,
        api.get(f"{BLUE}/revisions").content,
        api.get("/api/v1/events").content,
        str(DeploymentRevision.objects.values().get()).encode(),
    ]
    assert not any(b"s3cret-value" in text for text in everywhere)
    node.bring_up()
    gateway_confirms()
    api.post(
        f"{BLUE}/update", {"secret_environment": {"APP_API_KEY": None, "APP_B": "2"}}, format="json"
    )
    wanted = [replica.environment for replica in node.desired().replicas]
    assert {"APP_MODE": "fast", "APP_B": "2"} in wanted
    assert api.post(
        f"{BLUE}/update", {"secret_environment": {"A=B": "x"}}, format="json"
    ).status_code in (400, 409)


def test_the_configuration_that_is_served_is_asked_of_a_replica(
    api: APIClient, serving: SimulatedNode
) -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        body = b'{"name": "digits", "max_batch_size": 8}'
        return httpx.Response(200, stream=httpx.ByteStream(body))

    row = Deployment.objects.get()
    client = httpx.Client(transport=httpx.MockTransport(answer))
    assert config_served(row, "digits", client=client)["max_batch_size"] == 8
    assert asked == ["http://127.0.0.1:9001/v2/models/digits/config"]
    for lie in (b" " * (LARGEST_ANSWER + 1), b"[" * 10**5):
        lies = httpx.MockTransport(lambda _, b=lie: httpx.Response(200, stream=httpx.ByteStream(b)))  # type: ignore[misc]
        with pytest.raises(Unavailable, match="cannot be asked"):
            config_served(row, "digits", client=httpx.Client(transport=lies))
    missing = api.get(f"{BLUE}/models/other/config")
    assert (missing.status_code, missing.json()["code"]) == (404, "ModelNotFound")
    serving.say("loading")
    waiting = api.get(f"{BLUE}/models/digits/config")
    assert (waiting.status_code, waiting.json()["code"]) == (409, "ResourceNotReady")


# --- tokens --------------------------------------------------------------------------------------


def test_an_endpoint_opened_by_tokens(api: APIClient) -> None:
    made = api.post(
        "/api/v1/endpoints", {"name": "digits", "auth_mode": "aml_token"}, format="json"
    ).json()
    assert made["auth_mode"] == "aml_token"
    token = api.post("/api/v1/endpoints/digits/token").json()
    assert token["tokenType"] == "Bearer"
    assert timezone.now().timestamp() < token["refreshAfterTimeUtc"] < token["expiryTimeUtc"]
    hashes = {key.sha256 for key in routing_view().endpoints[0].keys}
    assert hashlib.sha256(token["accessToken"].encode()).hexdigest() in hashes
    assert {key.slot for key in routing_view().endpoints[0].keys} == {"aml_token"}
    assert api.post("/api/v1/endpoints/digits/keys/list").json()["code"] == "AuthModeMismatch"
    assert Event.objects.filter(verb="endpoint.token_issued", actor="dora").count() == 1

    assert api.post("/api/v1/endpoints/digits/token/revoke").status_code == 204
    hashes = {key.sha256 for key in routing_view().endpoints[0].keys}
    assert hashlib.sha256(token["accessToken"].encode()).hexdigest() not in hashes

    api.patch("/api/v1/endpoints/digits", {"auth_mode": "key"}, format="json")
    assert api.post("/api/v1/endpoints/digits/token").json()["code"] == "AuthModeMismatch"
    assert {key.slot for key in routing_view().endpoints[0].keys} == {"primary", "secondary"}


@given(
    at=st.floats(1.7e9, 1.9e9).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
    later=st.floats(0, 1),
)
def test_a_token_holds_until_it_expires_and_not_a_window_longer(at: datetime, later: float) -> None:
    token = token_now("digits", 7, 0, at)
    sha256 = hashlib.sha256(token.clear.encode()).hexdigest()
    assert WINDOW <= token.expires_at - at <= 2 * WINDOW
    within = at + later * (token.expires_at - at) * 0.999
    assert sha256 in hashes_valid("digits", 7, 0, within)
    assert sha256 not in hashes_valid("digits", 7, 0, token.expires_at + timedelta(seconds=1))
    for other in (("digits", 8, 0), ("other", 7, 0), ("digits", 7, 1)):
        assert sha256 not in hashes_valid(*other, at)


def test_tokens_depend_on_the_installation(settings: Settings) -> None:
    now = timezone.now()
    before = token_now("digits", 7, 0, now).clear
    settings.SECRET_KEY = "another installation"
    assert token_now("digits", 7, 0, now).clear != before
