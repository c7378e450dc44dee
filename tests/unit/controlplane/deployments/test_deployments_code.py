"""What ran once starts again only if it might be deployed now: its code approved, not archived."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.deployments.models import Operation
from controlplane.registry.models import ModelVersion
from tests.support.registered_models import model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BLUE = "/api/v1/endpoints/digits/deployments/blue"
APPROVAL = "/api/v1/models/digits/versions/1/approve"


def with_code(content: bytes = b"first") -> ModelVersion:
    version = model_register(content=content)
    extra = {**version.manifest[0], "path": "digits/1/model.py"}
    version.manifest = [*version.manifest, extra]
    message = "digits/1/model.py is Python code."
    version.code = [
        {"file": "digits/1/model.py", "kind": "python", "value": "", "message": message}
    ]
    version.save()
    return version


@pytest.fixture
def node() -> SimulatedNode:
    return SimulatedNode()


@pytest.fixture
def moved_on(api: APIClient, admin_api: APIClient, node: SimulatedNode) -> SimulatedNode:
    """Code of version 1 served, was approved, and gave way to version 2, which brings none."""
    with_code()
    assert admin_api.post(APPROVAL).status_code == 200
    assert api.post("/api/v1/deploy", {"model": "digits"}).status_code == 202
    node.bring_up()
    gateway_confirms()
    model_register(content=b"second")
    assert api.post(f"{BLUE}/update", {"version": "2"}).status_code == 202
    node.bring_up()
    gateway_confirms()
    gateway_confirms()
    assert api.get(BLUE).json()["version"] == 2
    return node


def withdraw(admin: APIClient, settings: Settings) -> None:
    del settings
    answer = admin.delete(APPROVAL)
    assert (answer.status_code, answer.json()["code"]["state"]) == (200, "waiting")


def forbid(admin: APIClient, settings: Settings) -> None:
    del admin
    settings.SHOAL_CODE_POLICY = "off"


def archive(admin: APIClient, settings: Settings) -> None:
    del settings
    assert admin.post("/api/v1/models/digits/versions/1/archive").status_code == 200


def problem(answer: Any) -> dict[str, Any]:
    keep = ("status", "code", "detail", "hints", "reasons")
    return {key: value for key, value in answer.json().items() if key in keep}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (withdraw, "CodeNotApproved"),
        (forbid, "CodeNotAllowed"),
        (archive, "ModelNotDeployable"),
    ],
)
def test_going_back_is_refused_as_deploying_is(
    api: APIClient,
    admin_api: APIClient,
    moved_on: SimulatedNode,
    settings: Settings,
    change: Callable[[APIClient, Settings], None],
    code: str,
) -> None:
    change(admin_api, settings)
    operations = Operation.objects.count()
    fresh = api.post("/api/v1/deploy", {"model": "digits", "version": "1", "endpoint": "other"})
    for body in ({"revision": 1}, {}):
        back = api.post(f"{BLUE}/rollback", body)
        assert (back.json()["code"], problem(back)) == (code, problem(fresh))
    shown = api.get(BLUE).json()
    assert (shown["version"], shown["revision"], Operation.objects.count()) == (2, 2, operations)


def test_what_may_run_still_is_gone_back_to(api: APIClient, moved_on: SimulatedNode) -> None:
    assert api.post(f"{BLUE}/rollback", {}).status_code == 202


@pytest.mark.parametrize("first", [True, False], ids=["a first deployment", "an update"])
def test_a_retry_asks_again(
    api: APIClient, admin_api: APIClient, node: SimulatedNode, first: bool
) -> None:
    if first:
        with_code()
        admin_api.post(APPROVAL)
        operation = api.post("/api/v1/deploy", {"model": "digits"}).json()
    else:
        model_register(content=b"plain")
        api.post("/api/v1/deploy", {"model": "digits"})
        node.bring_up()
        gateway_confirms()
        with_code(b"code")
        admin_api.post(APPROVAL.replace("versions/1", "versions/2"))
        operation = api.post(f"{BLUE}/update", {"version": "2"}).json()
    path = f"/api/v1/operations/{operation['id']}"
    approval = APPROVAL.replace("versions/1", f"versions/{1 if first else 2}")
    assert api.post(f"{path}/cancel").json()["state"] == "Canceled"
    admin_api.delete(approval)
    refused = api.post(f"{path}/retry")
    assert (refused.status_code, refused.json()["code"]) == (409, "CodeNotApproved")
    admin_api.post(approval)
    assert api.post(f"{path}/retry").status_code == 202
