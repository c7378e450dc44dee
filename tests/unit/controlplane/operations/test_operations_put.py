"""`PUT`: an endpoint or a deployment as it is said, whether it exists or not."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.operations.models import Operation
from controlplane.registry.models import ModelVersion
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
BLUE = f"{DIGITS}/deployments/blue"


def put(api: APIClient, path: str, body: dict[str, Any], **headers: str) -> Any:
    return api.put(path, body, format="json", headers=headers)


@pytest.fixture
def node(api: APIClient) -> SimulatedNode:
    model_register()
    put(api, DIGITS, {})
    return SimulatedNode()


@pytest.fixture
def serving(api: APIClient, node: SimulatedNode) -> SimulatedNode:
    assert put(api, BLUE, {"model": "digits", "instance_count": 2}).status_code == 201
    node.bring_up()
    gateway_confirms()
    assert api.get(BLUE).json()["provisioning_state"] == "Succeeded"
    return node


def test_an_endpoint_is_made_then_changed(api: APIClient) -> None:
    made = put(api, DIGITS, {"description": "seven", "tags": {"a": "b"}, "max_request_bytes": 9})
    assert (made.status_code, made.json()["max_request_bytes"]) == (201, 9)
    assert made["ETag"] == api.get(DIGITS)["ETag"]
    changed = put(api, DIGITS, {"auth_mode": "aml_token"})
    assert changed.status_code == 200
    body = changed.json()
    assert (body["description"], body["tags"], body["max_request_bytes"]) == ("", {}, None)
    assert body["auth_mode"] == "aml_token"


def test_what_was_read_of_an_endpoint_can_be_sent_back(
    api: APIClient, serving: SimulatedNode
) -> None:
    api.put(f"{DIGITS}/traffic", {"traffic": {"blue": 100}}, format="json")
    read = api.get(DIGITS)
    again = put(api, DIGITS, read.json(), **{"If-Match": read["ETag"]})
    assert again.status_code == 200
    assert again["ETag"] == read["ETag"]
    assert again.json()["traffic"] == {"blue": 100}
    assert put(api, DIGITS, {}).json()["traffic"] == {"blue": 100}  # not named: stays
    assert put(api, DIGITS, {"traffic": {}}).json()["traffic"] == {}
    mirrored = put(api, DIGITS, {"mirror_traffic": {"blue": 10}})
    assert mirrored.json()["mirror_traffic"] == {"blue": 10}
    moved = put(api, DIGITS, {"mirror_traffic": {}, "traffic": {"blue": 100}}).json()
    assert (moved["mirror_traffic"], moved["traffic"]) == ({}, {"blue": 100})


def test_shares_of_an_endpoint_that_is_made_are_refused_with_it(api: APIClient) -> None:
    refused = put(api, DIGITS, {"traffic": {"blue": 100}})
    assert (refused.status_code, refused.json()["code"]) == (400, "TrafficInvalid")
    assert not Endpoint.objects.exists()


def test_a_deployment_is_made(api: APIClient, node: SimulatedNode) -> None:
    made = put(api, BLUE, {"model": "digits"})
    assert made.status_code == 201
    assert made.json()["provisioning_state"] == "Creating"
    operation = Operation.objects.get()
    assert made["Operation-Location"] == f"/api/v1/operations/{operation.pk}"
    assert made["ETag"] == api.get(BLUE)["ETag"]
    node.bring_up()
    gateway_confirms()
    shown = api.get(BLUE).json()
    assert (shown["provisioning_state"], shown["traffic"]) == ("Succeeded", 0)


def test_what_was_read_of_a_deployment_can_be_sent_back(
    api: APIClient, serving: SimulatedNode
) -> None:
    put(api, BLUE, {"model": "digits", "instance_count": 2, "secret_environment": {"APP_KEY": "x"}})
    serving.bring_up()
    gateway_confirms()
    read = api.get(BLUE)
    body = read.json()
    assert (body["secret_environment"], body["config_revision"]) == (["APP_KEY"], None)
    again = put(api, BLUE, body, **{"If-Match": read["ETag"]})
    assert again.status_code == 200, again.json()
    assert again["ETag"] == read["ETag"]
    ModelVersion.objects.update(archived=True)  # what runs may be archived by now
    assert put(api, BLUE, body).status_code == 200
    assert Deployment.objects.get().revision.secrets.keys() == {"APP_KEY"}


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"environment": {"APP_A": "b"}}, "deploy"),
        ({"node_labels": {}, "anti_affinity": "required"}, "deploy"),
        ({"readiness_probe": {"period": 3}}, "deploy"),
        ({"max_queue_wait_ms": 250}, "deploy"),
        ({"max_queue_wait_ms": None}, None),
        ({"secret_environment": {"APP_KEY": "x"}}, "deploy"),
        ({"instance_count": 3}, "scale"),
        ({"instance_count": 1, "environment": {"APP_A": "b"}}, "deploy"),
        ({"description": "words"}, None),
        ({"request_timeout_ms": 5, "retries": False, "tags": {"a": "b"}}, None),
    ],
)
def test_only_what_differs_starts_anew(
    api: APIClient, serving: SimulatedNode, changes: dict[str, Any], kind: str | None
) -> None:
    body = {"model": "digits", "version": "1", "instance_count": 2, **changes}
    answer = put(api, BLUE, body)
    assert answer.status_code == (202 if kind else 200)
    assert answer.json().get("kind") == kind
    shown = api.get(BLUE).json()
    for name, value in changes.items():
        expected = {"secret_environment": ["APP_KEY"]}.get(name, value)
        if isinstance(expected, dict):
            assert expected.items() <= shown[name].items()
        else:
            assert shown[name] == expected


def test_what_is_left_out_goes_to_its_default(api: APIClient, serving: SimulatedNode) -> None:
    full = {
        "model": "digits", "instance_count": 2, "description": "words", "tags": {"a": "b"},
        "request_timeout_ms": 5, "retries": False, "max_concurrent_requests_per_instance": 3,
    }  # fmt: skip
    assert put(api, BLUE, full).status_code == 200
    plain = put(api, BLUE, {"model": "digits", "instance_count": 2, "tags": None}).json()
    assert (plain["description"], plain["tags"], plain["request_timeout_ms"]) == ("", {}, 60_000)
    assert (plain["retries"], plain["max_concurrent_requests_per_instance"]) == (True, None)


def test_a_failed_change_goes_back_to_the_count_of_before(
    api: APIClient, serving: SimulatedNode
) -> None:
    answer = put(api, BLUE, {"model": "digits", "instance_count": 5, "environment": {"APP_A": "b"}})
    assert api.get(BLUE).json()["instance_count"] == 5
    api.post(f"/api/v1/operations/{answer.json()['id']}/cancel")
    shown = api.get(BLUE).json()
    assert (shown["instance_count"], shown["environment"]) == (2, {})
    assert shown["provisioning_state"] == "Succeeded"


def test_a_broken_one_is_brought_up_afresh(api: APIClient, node: SimulatedNode) -> None:
    put(api, BLUE, {"model": "digits"})
    api.post(f"/api/v1/operations/{Operation.objects.get().pk}/cancel")
    assert api.get(BLUE).json()["provisioning_state"] == "Canceled"
    answer = put(api, BLUE, {"model": "digits"})
    assert (answer.status_code, answer.json()["kind"]) == (202, "deploy")


def test_nobody_is_paused_by_a_count_of_none(api: APIClient, serving: SimulatedNode) -> None:
    refused = put(api, BLUE, {"model": "digits", "instance_count": 0})
    assert (refused.status_code, refused.json()["field"]) == (400, "instance_count")
    api.post(f"{BLUE}/stop")
    gateway_confirms()
    read = api.get(BLUE).json()
    assert read["paused"]
    assert put(api, BLUE, read).status_code == 200


@pytest.mark.parametrize("path", [DIGITS, BLUE])
def test_conditions_are_honoured(api: APIClient, serving: SimulatedNode, path: str) -> None:
    body = {"description": "x"} if path == DIGITS else {"model": "digits", "instance_count": 2}
    seen = api.get(path)["ETag"]
    for headers in ({"If-None-Match": "*"}, {"If-None-Match": seen}, {"If-Match": 'W/"other"'}):
        refused = put(api, path, body, **headers)
        assert (refused.status_code, refused.json()["code"]) == (412, "PreconditionFailed")
    assert put(api, path, body, **{"If-Match": seen}).status_code == 200
    other = path.replace("blue", "green") if path == BLUE else path.replace("digits", "others")
    for value in ("*", seen):
        assert put(api, other, body, **{"If-Match": value}).status_code == 412
    assert put(api, other, body, **{"If-None-Match": "*"}).status_code == 201


def test_who_moves_traffic_that_was_moved_meanwhile_is_told_by_whom(
    api: APIClient, admin_api: APIClient, serving: SimulatedNode
) -> None:
    shown = api.get(DIGITS)
    seen = {"headers": {"If-Match": shown.json()["etag"]}, "format": "json"}
    assert shown["ETag"] == shown.json()["etag"]
    api.patch(BLUE, {"description": "no word about shares"}, format="json")
    moved = admin_api.put(f"{DIGITS}/traffic", {"traffic": {"blue": 100}}, **seen)
    assert moved.status_code == 200, moved.content
    refused = api.put(f"{DIGITS}/traffic", {"traffic": {"blue": 0}}, **seen)
    told = refused.json()
    assert (refused.status_code, told["code"]) == (412, "PreconditionFailed")
    assert (told["current"]["traffic"], told["etag"]) == ({"blue": 100}, moved.json()["etag"])
    assert told["changed"]["what"] == "Traffic of digits is now blue 100 %"
    assert told["changed"]["by"] == Event.objects.latest("seq").actor
    assert told["detail"].startswith(f"It was changed since you read it. {told['changed']['what']}")
    assert put(api, DIGITS, api.get(DIGITS).json()).status_code == 200


def test_who_changes_a_deployment_that_was_changed_meanwhile_is_told_by_whom(
    api: APIClient, admin_api: APIClient, serving: SimulatedNode
) -> None:
    shown = api.get(BLUE)
    listed = api.get(f"{DIGITS}/deployments").json()["items"][0]
    inside = api.get(DIGITS).json()["deployments"][0]
    assert shown["ETag"] == shown.json()["etag"] == listed["etag"] == inside["etag"]
    api.patch(DIGITS, {"description": "no word about blue"}, format="json")
    seen = {"headers": {"If-Match": shown.json()["etag"]}, "format": "json"}
    changed = admin_api.patch(BLUE, {"request_timeout_ms": 7_000}, **seen)
    assert changed.status_code == 200, changed.content
    assert changed.json()["etag"] == changed["ETag"] != shown["ETag"]
    by = Event.objects.latest("seq").actor
    Event.objects.create(
        actor="autoscaler",
        verb="operation.started",
        subject="endpoint/digits",
        message="autoscaler started: scale digits/blue to 3",
        data={"deployment": "blue"},
    )
    body = {"request_timeout_ms": 9_000}
    for refused in (
        api.patch(BLUE, body, **seen),
        put(api, BLUE, {"model": "digits", **body}, **seen["headers"]),
        api.post(f"{BLUE}/update", {"max_queue_wait_ms": 9}, **seen),
    ):
        told = refused.json()
        assert (refused.status_code, told["code"]) == (412, "PreconditionFailed")
        assert told["etag"] == told["current"]["etag"] == changed["ETag"]
        assert told["current"]["request_timeout_ms"] == 7_000
        assert told["changed"]["by"] == by
        assert told["changed"]["what"] == f"{by} changed request_timeout_ms of digits/blue"
    assert api.get(BLUE).json()["request_timeout_ms"] == 7_000
    over = api.patch(BLUE, body, format="json", headers={"If-Match": changed["ETag"]})
    assert (over.status_code, over.json()["request_timeout_ms"]) == (200, 9_000)


def test_who_begins_what_starts_replicas_is_told_to_who_comes_second(
    api: APIClient, admin_api: APIClient, serving: SimulatedNode
) -> None:
    seen = {"headers": {"If-Match": api.get(BLUE)["ETag"]}, "format": "json"}
    assert admin_api.patch(BLUE, {"instance_count": 3}, **seen).status_code == 202
    by = Operation.objects.latest("created_at").created_by
    refused = api.patch(BLUE, {"instance_count": 1}, **seen)
    told = refused.json()
    assert (refused.status_code, told["current"]["instance_count"]) == (412, 3)
    assert told["changed"]["what"] == f"{by} started: scale digits/blue to 3"


def test_a_repeated_put_is_answered_from_memory(api: APIClient, node: SimulatedNode) -> None:
    key = {"Idempotency-Key": "once"}
    first = put(api, BLUE, {"model": "digits"}, **key)
    again = put(api, BLUE, {"model": "digits"}, **key)
    assert (again.status_code, again["Idempotency-Replayed"]) == (201, "true")
    assert again.json() == first.json()
    assert Operation.objects.count() == 1


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        (f"{DIGITS}/deployments/b", {"model": "digits"}, 400, "NameInvalid"),
        ("/api/v1/endpoints/1", {}, 400, "NameInvalid"),
        ("/api/v1/endpoints/none/deployments/blue", {"model": "digits"}, 404, "EndpointNotFound"),
        (BLUE, {"model": "none"}, 404, "ModelNotFound"),
        (BLUE, {}, 400, "BadArgument"),
        (BLUE, {"model": "digits", "name": "green"}, 400, "BadArgument"),
        (BLUE, {"model": "digits", "mdoel": "digits"}, 400, "BadArgument"),
        (BLUE, {"model": "digits", "instance_type": "none"}, 400, "InstanceTypeUnknown"),
    ],
)
def test_refusals(
    api: APIClient,
    node: SimulatedNode,
    path: str,
    body: dict[str, Any],
    status: int,
    code: str,
) -> None:
    answer = put(api, path, body)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.json()["hints"]
