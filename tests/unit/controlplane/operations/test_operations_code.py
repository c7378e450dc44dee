"""What ran once starts again only if it might be deployed now: its code approved, not archived."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.deployments.models import DeploymentRevision, TryLoad
from controlplane.operations.models import Operation
from controlplane.registry.code import KINDS
from controlplane.registry.models import ModelVersion
from tests.support.registered_models import files_add, model_register
from tests.support.simulated_node import SimulatedNode, gateway_confirms

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
BLUE = "/api/v1/endpoints/digits/deployments/blue"
APPROVAL = "/api/v1/models/digits/versions/1/approve"


def with_code(content: bytes = b"first") -> ModelVersion:
    version = model_register(content=content)
    files_add(version, {**version.manifest()[0], "path": "digits/1/model.py"})
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


# --- every way by which something starts ----------------------------------------------------------

WAITS = (409, "CodeNotApproved")
Start = Callable[[APIClient], Any]


def said(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json().get("code", "")


STARTS: dict[str, Start] = {
    "deploy": lambda api: api.post("/api/v1/deploy", {"model": "digits"}),
    "deploy of an alias": lambda api: api.post(
        "/api/v1/deploy", {"model": "digits", "version": "@champion"}
    ),
    "deploy instead of what is under way": lambda api: api.post(
        "/api/v1/deploy?supersede=true", {"model": "digits"}
    ),
    "create": lambda api: api.post(
        "/api/v1/endpoints/digits/deployments", {"name": "green", "model": "digits"}
    ),
    "replace": lambda api: api.post(
        "/api/v1/endpoints/digits/deployments",
        {"name": "blue", "model": "digits", "replace": True},
    ),
    "put another": lambda api: api.put(
        "/api/v1/endpoints/digits/deployments/green", {"model": "digits"}
    ),
    "put": lambda api: api.put(BLUE, {"model": "digits"}),
    "update": lambda api: api.post(f"{BLUE}/update", {"version": "2"}),
    "update by model": lambda api: api.post(f"{BLUE}/update", {"model": "digits"}),
    "patch": lambda api: api.patch(BLUE, {"version": "2", "instance_count": 2}),
    "try": lambda api: api.post("/api/v1/try-loads", {"model": "digits"}),
    "try a revision": lambda api: api.post(
        "/api/v1/try-loads", {"model": "digits", "version": "2", "config_revision": 0}
    ),
}


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS.keys())
def test_what_waits_starts_by_no_way(
    api: APIClient, admin_api: APIClient, node: SimulatedNode, start: Start
) -> None:
    model_register(content=b"plain")
    api.post("/api/v1/deploy", {"model": "digits", "traffic": 0})
    node.bring_up()
    gateway_confirms()
    with_code(b"code")
    alias = api.put("/api/v1/models/digits/aliases/champion", {"version": "2"})
    assert alias.status_code in (200, 201), alias.content
    assert api.post("/api/v1/models/digits/versions/2/archive").status_code == 200
    assert api.post("/api/v1/models/digits/versions/2/restore").status_code == 200
    operations = Operation.objects.count()
    assert said(start(api)) == WAITS
    assert (Operation.objects.count(), TryLoad.objects.count()) == (operations, 0)
    assert {file.path for replica in node.desired().replicas for file in replica.files} == {
        "digits/1/model.onnx",
        "digits/config.pbtxt",
    }
    admin_api.post(APPROVAL.replace("versions/1", "versions/2"))
    assert start(api).status_code in (201, 202)


@pytest.mark.parametrize("under_way", [True, False], ids=["a rolling update", "a broken one"])
def test_an_update_of_what_runs_asks_again(
    api: APIClient, admin_api: APIClient, node: SimulatedNode, under_way: bool
) -> None:
    with_code()
    admin_api.post(APPROVAL)
    operation = api.post("/api/v1/deploy", {"model": "digits"}).json()
    if under_way:
        node.bring_up()
        gateway_confirms()
    else:
        api.post(f"/api/v1/operations/{operation['id']}/cancel")
    admin_api.delete(APPROVAL)
    fresh = {"environment": {"APP_A": "1"}}
    assert said(api.post(f"{BLUE}/update", fresh)) == WAITS
    assert said(api.put(BLUE, {"model": "digits", "version": "1", **fresh})) == WAITS
    assert said(api.patch(BLUE, fresh)) == WAITS
    admin_api.post(APPROVAL)
    assert api.post(f"{BLUE}/update", fresh).status_code == 202


def told(node: SimulatedNode) -> list[tuple[str, ...] | None]:
    return [replica.code for replica in node.desired().replicas]


def test_a_node_is_told_what_was_approved(
    api: APIClient, admin_api: APIClient, node: SimulatedNode, settings: Settings
) -> None:
    with_code()
    admin_api.post(APPROVAL)
    api.post("/api/v1/deploy", {"model": "digits"})
    assert told(node) == [("python",)]
    node.bring_up()
    gateway_confirms()
    admin_api.delete(APPROVAL)
    assert api.post(f"{BLUE}/restart").status_code == 202
    assert told(node) == [("python",)] * 2, "what runs now restarts as it was approved"
    settings.SHOAL_CODE_POLICY = "on"
    assert told(node) == [KINDS] * 2


def test_a_node_is_told_that_plain_models_run_none(api: APIClient, node: SimulatedNode) -> None:
    model_register()
    api.post("/api/v1/deploy", {"model": "digits"})
    api.post("/api/v1/try-loads", {"model": "digits"})
    assert told(node) == [(), ()]


def test_what_was_started_before_is_not_told_and_what_is_asked_anew_is(
    api: APIClient, admin_api: APIClient, node: SimulatedNode
) -> None:
    with_code()
    admin_api.post(APPROVAL)
    operation = api.post("/api/v1/deploy", {"model": "digits"}).json()
    DeploymentRevision.objects.update(allow_code=None)
    assert told(node) == [None]
    path = f"/api/v1/operations/{operation['id']}"
    api.post(f"{path}/cancel")
    assert api.post(f"{path}/retry").status_code == 202
    assert told(node)[-1] == ("python",)


def test_going_back_is_told_what_is_approved_now(api: APIClient, moved_on: SimulatedNode) -> None:
    DeploymentRevision.objects.update(allow_code=None)
    assert api.post(f"{BLUE}/rollback", {}).status_code == 202
    assert ("python",) in told(moved_on)


def test_nobody_gives_runtimes_flags(api: APIClient, admin_api: APIClient) -> None:
    """A flag could undo what a runtime is told, or have it read, write or run files."""
    model_register()
    for body in ({"runtime_args": ["--allow-code=python"]}, {"allow_code": ["python"]}):
        asked = {"model": "digits", **body}
        for client in (api, admin_api):
            for path in ("/api/v1/deploy", "/api/v1/try-loads"):
                assert client.post(path, asked, format="json").status_code == 400
            assert client.put(BLUE, asked, format="json").status_code == 400


# --- variables ------------------------------------------------------------------------------------

PRELOADED = {"LD_PRELOAD": "/opt/own.so"}
FORBIDDEN = (403, "CodeNotAllowed")


def varied(api: APIClient, admin: APIClient, node: SimulatedNode, **first: Any) -> None:
    """Revision 1 has what only an administrator sets, revision 2 does not."""
    model_register()
    assert admin.post("/api/v1/deploy", {"model": "digits", **first}).status_code == 202
    node.bring_up()
    gateway_confirms()
    gone = dict.fromkeys(first.get("secret_environment", {}))
    change = {"environment": {"APP_A": "1"}, "secret_environment": gone}
    assert api.post(f"{BLUE}/update", change).status_code == 202
    node.bring_up()
    gateway_confirms()
    gateway_confirms()


@pytest.mark.parametrize("field", ["environment", "secret_environment"])
def test_going_back_sets_no_variables_that_the_actor_may_not_set(
    api: APIClient, admin_api: APIClient, node: SimulatedNode, field: str
) -> None:
    varied(api, admin_api, node, **{field: PRELOADED})
    assert api.get(BLUE).json()["revision"] == 2
    for body in ({}, {"revision": 1}):
        refused = api.post(f"{BLUE}/rollback", body)
        assert said(refused) == FORBIDDEN
        assert "environment.LD_PRELOAD" in refused.json()["detail"]
    assert api.get(BLUE).json()["revision"] == 2
    assert admin_api.post(f"{BLUE}/rollback", {}).status_code == 202


def test_going_back_where_nobody_sets_them_any_more(
    api: APIClient, admin_api: APIClient, node: SimulatedNode, settings: Settings
) -> None:
    varied(api, admin_api, node, environment=PRELOADED)
    settings.SHOAL_CODE_POLICY = "off"
    assert said(admin_api.post(f"{BLUE}/rollback", {})) == FORBIDDEN
    settings.SHOAL_CODE_POLICY = "on"
    assert api.post(f"{BLUE}/rollback", {}).status_code == 202


def test_going_back_keeps_the_variables_that_it_has_now(
    api: APIClient, admin_api: APIClient, node: SimulatedNode
) -> None:
    model_register()
    body = {"model": "digits", "secret_environment": PRELOADED}
    assert admin_api.post("/api/v1/deploy", body).status_code == 202
    node.bring_up()
    gateway_confirms()
    api.post(f"{BLUE}/update", {"environment": {"APP_A": "1"}})
    node.bring_up()
    gateway_confirms()
    gateway_confirms()
    assert api.post(f"{BLUE}/rollback", {}).status_code == 202


def test_a_retried_update_sets_no_variables_that_the_actor_may_not_set(
    api: APIClient, admin_api: APIClient, node: SimulatedNode
) -> None:
    model_register()
    api.post("/api/v1/deploy", {"model": "digits"})
    node.bring_up()
    gateway_confirms()
    operation = admin_api.post(f"{BLUE}/update", {"environment": PRELOADED}).json()
    path = f"/api/v1/operations/{operation['id']}"
    assert admin_api.post(f"{path}/cancel").json()["state"] == "Canceled"
    assert said(api.post(f"{path}/retry")) == FORBIDDEN
    assert admin_api.post(f"{path}/retry").status_code == 202
