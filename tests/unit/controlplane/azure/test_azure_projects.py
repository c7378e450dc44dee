"""Who has a role in one project meets nothing of another through Azure's routes."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from rest_framework.test import APIClient

from controlplane.accounts.models import Membership, User
from controlplane.azure.models import SentFolder
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.registry.models import Model, Upload
from tests.support.azure_paths import SENT, WORKSPACE, workspace
from tests.support.people import make_user
from tests.support.project_world import OURS, THEIRS, Things, counts, member, project_add
from tests.unit.controlplane.azure.test_azure_blobs import put
from tests.unit.controlplane.azure.test_azure_models import URI
from tests.unit.controlplane.azure.test_azure_routes import MATRIX, routes

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
PLACE: Final = re.compile(r"<(?:\w+:)?(\w+)>")
BODIES: Final[dict[str, Any]] = {
    "regenerateKeys": {"keyType": "Primary"},
    "getLogs": {"tail": 3},
}
FIXED: Final = {
    "subscription": "s", "group": "r", "workspace": "w", "location": "local", "account": "store",
    "until": "9999", "datastore_name": "workspaceblobstore", "container": f"code-{THEIRS}-1",
    "blob": "src/score.py",
}  # fmt: skip
# What only tells of the installation, or takes what nobody else has a part in.
SHARED: Final = {
    "",
    "datastores",
    "datastores/<str:datastore_name>",
    "codes/<str:name>/versions",
}


@pytest.fixture
def worlds(db: None) -> tuple[Things, Things]:
    found = project_add(OURS), project_add(THEIRS)
    upload = Upload.objects.get(pk=f"{THEIRS}-upload")
    SentFolder.objects.create(
        owner=upload.created_by,
        place=f"code-{THEIRS}-1",
        upload=upload,
        properties={"name": THEIRS, "version": "1", "codeUri": THEIRS},
    )
    return found


def filled(route: str, rest: str, things: Things) -> str:
    def one(found: re.Match[str]) -> str:
        name = found[1]
        if name in FIXED:
            return FIXED[name]
        if name == "name" and rest.startswith("codes"):
            return things.word
        return things.place(name, rest)

    return "/" + PLACE.sub(one, route)


def test_a_member_meets_nothing_of_another_project(
    worlds: tuple[Things, Things], client_of: Callable[[User], APIClient]
) -> None:
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    client.raise_request_exception = False
    before, wrong = counts(), []
    for rest, route, _ in routes():
        path = filled(route, rest, worlds[1])
        for method in MATRIX[rest]:
            body = BODIES.get(rest.rpartition("/")[2], {"properties": {"codeUri": "x"}})
            answer = client.generic(method, path, json.dumps(body), "application/json")
            asks = rest in SHARED or THEIRS not in path
            expected = {200} if asks else {404, 400, 409, 204}
            if method == "POST" and rest.endswith("startPendingUpload"):
                expected = {200}  # for files of one's own, which may be called so
            told = answer.content.decode() if asks else ""
            if answer.status_code not in expected or THEIRS in told:
                wrong.append((method, path, answer.status_code, answer.content[:200]))
    assert wrong == []
    after = counts()
    assert {key: after[key] for key in after if key != "Upload"} == {
        key: before[key] for key in before if key != "Upload"
    }
    made = ("upload.started", "token.created")
    seen = Event.objects.filter(actor="mia").exclude(verb__in=made)
    assert not seen.exists()


def test_endpoints_of_another_project_are_not_deleted(
    worlds: tuple[Things, Things], client_of: Callable[[User], APIClient]
) -> None:
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    path = f"{WORKSPACE}/onlineEndpoints/{THEIRS}-endpoint"
    assert client.delete(path).status_code == 204  # as for one that is not there
    assert Endpoint.everything.get(name=f"{THEIRS}-endpoint").provisioning_state == "Succeeded"
    assert client.post(f"{path}/listKeys").status_code == 404


def test_a_workspace_that_is_called_as_a_project_is_that_project(
    worlds: tuple[Things, Things], client_of: Callable[[User], APIClient], admin: User
) -> None:
    both = member(OURS, Membership.Role.DEPLOYER)
    Membership.objects.create(project_id=THEIRS, user=both, role="deployer")
    client = client_of(both)

    def made(name: str, at: str) -> Any:
        path = f"{workspace(at)}/onlineEndpoints/{name}"
        return client.put(path, {"properties": {"authMode": "Key"}}, format="json")

    assert made("first", THEIRS).status_code == 201
    assert Endpoint.everything.get(name="first").project_name == THEIRS
    unclear = made("second", "w")
    assert (unclear.status_code, unclear.json()["error"]["target"]) == (400, "project")
    listed = client.get(f"{workspace(OURS)}/onlineEndpoints").json()["value"]
    assert [row["name"] for row in listed] == [f"{OURS}-endpoint"]
    one = client_of(make_user("dan", User.Role.DEPLOYER))
    path = f"{workspace(THEIRS)}/onlineEndpoints/third"
    assert one.put(path, {"properties": {}}, format="json").status_code == 201
    assert Endpoint.everything.get(name="third").project_name == THEIRS


def test_files_go_into_the_project_of_the_workspace(
    worlds: tuple[Things, Things], client_of: Callable[[User], APIClient]
) -> None:
    client = client_of(member(OURS, Membership.Role.DEPLOYER))
    assert put(client, f"{SENT}/abc/net/1/model.onnx").status_code == 201
    body = {"properties": {"modelUri": URI, "modelType": "triton_model"}}
    answer = client.put(f"{WORKSPACE}/models/net/versions/1", body, format="json")
    assert answer.status_code == 201, answer.content
    assert Model.everything.get(name="net").project_name == OURS
    taken = client.put(f"{WORKSPACE}/models/{THEIRS}-model/versions/2", body, format="json")
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "NameTaken")


def test_what_nobody_named_is_not_taken_by_another_project(
    worlds: tuple[Things, Things], client_of: Callable[[User], APIClient]
) -> None:
    """The package calls all environments without a name alike, and models by their content."""
    named = {}
    for project in (OURS, THEIRS):
        client = client_of(member(project, Membership.Role.DEPLOYER, f"mia-{project}"))
        path = f"{WORKSPACE}/environments/Anonymous/versions/abc"
        listed = {"condaFile": "dependencies: [numpy]", "isAnonymous": True}
        made = client.put(path, {"properties": listed}, format="json")
        assert made.status_code == 201, made.content
        assert client.get(made.json()["id"]).status_code == 200
        put(client, f"{SENT}/abc/net/1/model.onnx")
        body = {"properties": {"modelUri": URI, "isAnonymous": True}}
        model = client.put(f"{WORKSPACE}/models/0a1b/versions/1", body, format="json")
        assert model.status_code == 201, model.content
        named[project] = (made.json()["id"], model.json()["id"])
    assert not set(named[OURS]) & set(named[THEIRS])
