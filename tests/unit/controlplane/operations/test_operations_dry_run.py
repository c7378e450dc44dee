"""`?dry_run=true`: the questions of the change itself, and nothing of it is done."""

from typing import Any

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint, Replica
from controlplane.operations.models import Operation
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
ENDPOINTS = "/api/v1/endpoints"
DIGITS = f"{ENDPOINTS}/digits"
BLUE = f"{DIGITS}/deployments/blue"
CHANGES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any], str]] = {
    "an endpoint": ("post", ENDPOINTS, {"name": "other"}, {"name": "digits"}, "NameTaken"),
    "an endpoint put": (
        "put",
        f"{ENDPOINTS}/other",
        {},
        {"traffic": {"blue": 100}},
        "TrafficInvalid",
    ),
    "an endpoint's change": (
        "patch",
        DIGITS,
        {"tags": {"a": "b"}, "traffic": {}},
        {"tags": {"a": "b"}, "traffic": {"red": 100}},
        "TrafficInvalid",
    ),
    "a deployment": (
        "post",
        f"{DIGITS}/deployments",
        {"name": "green", "model": "digits"},
        {"name": "green", "model": "none"},
        "ModelNotFound",
    ),
    "a deployment put": (
        "put",
        BLUE,
        {"model": "digits", "environment": {"APP_A": "1"}},
        {"model": "digits", "instance_type": "none"},
        "InstanceTypeUnknown",
    ),
    "a deployment's change": (
        "patch",
        BLUE,
        {"description": "x", "instance_count": 3},
        {"description": "x", "version": "9"},
        "ModelNotFound",
    ),
}


def everything() -> list[Any]:
    return [
        list(Endpoint.objects.values()),
        list(Deployment.objects.values()),
        list(Replica.objects.values_list("id", "desired")),
        Event.objects.count(),
        Operation.objects.count(),
    ]


@pytest.mark.parametrize(
    ("method", "path", "right", "wrong", "code"), CHANGES.values(), ids=CHANGES
)
def test_it_answers_as_the_change_would_and_changes_nothing(
    api: APIClient,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    method: str,
    path: str,
    right: dict[str, Any],
    wrong: dict[str, Any],
    code: str,
) -> None:
    model_register()
    node = SimulatedNode()
    api.post("/api/v1/deploy", {"model": "digits"}, format="json")
    node.bring_up()
    gateway_confirms()
    before, ask = everything(), getattr(api, method)
    with django_capture_on_commit_callbacks() as told:
        accepted = ask(f"{path}?dry_run=true", right, format="json")
        refused = ask(f"{path}?dry_run=true", wrong, format="json")
    assert (accepted.status_code, accepted.content) == (204, b"")
    assert (refused.json()["code"], everything(), told) == (code, before, [])
    assert ask(path, wrong, format="json").json()["code"] == code
    assert ask(path, right, format="json").status_code in (200, 201, 202)
    assert everything() != before
