"""Models that bring code: told by files and texts, held back until somebody who may says yes."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.operations.models import Operation
from controlplane.registry.models import CodeApproval, ModelVersion, Upload

Send = Callable[..., Upload]
PYTHON = b"class TritonPythonModel: ..."


@pytest.fixture
def bring(ingested: Send) -> Callable[..., Any]:
    """A Python model, registered by whose client it is."""

    def send(client: APIClient, name: str = "add", content: bytes = PYTHON, **more: Any) -> Any:
        upload = ingested("add.py", content)
        body = {"name": name, "upload_id": upload.pk, **more}
        return client.post("/api/v1/models", body, format="json")

    return send


def deploy(client: APIClient, name: str = "add") -> Any:
    return client.post("/api/v1/deploy", {"model": name}, format="json")


def test_an_upload_says_why_it_runs_code(ingested: Send, api: APIClient) -> None:
    upload = ingested("add.py", PYTHON)
    code = api.get(f"/api/v1/uploads/{upload.pk}").json()["code"]
    assert code["state"] == "waiting"
    assert code["reasons"] == [
        {"file": "add/1/model.py", "kind": "python", "message": "add/1/model.py is of kind python."}
    ]


def test_an_administrator_s_own_version_passes_at_once(
    bring: Callable[..., Any], admin_api: APIClient
) -> None:
    code = bring(admin_api).json()["code"]
    assert (code["state"], code["approved_by"]) == ("allowed", "ada")
    assert deploy(admin_api).status_code == 202


def test_anybody_else_s_waits_for_somebody_who_may(
    bring: Callable[..., Any], api: APIClient, admin_api: APIClient
) -> None:
    assert bring(api).json()["code"]["state"] == "waiting"
    refused = deploy(api)
    problem = refused.json()
    assert (refused.status_code, problem["code"]) == (409, "CodeNotApproved")
    assert (problem["needed_role"], problem["needed_permission"]) == ("admin", "code:upload")
    assert problem["reasons"][0]["file"] == "add/1/model.py"
    assert any("shoal model approve --name add --version 1" in hint for hint in problem["hints"])
    assert not Operation.objects.exists()

    path = "/api/v1/models/add/versions/1/approve"
    assert api.post(path).status_code == 403
    approved = admin_api.post(path).json()["code"]
    assert (approved["state"], approved["approved_by"]) == ("allowed", "ada")
    event = Event.objects.get(verb="model.code_approved")
    assert (event.actor, event.subject) == ("ada", "model/add")
    assert event.data["files"] == ["add/1/model.py"]
    assert deploy(api).status_code == 202


def test_an_approval_is_of_the_bytes_under_whatever_name(
    bring: Callable[..., Any], api: APIClient, admin_api: APIClient
) -> None:
    bring(admin_api)
    assert bring(api, "twin").json()["code"]["state"] == "allowed"
    assert bring(api, "add", PYTHON + b" # changed").json()["code"]["state"] == "waiting"


def test_an_administrator_who_registers_the_same_bytes_approves_them(
    bring: Callable[..., Any], api: APIClient, admin_api: APIClient
) -> None:
    assert bring(api).json()["code"]["state"] == "waiting"
    again = bring(admin_api)
    assert (again.status_code, again.json()["code"]["state"]) == (200, "allowed")


def test_approving_twice_is_one_approval(bring: Callable[..., Any], admin_api: APIClient) -> None:
    bring(admin_api)
    assert admin_api.post("/api/v1/models/add/versions/1/approve").status_code == 200
    assert CodeApproval.objects.count() == 1
    assert Event.objects.filter(verb="model.code_approved").count() == 1


def test_an_edit_that_names_more_code_must_be_approved_as_well(
    ingested: Send, api: APIClient, admin_api: APIClient
) -> None:
    upload = ingested("digits.onnx", b"a model")
    body = {"name": "digits", "upload_id": upload.pk}
    assert admin_api.post("/api/v1/models", body).json()["code"]["state"] == "none"
    revisions = "/api/v1/models/digits/versions/1/config-revisions"
    text = 'name: "digits"\nmodel_operations { op_library_filename: "/tmp/x" }\n'
    assert api.post(revisions, {"configs": {"digits": text}}).status_code == 201
    assert deploy(api, "digits").json()["code"] == "CodeNotApproved"
    files_alone = {"model": "digits", "config_revision": 0}
    assert api.post("/api/v1/deploy", files_alone).status_code == 202
    assert admin_api.post("/api/v1/models/digits/versions/1/approve").status_code == 200
    assert api.get("/api/v1/models/digits/versions/1").json()["code"]["state"] == "allowed"
    more = text + 'model_operations { op_library_filename: "/tmp/y" }\n'
    assert api.post(revisions, {"configs": {"digits": more}}).status_code == 201
    assert api.get("/api/v1/models/digits/versions/1").json()["code"]["state"] == "waiting"


def test_a_trial_runs_no_code_that_nobody_approved(ingested: Send, api: APIClient) -> None:
    upload = ingested("add.py", PYTHON)
    answer = api.post("/api/v1/try-loads", {"upload_id": upload.pk})
    assert (answer.status_code, answer.json()["code"]) == (409, "CodeNotApproved")


def test_who_may_run_code_can_ask_for_approved_code_alone(
    ingested: Send, admin_api: APIClient
) -> None:
    """As the wizard does, where nobody asked for a trial."""
    body = {"upload_id": ingested("add.py", PYTHON).pk}
    answer = admin_api.post("/api/v1/try-loads", {**body, "only_approved": True}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "CodeNotApproved")
    # no node has joined, which is looked at after the code
    answer = admin_api.post("/api/v1/try-loads", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "OutOfCapacity")


def test_off_refuses_code_from_everybody(
    bring: Callable[..., Any], admin_api: APIClient, settings: Settings
) -> None:
    bring(admin_api, "before")
    settings.SHOAL_CODE_POLICY = "off"
    refused = bring(admin_api, "add", PYTHON + b" # 2")
    assert (refused.status_code, refused.json()["code"]) == (403, "CodeNotAllowed")
    assert any("SHOAL_CODE_POLICY" in hint for hint in refused.json()["hints"])
    assert not ModelVersion.objects.filter(model__name="add").exists()
    assert deploy(admin_api, "before").json()["code"] == "CodeNotAllowed"
    version = "/api/v1/models/before/versions/1"
    assert admin_api.post(f"{version}/approve").json()["code"] == "CodeNotAllowed"
    assert admin_api.get(version).json()["code"]["state"] == "refused"


def test_on_lets_everybody_s_run(
    bring: Callable[..., Any], api: APIClient, settings: Settings
) -> None:
    settings.SHOAL_CODE_POLICY = "on"
    assert bring(api).json()["code"]["state"] == "allowed"
    assert not CodeApproval.objects.exists()
    assert deploy(api).status_code == 202


def test_a_limited_token_of_an_administrator_brings_no_code_by_itself(
    bring: Callable[..., Any], admin_api: APIClient
) -> None:
    clear = admin_api.post("/api/v1/tokens", {"name": "ci", "scopes": ["deploy"]}).json()["token"]
    limited = APIClient()
    limited.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert bring(limited).json()["code"]["state"] == "waiting"


def test_models_without_code_wait_for_nobody(ingested: Send, api: APIClient) -> None:
    upload = ingested("digits.onnx", b"a model")
    version = api.post("/api/v1/models", {"name": "digits", "upload_id": upload.pk}).json()
    assert version["code"] == {
        "state": "none", "reasons": [], "approved_by": None, "approved_at": None,
    }  # fmt: skip
    assert deploy(api, "digits").status_code == 202
