"""The REST of endpoints, deployments and operations, and the API of node agents."""

import hashlib
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, EndpointKey, Replica
from controlplane.deployments.selectors import routing_view
from controlplane.deployments.services import endpoint_create
from controlplane.operations import services
from controlplane.operations.models import Operation
from controlplane.registry.models import ConfigRevision, Model
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])


@pytest.fixture
def node() -> SimulatedNode:
    return SimulatedNode()


@pytest.fixture
def serving(api: APIClient, node: SimulatedNode) -> SimulatedNode:
    """Endpoint digits answers with deployment blue."""
    model_register()
    operation = api.post("/api/v1/deploy", {"model": "digits"}, format="json").json()
    node.bring_up()
    gateway_confirms()
    assert Operation.objects.get(pk=operation["id"]).state == "Succeeded"
    return node


def problem(answer: Any, status: int) -> str:
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    return str(answer.json()["code"])


def test_an_endpoint_is_made_described_and_found(api: APIClient) -> None:
    made = api.post("/api/v1/endpoints", {"name": "digits", "tags": {"a": "b"}}, format="json")
    assert made.status_code == 201
    body = made.json()
    assert body["scoring_uri"] == "https://127.0.0.1:8443/endpoints/digits/"
    assert body["grpc_target"] == "127.0.0.1:8443"
    assert (body["serving_state"], body["traffic"], body["deployments"]) == ("Stopped", {}, [])
    again = api.post("/api/v1/endpoints", {"name": "digits"}, format="json")
    assert problem(again, 409) == "NameTaken"
    bad = api.post("/api/v1/endpoints", {"name": "no_good"}, format="json")
    assert problem(bad, 400) == "NameInvalid"
    patched = api.patch("/api/v1/endpoints/digits", {"description": "ten digits"}, format="json")
    assert patched.json()["description"] == "ten digits"
    assert patched.json()["tags"] == {"a": "b"}
    items = api.get("/api/v1/endpoints?q=dig").json()["items"]
    assert [item["name"] for item in items] == ["digits"]
    assert api.get("/api/v1/endpoints?q=zzz").json()["items"] == []
    assert problem(api.get("/api/v1/endpoints/nowhere"), 404) == "EndpointNotFound"


def test_viewers_look_but_neither_touch_nor_see_keys(viewer_api: APIClient) -> None:
    endpoint_create(name="digits", actor="dora", now=timezone.now())
    assert viewer_api.get("/api/v1/endpoints/digits").status_code == 200
    for method, path in [
        ("post", "/api/v1/endpoints"),
        ("post", "/api/v1/endpoints/digits/keys/list"),
        ("post", "/api/v1/endpoints/digits/keys/regenerate"),
        ("delete", "/api/v1/endpoints/digits"),
        ("post", "/api/v1/deploy"),
        ("put", "/api/v1/endpoints/digits/traffic"),
    ]:
        assert getattr(viewer_api, method)(path, {}, format="json").status_code == 403, path


def test_keys_are_sealed_revealed_on_record_and_replaced_one_at_a_time(
    api: APIClient, settings: Settings
) -> None:
    endpoint_create(name="digits", actor="dora", now=timezone.now())
    keys = api.post("/api/v1/endpoints/digits/keys/list").json()
    assert len({keys["primaryKey"], keys["secondaryKey"]}) == 2
    assert all(len(bytes.fromhex(key)) == 32 for key in keys.values())
    stored = EndpointKey.objects.get(slot="primary")
    assert stored.sha256 == hashlib.sha256(keys["primaryKey"].encode()).hexdigest()
    assert keys["primaryKey"] not in stored.sealed
    (event,) = Event.objects.filter(verb="endpoint.keys_revealed")
    assert (event.actor, event.subject) == ("dora", "endpoint/digits")

    before = Endpoint.objects.get().generation
    fresh = api.post(
        "/api/v1/endpoints/digits/keys/regenerate", {"key_type": "primary"}, format="json"
    ).json()
    assert fresh["primaryKey"] != keys["primaryKey"]
    assert fresh["secondaryKey"] == keys["secondaryKey"]
    assert Endpoint.objects.get().generation > before
    hashes = {key.slot: key.sha256 for key in routing_view().endpoints[0].keys}
    assert hashes["primary"] == hashlib.sha256(fresh["primaryKey"].encode()).hexdigest()
    assert not any(key in str(row.data) for row in Event.objects.all() for key in fresh.values())

    settings.SECRET_KEY = "another installation"
    assert problem(api.post("/api/v1/endpoints/digits/keys/list"), 503) == "KeysSealed"


