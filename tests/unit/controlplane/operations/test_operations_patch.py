"""`PATCH` of a deployment: all that an update changes, in one request, done whole or not at all."""

from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, DeploymentRevision, Endpoint
from controlplane.operations.models import Operation
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
DIGITS = "/api/v1/endpoints/digits"
BLUE = f"{DIGITS}/deployments/blue"
WORDS = {"description": "again", "tags": {"x": "again"}, "request_timeout_ms": 7}


@pytest.fixture
def serving(api: APIClient) -> SimulatedNode:
    model_register()
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits", "instance_count": 2}, format="json")
    settle(node)
    return node


def settle(node: SimulatedNode) -> None:
    node.bring_up()
    gateway_confirms()


def patch(api: APIClient, body: dict[str, Any], query: str = "") -> Any:
    return api.patch(f"{BLUE}{query}", body, format="json")


def everything() -> list[Any]:
    """All that a refused change must leave alone."""
    names = ("description", "tags", "request_timeout_ms", "instance_count", "revision_id")
    return [
        *Deployment.objects.values(*names),
        *Endpoint.objects.values("generation"),
        DeploymentRevision.objects.count(),
        Event.objects.count(),
        Operation.objects.count(),
    ]


@pytest.mark.parametrize(
    ("what", "status", "code"),
    [
        ({"instance_count": 3}, 409, "OperationInProgress"),
        ({"environment": {"APP_A": "2"}}, 409, "OperationInProgress"),
        ({"version": "1"}, 409, "OperationInProgress"),  # as it runs, but who knows for how long
        ({"version": "9"}, 404, "ModelNotFound"),
        ({"instance_type": "none"}, 400, "InstanceTypeUnknown"),
        ({"instance_count": 0}, 400, "BadArgument"),
        ({"environment": {"LD_PRELOAD": "/opt/own.so"}}, 403, "CodeNotAllowed"),
    ],
)
def test_a_refused_change_changes_nothing(
    api: APIClient, serving: SimulatedNode, what: dict[str, Any], status: int, code: str
) -> None:
    if status == 409:
        assert patch(api, {"instance_count": 8}).status_code == 202
    before = everything()
    refused = patch(api, {**WORDS, **what})
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert everything() == before


def test_words_alone_need_not_wait(api: APIClient, serving: SimulatedNode) -> None:
    patch(api, {"instance_count": 8})
    assert patch(api, WORDS).status_code == 200
    assert Deployment.objects.get().tags == {"x": "again"}


def test_model_settings_words_and_count_go_in_together(
    api: APIClient, serving: SimulatedNode
) -> None:
    model_register(content=b"second")
    body = {"version": "2", "environment": {"APP_A": "1"}, "max_queue_wait_ms": 250}
    answer = patch(api, {**WORDS, **body, "model": "digits", "instance_count": 3})
    assert (answer.status_code, answer.json()["kind"]) == (202, "deploy")
    assert Operation.objects.count() == 2
    settle(serving)
    shown = api.get(BLUE).json()
    assert {name: shown[name] for name in WORDS} == WORDS
    assert (shown["version"], shown["environment"]) == (2, {"APP_A": "1"})
    assert (shown["instance_count"], shown["max_queue_wait_ms"]) == (3, 250)


def test_what_runs_so_already_starts_nothing(api: APIClient, serving: SimulatedNode) -> None:
    shown = api.get(BLUE).json()
    answer = patch(api, {**shown, "description": "read and sent back"})
    assert answer.status_code == 200, answer.json()
    assert answer.json()["description"] == "read and sent back"
    counted = patch(api, {**shown, "instance_count": 3})
    assert (counted.status_code, counted.json()["kind"]) == (202, "scale")


def test_a_paused_one_keeps_its_count_of_none(api: APIClient, serving: SimulatedNode) -> None:
    api.post(f"{BLUE}/stop?force=true")
    gateway_confirms()
    assert patch(api, {"instance_count": 0, "tags": {"x": "y"}}).status_code == 200
    assert api.get(BLUE).json()["paused"]


def test_going_back_by_superseding_ends_with_what_served(
    api: APIClient, serving: SimulatedNode
) -> None:
    model_register(content=b"second")
    first = patch(api, {"version": "2", "instance_count": 2}).json()["id"]
    back = patch(api, {"version": "1", "instance_count": 2}, "?supersede=true")
    assert back.status_code == 202
    gateway_confirms()
    assert Operation.objects.get(pk=first).state == "Canceled"
    assert Operation.objects.get(pk=back.json()["id"]).state == "Succeeded"
    shown = api.get(BLUE).json()
    assert (shown["version"], shown["provisioning_state"]) == (1, "Succeeded")


def test_one_that_failed_is_brought_up_with_what_is_said(
    api: APIClient, serving: SimulatedNode
) -> None:
    Deployment.objects.update(provisioning_state="Failed")
    assert patch(api, {**WORDS, "instance_count": 3}).status_code == 409  # as ever
    answer = patch(api, {"version": "1", "instance_count": 3})
    assert (answer.status_code, answer.json()["kind"]) == (202, "deploy")
    settle(serving)
    shown = api.get(BLUE).json()
    assert (shown["instance_count"], shown["provisioning_state"]) == (3, "Succeeded")


def test_an_endpoint_s_words_and_shares_are_changed_together(
    api: APIClient, serving: SimulatedNode
) -> None:
    before = api.get(DIGITS).json()
    wrong = {"tags": {"a": "b"}, "max_request_bytes": 9, "traffic": {"blue": 70}}
    refused = api.patch(DIGITS, wrong, format="json")
    assert (refused.status_code, refused.json()["code"]) == (400, "TrafficInvalid")
    assert api.get(DIGITS).json() == before
    right = api.patch(DIGITS, {**wrong, "traffic": {}, "mirror_traffic": {}}, format="json")
    assert right.status_code == 200, right.json()
    shown = api.get(DIGITS).json()
    assert (shown["tags"], shown["traffic"]) == ({"a": "b"}, {})
    copied = api.patch(DIGITS, {"mirror_traffic": {"blue": 10}}, format="json").json()
    assert (copied["mirror_traffic"], copied["tags"]) == ({"blue": 10}, {"a": "b"})
    moved = {"traffic": {"blue": 100}, "mirror_traffic": {}}
    assert api.patch(DIGITS, moved, format="json").json()["traffic"] == {"blue": 100}
