"""Endpoints and deployments in Azure's words: made, changed, scaled, failed, refused."""

from typing import Any
from urllib.parse import urlsplit

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.operations.services import operation_cancel
from controlplane.registry.models import Blob, ModelVersion
from controlplane.registry.stores import blob_store
from tests.support.azure_paths import WORKSPACE
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms
from tests.unit.controlplane.azure.test_azure_blobs import code_of

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
SHOP = f"{WORKSPACE}/onlineEndpoints/shop"
BLUE = f"{SHOP}/deployments/blue"
DIGITS = f"{WORKSPACE}/models/digits/versions/1"


@pytest.fixture
def node(api: APIClient) -> SimulatedNode:
    model_register()
    made = api.put(SHOP, {"properties": {"authMode": "Key"}}, format="json")
    assert made.status_code == 201, made.content
    return SimulatedNode()


def put(api: APIClient, *, capacity: int = 1, **properties: Any) -> Any:
    body = {
        "location": "local",
        "sku": {"name": "Default", "capacity": capacity},
        "tags": {"a": True},
        "properties": {"endpointComputeType": "Managed", "model": DIGITS, **properties},
    }
    return api.put(BLUE, body, format="json")


def status_of(api: APIClient, answer: Any) -> Any:
    return api.get(urlsplit(answer["Azure-AsyncOperation"]).path)


@pytest.fixture
def serving(api: APIClient, node: SimulatedNode) -> SimulatedNode:
    made = put(api)
    assert (made.status_code, made["Retry-After"]) == (201, "1")
    under_way = status_of(api, made)
    assert (under_way.json()["status"], under_way["Retry-After"]) == ("InProgress", "1")
    node.bring_up()
    gateway_confirms()
    body = status_of(api, made).json()
    assert (body["status"], body["percentComplete"]) == ("Succeeded", 100)
    names = [stage["name"] for stage in body["properties"]["stages"]]
    assert names == ["validate", "place", "download", "load", "warm", "route"]
    return node


def test_it_is_shown_as_the_package_reads_it(api: APIClient, serving: SimulatedNode) -> None:
    body = api.get(BLUE).json()
    assert body["id"] == BLUE
    assert (body["tags"], body["sku"]["capacity"]) == ({"a": "true"}, 1)
    told = body["properties"]
    assert (told["model"], told["provisioningState"]) == (DIGITS, "Succeeded")
    assert [row["name"] for row in api.get(f"{SHOP}/deployments").json()["value"]] == ["blue"]


def test_what_only_shoal_has_of_settings_stays(api: APIClient, serving: SimulatedNode) -> None:
    Endpoint.objects.update(max_request_bytes=99)
    Deployment.objects.update(max_concurrent_requests_per_instance=7)
    api.put(SHOP, {"properties": {"authMode": "AMLToken"}, "tags": {"x": 1}}, format="json")
    changed = put(api, description="again")
    assert (changed.status_code, "Azure-AsyncOperation" in changed) == (200, False)
    assert Endpoint.objects.get().max_request_bytes == 99
    assert Endpoint.objects.get().auth_mode == "aml_token"
    assert Deployment.objects.get().max_concurrent_requests_per_instance == 7


def test_settings_are_said_in_azures_units(api: APIClient, node: SimulatedNode) -> None:
    probe = {"initialDelay": "PT30S", "period": "PT1M", "timeout": "PT2S", "failureThreshold": 3}
    made = put(
        api,
        livenessProbe=probe,
        requestSettings={
            "requestTimeout": "PT1.5S",
            "maxQueueWait": "PT0.5S",
            "maxConcurrentRequestsPerInstance": 3,
        },
        environmentVariables={"APP_LEVEL": 3},
        instanceType="Standard_DS3_v2",
        appInsightsEnabled=True,
    )
    assert made.status_code == 201, made.content
    shown = api.get("/api/v1/endpoints/shop/deployments/blue").json()
    assert shown["liveness_probe"] == {
        "initial_delay": 30, "period": 60, "timeout": 2, "success_threshold": 1,
        "failure_threshold": 3,
    }  # fmt: skip
    assert (shown["request_timeout_ms"], shown["max_queue_wait_ms"]) == (1500, 500)
    assert shown["environment"] == {"APP_LEVEL": "3"}
    assert shown["declared"] == {
        "instance_type": "Standard_DS3_v2",
        "app_insights_enabled": True,
    }
    told = made.json()["properties"]
    assert told["livenessProbe"]["period"] == "PT60S"
    assert told["requestSettings"]["requestTimeout"] == "PT1.5S"
    assert told["instanceType"] == "Standard_DS3_v2"