def test_traffic_follows_the_rule(api: APIClient, serving: SimulatedNode) -> None:
    url = "/api/v1/endpoints/digits/traffic"
    before = Endpoint.objects.get().generation
    for traffic in ({"blue": 50}, {"green": 100}, {"blue": 101}):
        assert problem(api.put(url, {"traffic": traffic}, format="json"), 400) == "TrafficInvalid"
    assert Endpoint.objects.get().generation == before
    stopped = api.put(url, {"traffic": {}}, format="json").json()
    assert (stopped["traffic"], stopped["serving_state"]) == ({}, "Stopped")
    assert (stopped["moved_percent"], stopped["routed"]) == (100, False)
    assert Endpoint.objects.get().generation == before + 1
    assert api.put(url, {"traffic": {"blue": 100}}, format="json").json()["traffic"] == {
        "blue": 100
    }
    Deployment.objects.update(provisioning_state="Updating")
    changing = api.put(url, {"traffic": {"blue": 100}}, format="json")
    assert problem(changing, 400) == "TrafficInvalid"
    assert changing.json()["detail"] == "blue is Updating."  # its replica is ready all the while
    Deployment.objects.update(provisioning_state="Succeeded")
    serving.say("loading")
    waiting = api.put(url, {"traffic": {"blue": 100}}, format="json")
    assert problem(waiting, 400) == "TrafficInvalid"


def test_a_canary_takes_its_share_and_the_rest_keeps_theirs(
    api: APIClient, serving: SimulatedNode
) -> None:
    model_register(content=b"better")
    started = api.post("/api/v1/deploy", {"model": "digits", "traffic": 20}, format="json").json()
    other = api.post("/api/v1/deploy", {"model": "digits", "version": "1"}, format="json")
    assert problem(other, 409) == "OperationInProgress"
    assert other.json()["operation"] == started["id"]
    by_hand = api.put("/api/v1/endpoints/digits/traffic", {"traffic": {"blue": 100}}, format="json")
    assert problem(by_hand, 409) == "OperationInProgress"
    serving.bring_up()
    gateway_confirms()
    assert api.get("/api/v1/endpoints/digits").json()["traffic"] == {"blue": 80, "green": 20}


def test_further_deployments_come_without_traffic(api: APIClient, serving: SimulatedNode) -> None:
    url = "/api/v1/endpoints/digits/deployments"
    taken = api.post(url, {"name": "blue", "model": "digits"}, format="json")
    assert problem(taken, 409) in ("NameTaken", "DeploymentHasTraffic")
    limit = {"max_concurrent_requests_per_instance": 4}
    started = api.post(url, {"model": "digits", "request_timeout_ms": 900, **limit}, format="json")
    assert started.status_code == 202
    assert started.json()["deployment"] == "green"
    serving.bring_up()
    gateway_confirms()
    items = {item["name"]: item for item in api.get(url).json()["items"]}
    assert [items[name]["traffic"] for name in ("blue", "green")] == [100, 0]
    assert items["green"]["request_timeout_ms"] == 900
    green = routing_view().endpoints[0].deployments[1]
    assert (green.name, green.weight, len(green.replicas)) == ("green", 0, 1)
    assert green.max_concurrent_requests == 4
    assert api.get(f"{url}/green").json()["serving_state"] == "Healthy"
    assert problem(api.get(f"{url}/red"), 404) == "DeploymentNotFound"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"model": "nothing"}, 404, "ModelNotFound"),
        ({"model": "digits", "version": "7"}, 404, "ModelNotFound"),
        ({"model": "digits", "config_revision": 3}, 400, "ModelNotDeployable"),
        ({"model": "digits", "endpoint": "x"}, 400, "NameInvalid"),
        ({"model": "digits", "deployment": "_"}, 400, "NameInvalid"),
        ({"model": "digits", "instance_count": 0}, 400, "BadArgument"),
        ({"model": "digits", "traffic": 101}, 400, "BadArgument"),
        ({}, 400, "BadArgument"),
    ],
)
def test_what_cannot_be_deployed_leaves_nothing_behind(
    api: APIClient, body: dict[str, Any], status: int, code: str
) -> None:
    model_register()
    assert problem(api.post("/api/v1/deploy", body, format="json"), status) == code
    assert not Endpoint.objects.exists()
    assert not Operation.objects.exists()


def test_an_archived_model_is_not_deployed(api: APIClient) -> None:
    model_register()
    Model.objects.update(archived=True)
    answer = api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    assert problem(answer, 400) == "ModelNotDeployable"