@pytest.mark.parametrize(
    ("properties", "target"),
    [
        ({"model": "azureml://registries/a/models/b/versions/1"}, "properties.model"),
        ({"model": f"{WORKSPACE}/environments/digits/versions/1"}, "properties.model"),
        ({"scaleSettings": {"scaleType": "Target"}}, "properties.scaleSettings.scaleType"),
        ({"startupProbe": {}}, "properties.startupProbe"),
        ({"livenessProbe": {"period": "often"}}, "properties.livenessProbe.period"),
        ({"livenessProbe": [1]}, "properties.livenessProbe"),
        ({"requestSettings": {"requestTimeout": "5"}}, "properties.requestSettings.requestTimeout"),
        ({"requestSettings": {"maxQueueWait": "P999999999999D"}},
         "properties.requestSettings.maxQueueWait"),
        ({"requestSettings": [1]}, "properties.requestSettings"),
        ({"scaleSettings": "Default"}, "properties.scaleSettings"),
        ({"codeConfiguration": ["x"]}, "properties.codeConfiguration"),
        ({"codeConfiguration": {"codeId": "x"}}, "properties.codeConfiguration.codeId"),
        ({"environmentId": "azureml://registries/x"}, "properties.environmentId"),
    ],
)  # fmt: skip
def test_what_is_not_done_is_refused_by_name(
    api: APIClient, node: SimulatedNode, properties: dict[str, Any], target: str
) -> None:
    answer = put(api, **properties)
    assert (*code_of(answer), answer.json()["error"]["target"]) == (400, "BadArgument", target)
    assert not Deployment.objects.exists()


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b'{"properties": 1}', b'{"properties": []}', b'"x"', b"{", b"\xff"]
)
@pytest.mark.parametrize("path", [SHOP, BLUE, f"{WORKSPACE}/models/m/versions/1"])
def test_rubbish_is_a_400(api: APIClient, node: SimulatedNode, path: str, body: bytes) -> None:
    answer = api.generic("PUT", path, body, content_type="application/json")
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["message"]


def test_a_deployment_that_fails_says_why(api: APIClient, node: SimulatedNode) -> None:
    made = put(api)
    node.desired()
    node.fail()
    body = status_of(api, made).json()
    for _ in range(5):  # it is tried again before it is given up
        if body["status"] != "InProgress":
            break
        node.desired()
        node.fail()
        body = status_of(api, made).json()
    assert (body["status"], body["error"]["code"]) == ("Failed", "ModelLoadFailed")
    assert "line 1" in body["error"]["message"]
    assert api.get(BLUE).json()["properties"]["provisioningState"] == "Failed"
    again = put(api)
    assert (again.status_code, "Azure-AsyncOperation" in again) == (200, True)


def test_one_that_somebody_cancelled_says_so(api: APIClient, node: SimulatedNode) -> None:
    made = put(api)
    operation = made["Azure-AsyncOperation"].rpartition("/")[2]
    operation_cancel(operation_id=operation, actor="dora", now=timezone.now())
    for _ in range(3):
        node.desired()
        node.report()
    body = status_of(api, made).json()
    assert (body["status"], body["error"]["code"]) == ("Canceled", "Canceled")


def test_scaling_by_patch(api: APIClient, serving: SimulatedNode) -> None:
    answer = api.patch(BLUE, {"sku": {"capacity": 2}, "tags": {"b": 2}}, format="json")
    assert answer.status_code == 202, answer.content
    serving.bring_up()
    gateway_confirms()
    assert status_of(api, answer).json()["status"] == "Succeeded"
    assert (api.get(BLUE).json()["sku"]["capacity"], api.get(BLUE).json()["tags"]) == (
        2,
        {"b": "2"},
    )
    assert code_of(api.patch(BLUE, {"properties": {}}, format="json")) == (400, "BadArgument")
    assert code_of(api.patch(BLUE, {"sku": {"capacity": 0}}, format="json")) == (400, "BadArgument")


def test_traffic_by_patch_and_deletion(api: APIClient, serving: SimulatedNode) -> None:
    answer = api.patch(SHOP, {"properties": {"traffic": {"blue": 100}}}, format="json")
    assert answer.json()["properties"]["traffic"] == {"blue": 100}
    assert code_of(api.patch(SHOP, {"properties": {"authMode": "x"}}, format="json"))[0] == 400
    wrong = api.patch(SHOP, {"properties": {"traffic": {"blue": 50}}}, format="json")
    assert code_of(wrong) == (400, "TrafficInvalid")
    assert code_of(api.delete(BLUE)) == (409, "DeploymentHasTraffic")
    gone = api.delete(SHOP)
    assert gone.status_code == 202
    for _ in range(4):
        serving.bring_up()
        gateway_confirms()
    assert status_of(api, gone).json()["status"] == "Succeeded"
    assert api.delete(SHOP).status_code == 204


def test_an_endpoint_is_updating_until_gateways_act_on_it(
    api: APIClient, node: SimulatedNode
) -> None:
    moving = api.get(SHOP)
    assert moving.json()["properties"]["provisioningState"] == "Updating"
    assert moving["Retry-After"] == "1"
    gateway_confirms()
    assert api.get(SHOP).json()["properties"]["provisioningState"] == "Succeeded"