def test_a_file_that_is_gone_fails_the_operation_at_once(api: APIClient, stores: Any) -> None:
    model_register()
    for blob in (stores / "blobs").rglob("*/*"):
        blob.unlink()
    started = api.post("/api/v1/deploy", {"model": "digits"}, format="json").json()
    assert (started["state"], started["error"]["code"]) == ("Failed", "BlobMissing")
    assert started["stages"][0]["status"] == "failed"


def test_an_edited_configuration_travels_as_text(api: APIClient, node: SimulatedNode) -> None:
    version = model_register()
    ConfigRevision.objects.create(
        model_version=version,
        number=1,
        configs={"digits": "max_batch_size: 4"},
        code={"digits": []},
        author="dora",
    )
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    (replica,) = node.desired().replicas
    assert replica.inline_files == {"digits/config.pbtxt": "max_batch_size: 4"}
    assert [file.path for file in replica.files] == ["digits/1/model.onnx"]
    assert Deployment.objects.get().revision.config_revision is not None


def test_operations_are_listed_and_ended_ones_cannot_be_cancelled_or_retried(
    api: APIClient, serving: SimulatedNode
) -> None:
    (item,) = api.get("/api/v1/operations?endpoint=digits").json()["items"]
    assert api.get("/api/v1/operations?endpoint=other").json()["items"] == []
    of_state = f"/api/v1/operations?endpoint=digits&state={item['state']}"
    assert [found["id"] for found in api.get(of_state).json()["items"]] == [item["id"]]
    assert api.get("/api/v1/operations?state=Canceled").json()["items"] == []
    assert problem(api.get("/api/v1/operations?state=lost"), 400) == "BadArgument"
    for verb in ("cancel", "retry"):
        answer = api.post(f"/api/v1/operations/{item['id']}/{verb}")
        assert problem(answer, 409) == "OperationFinished"
    assert problem(api.get("/api/v1/operations/nope"), 404) == "OperationNotFound"


def test_events_can_be_followed(api: APIClient, serving: SimulatedNode) -> None:
    newest = api.get("/api/v1/events?limit=3").json()["items"]
    assert [item["seq"] for item in newest] == sorted(
        (item["seq"] for item in newest), reverse=True
    )
    told = api.get("/api/v1/events?after_seq=0&subject=endpoint/digits&limit=500").json()["items"]
    verbs = [item["verb"] for item in told]
    assert verbs[:2] == ["endpoint.created", "operation.started"]
    assert verbs.index("replica.ready") < verbs.index("endpoint.traffic_changed")
    assert verbs[-1] == "operation.succeeded"


def test_snippets_and_series_of_an_endpoint(api: APIClient, serving: SimulatedNode) -> None:
    made = api.get("/api/v1/endpoints/digits/snippets").json()
    assert "[1, 1, 8, 8]" in made["python_http"]
    assert "'x-shoal-endpoint': 'digits'" in made["python_grpc"]
    assert "/endpoints/digits/v2/models/digits/infer" in made["curl"]
    columns = api.get("/api/v1/endpoints/digits/metrics?range=60").json()
    assert len(columns["t"]) == 120
    assert problem(api.get("/api/v1/endpoints/digits/metrics?range=x"), 400) == "BadArgument"


def test_the_overview_counts_and_points_at_what_needs_attention(
    viewer_api: APIClient, serving: SimulatedNode
) -> None:
    body = viewer_api.get("/api/v1/overview").json()
    assert body["counts"] == {
        "endpoints": 1,
        "models": 1,
        "nodes": 1,
        "nodes_online": 1,
        "replicas_ready": 1,
        "replicas_total": 1,
        "attention": 0,
    }
    assert body["attention"] == []
    assert body["endpoints"][0]["live"]["answer_rate"] is None
    assert [node["name"] for node in body["nodes"]] == ["local"]
    serving.say("starting")
    (item,) = viewer_api.get("/api/v1/overview").json()["attention"]
    assert (item["severity"], item["title"]) == ("error", "digits does not answer")
    assert item["link"] == "/endpoints/digits"