def test_keys(api: APIClient, node: SimulatedNode) -> None:
    gateway_confirms()
    keys = api.post(f"{SHOP}/listKeys").json()
    asked = {"keyType": "Primary", "keyValue": "of my choice"}
    answer = api.post(f"{SHOP}/regenerateKeys", asked, format="json")
    place = urlsplit(answer["Location"]).path
    assert (answer.status_code, api.get(place).status_code) == (202, 202)
    gateway_confirms()
    assert api.get(place).status_code == 200
    fresh = api.post(f"{SHOP}/listKeys").json()
    assert fresh["primaryKey"] not in (keys["primaryKey"], "of my choice")
    assert fresh["secondaryKey"] == keys["secondaryKey"]
    assert code_of(api.post(f"{SHOP}/token"))[0] == 409
    assert code_of(api.post(f"{SHOP}/regenerateKeys", {"keyType": "x"}, format="json"))[0] == 400


@pytest.mark.parametrize("tail", [0, 5001, "many", True])
def test_logs_are_bounded(api: APIClient, serving: SimulatedNode, tail: object) -> None:
    answer = api.post(f"{BLUE}/getLogs", {"tail": tail}, format="json")
    assert answer.status_code == (200 if tail == 0 else 400)
    strange = api.post(f"{BLUE}/getLogs", {"containerType": "x"}, format="json")
    assert code_of(strange) == (400, "BadArgument")


def test_variables_that_run_code_need_whoever_may(api: APIClient, node: SimulatedNode) -> None:
    answer = put(api, environmentVariables={"LD_PRELOAD": "/tmp/x.so"})
    assert code_of(answer) == (403, "CodeNotAllowed")


def test_code_that_nobody_approved_is_not_deployed(
    api: APIClient, node: SimulatedNode, deployer: User
) -> None:
    for entry in ModelVersion.objects.get().manifest():
        Blob.objects.create(sha256=entry["sha256"], size=entry["size"], seen_at=timezone.now())
    address = "/azureml/blobs/w/store/code-mine-1"
    sent = api.generic(
        "PUT", f"{address}/src/score.py", b"@batched(4)\ndef run(data): ...",
        content_type="application/octet-stream", headers={"x-ms-blob-type": "BlockBlob"},
    )  # fmt: skip
    assert sent.status_code == 201
    code = f"{WORKSPACE}/codes/mine/versions/1"
    assert api.put(code, {"properties": {"codeUri": "u"}}, format="json").status_code == 200
    given = {"codeId": code, "scoringScript": "score.py"}
    assert code_of(put(api, codeConfiguration=given)) == (409, "CodeNotApproved")
    made = ModelVersion.objects.get(model__name="shop-blue").manifest()
    (config,) = (row["sha256"] for row in made if row["path"] == "shop-blue/config.pbtxt")
    with blob_store().open(config) as file:
        assert b"max_batch_size: 4\n" in file.read(), "as the script says"
    image = {"image": "mcr/triton", "inferenceConfig": {"livenessRoute": {"path": "/x", "port": 1}}}
    own = api.put(f"{WORKSPACE}/environments/own/versions/1", {"properties": image}, format="json")
    assert own.json()["properties"]["inferenceConfig"] == image["inferenceConfig"]
    named = put(api, codeConfiguration=given, environmentId=own.json()["id"])
    assert named.json()["error"]["target"] == "properties.environmentId"
    assert put(api, environmentId=own.json()["id"]).status_code == 201
    for script in ("other.py", "../score.py", "score.txt", ""):
        answer = put(api, codeConfiguration={**given, "scoringScript": script})
        assert code_of(answer) == (400, "BadArgument"), script


def test_what_means_nothing_here_is_kept_as_files_say_it(
    api: APIClient, node: SimulatedNode
) -> None:
    who = {"type": "UserAssigned", "userAssignedIdentities": {"/subscriptions/x": {}}}
    properties = {"authMode": "AADToken", "publicNetworkAccess": "Disabled", "compute": "c"}
    api.put(SHOP, {"identity": who, "properties": properties}, format="json")
    put(api, egressPublicNetworkAccess="Disabled", endpointComputeType="Kubernetes")
    endpoint = api.get("/api/v1/endpoints/shop").json()
    assert endpoint["declared"] == {
        "identity": {
            "type": "user_assigned",
            "user_assigned_identities": [{"resource_id": "/subscriptions/x"}],
        },
        "public_network_access": "disabled",
        "compute": "c",
        "auth_mode": "aad_token",
    }
    deployment = api.get("/api/v1/endpoints/shop/deployments/blue").json()
    assert deployment["declared"] == {
        "egress_public_network_access": "disabled",
        "type": "kubernetes",
    }
    shown, ran = api.get(SHOP).json(), api.get(BLUE).json()
    assert shown["identity"] == who
    assert {name: shown["properties"][name] for name in properties} == properties
    told = ran["properties"]
    assert (told["egressPublicNetworkAccess"], told["endpointComputeType"]) == (
        "Disabled",
        "Kubernetes",
    )
    api.put(SHOP, {"identity": {"type": "SystemAssigned"}, "properties": {}}, format="json")
    assert api.get("/api/v1/endpoints/shop").json()["declared"] == {}