def test_lists_cost_the_same_for_one_endpoint_and_for_many(
    api: APIClient, serving: SimulatedNode, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for index in range(5):
        name = f"more-{index}"
        api.post("/api/v1/deploy", {"model": "digits", "endpoint": name}, format="json")
    for path, budget in (("endpoints", 10), ("overview", 24), ("nodes", 6)):
        with django_assert_max_num_queries(budget):
            assert api.get(f"/api/v1/{path}").status_code == 200


def test_routing_leaves_out_what_cannot_answer(api: APIClient, serving: SimulatedNode) -> None:
    (replica,) = routing_view().endpoints[0].deployments[0].replicas
    assert (replica.address, replica.http_port, replica.grpc_port) == ("127.0.0.1", 9001, 9002)
    Replica.objects.update(desired="stopped")
    assert routing_view().endpoints[0].deployments[0].replicas[0].draining
    serving.say("loading")
    assert routing_view().endpoints[0].deployments[0].replicas == ()
    Deployment.objects.update(provisioning_state="Deleting")
    assert routing_view().endpoints[0].deployments == ()


def test_confirming_twice_or_backwards_changes_nothing(serving: SimulatedNode) -> None:
    endpoint = Endpoint.objects.get()
    assert endpoint.confirmed_generation == endpoint.generation
    services.gateway_confirmed(generation_by_endpoint={"digits": 1, "unknown": 9})
    services.gateway_confirmed(generation_by_endpoint={"digits": endpoint.generation + 99})
    endpoint.refresh_from_db()
    assert endpoint.confirmed_generation == endpoint.generation


def test_declared_words_are_kept_and_request_settings_reach_the_gateway(
    api: APIClient, serving: SimulatedNode
) -> None:
    path = "/api/v1/endpoints/digits/deployments/blue"
    before = Endpoint.objects.get(name="digits").generation
    words = {"description": "first", "tags": {"team": "vision"}, "declared": {"identity": {"a": 1}}}
    answer = api.patch(path, words, format="json")
    assert answer.status_code == 200
    assert {key: answer.json()[key] for key in words} == words
    assert Endpoint.objects.get(name="digits").generation == before
    assert api.patch(path, {"request_timeout_ms": 777}, format="json").status_code == 200
    assert Endpoint.objects.get(name="digits").generation == before + 1
    assert routing_view().endpoints[0].deployments[0].request_timeout_ms == 777
    limit = "max_concurrent_requests_per_instance"
    assert api.get(path).json()[limit] is None
    assert routing_view().endpoints[0].deployments[0].max_concurrent_requests is None
    assert api.patch(path, {limit: 3}, format="json").json()[limit] == 3
    Deployment.objects.update(instance_count=2)
    assert routing_view().endpoints[0].deployments[0].max_concurrent_requests == 6
    assert problem(api.patch(path, {limit: 0}, format="json"), 400)
    assert api.patch(path, {limit: None}, format="json").json()[limit] is None
    large = api.patch(path, {"declared": {"text": "x" * 70_000}}, format="json")
    assert problem(large, 400)


def test_copies_go_to_a_deployment_without_traffic(api: APIClient, serving: SimulatedNode) -> None:
    path = "/api/v1/endpoints/digits/mirror"
    refused = api.put(path, {"mirror_traffic": {"blue": 10}}, format="json")
    assert problem(refused, 400) == "MirrorInvalid"
    api.post(
        "/api/v1/endpoints/digits/deployments", {"name": "green", "model": "digits"}, format="json"
    )
    answer = api.put(path, {"mirror_traffic": {"green": 10}}, format="json")
    assert answer.json()["mirror_traffic"] == {"green": 10}
    assert api.put(path, {"mirror_traffic": {}}, format="json").json()["mirror_traffic"] == {}


def test_who_gets_traffic_or_goes_gets_no_copies_any_more(
    api: APIClient, serving: SimulatedNode
) -> None:
    url = "/api/v1/endpoints/digits"
    api.post(f"{url}/deployments", {"name": "green", "model": "digits"}, format="json")
    serving.bring_up()
    gateway_confirms()
    api.put(f"{url}/mirror", {"mirror_traffic": {"green": 10}}, format="json")
    refused = api.delete(f"{url}/deployments/green")
    assert problem(refused, 409) == "DeploymentHasTraffic"
    assert "copies of 10 %" in refused.json()["detail"]

    moved = api.put(f"{url}/traffic", {"traffic": {"blue": 50, "green": 50}}, format="json").json()
    assert (moved["traffic"], moved["mirror_traffic"]) == ({"blue": 50, "green": 50}, {})
    changed = Event.objects.get(verb="endpoint.mirror_changed", data__mirror_traffic={})
    assert changed.data["before"] == {"green": 10}

    api.put(f"{url}/traffic", {"traffic": {"blue": 100}}, format="json")
    api.put(f"{url}/mirror", {"mirror_traffic": {"green": 10}}, format="json")
    assert api.delete(f"{url}/deployments/green?force=true").status_code == 202
    assert api.get(url).json()["mirror_traffic"] == {}
