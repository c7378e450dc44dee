"""Models that bring code: told by files and texts, held back until somebody who may says yes."""

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.core.models import Event
from controlplane.deployments.models import Operation
from controlplane.registry.code import (
    code_in_config,
    code_in_files,
    code_in_graphs,
    code_in_variables,
)
from controlplane.registry.models import CodeApproval, ModelVersion, Upload

Send = Callable[..., Upload]
PYTHON = b"class TritonPythonModel: ..."


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("add/1/model.py", "python"),
        ("add/1/helpers/tools.PY", "python"),
        ("add/1/__pycache__/model.cpython-311.pyc", "python"),
        ("m/1/libcustom.so", "library"),
        ("m/1/libcustom.so.1.2", "library"),
        ("m/plugins/layers.DLL", "library"),
        ("m/1/fast.pyd", "library"),
        ("m/1/clf.pkl", "pickle"),
        ("m/1/clf.joblib", "pickle"),
        ("m/pb_exec_env_model.py.tar.gz", "environment"),
    ],
)
def test_a_file_that_runs_is_told_by_its_name(path: str, kind: str) -> None:
    (reason,) = code_in_files(["m/1/model.onnx", path])
    assert (reason["file"], reason["kind"]) == (path, kind)
    assert reason["message"].startswith(path)


@pytest.mark.parametrize(
    "path",
    ["m/1/model.onnx", "m/1/model.pt", "m/labels.txt", "m/1/model.plan", "m/1/so", "m/1/py.json"],
)
def test_other_files_do_not_run(path: str) -> None:
    assert code_in_files([path]) == []


def test_many_files_of_one_kind_are_one_reason() -> None:
    (reason,) = code_in_files(["m/1/b.py", "m/1/a.py", "m/1/c.py"])
    assert reason["message"] == "m/1/a.py is Python code (and 2 more like it)."


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('backend: "python"', "python"),
        ("backend: 'python'", "python"),
        ("backend: \"py\" 'thon'", "python"),
        (r'backend: "\x70\171thon"', "python"),
        ('backend : # "onnxruntime"\n "python"', "python"),
        ('parameters { key: "EXECUTION_ENV_PATH" value { string_value: "/e" } }', "environment"),
        (
            r'parameters { value { string_value: "/e" } key: "EXECUTION\137ENV_PATH" }',
            "environment",
        ),
        ('model_operations { op_library_filename: ["a.txt"] }', "library"),
    ],
)
def test_a_configuration_that_asks_for_code_is_told_however_it_is_written(
    text: str, kind: str
) -> None:
    (reason,) = code_in_config("m", text)
    assert (reason["file"], reason["kind"]) == ("m/config.pbtxt", kind)


@pytest.mark.parametrize(
    "text",
    ["", 'backend: "onnxruntime"', '# backend: "python"', 'name: "python"', 'backend: "python'],
)
def test_other_configurations_ask_for_none(text: str) -> None:
    assert code_in_config("m", text) == []


def test_another_environment_is_another_reason() -> None:
    text = 'parameters {{ key: "EXECUTION_ENV_PATH" value {{ string_value: "{}" }} }}'
    one, other = (code_in_config("m", text.format(path)) for path in ("/a", "/b"))
    assert one[0]["value"] != other[0]["value"]


def test_a_compiled_torch_package_is_machine_code() -> None:
    (reason,) = code_in_graphs({"a": "torch.export", "b": "torch AOTInductor"})
    assert (reason["file"], reason["kind"]) == ("b", "library")


# --- the policy -----------------------------------------------------------------------------------


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
        {"file": "add/1/model.py", "kind": "python", "message": "add/1/model.py is Python code."}
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
    assert any("shoal model approve add --version 1" in hint for hint in problem["hints"])
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


@pytest.mark.parametrize(
    "name",
    ["LD_PRELOAD", "LD_AUDIT", "LD_LIBRARY_PATH", "PYTHONPATH", "PYTHONSTARTUP", "PATH"],
)
def test_variables_that_load_files_are_code(ingested: Send, api: APIClient, name: str) -> None:
    upload = ingested("digits.onnx", b"a model")
    api.post("/api/v1/models", {"name": "digits", "upload_id": upload.pk})
    for field in ("environment", "secret_environment"):
        answer = api.post("/api/v1/deploy", {"model": "digits", field: {name: "/tmp/x"}})
        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (403, "CodeNotAllowed")
        assert problem["field"] == f"environment.{name}"


def test_an_administrator_may_set_them_and_others_all_else(
    ingested: Send, api: APIClient, admin_api: APIClient
) -> None:
    upload = ingested("digits.onnx", b"a model")
    api.post("/api/v1/models", {"name": "digits", "upload_id": upload.pk})
    body = {"model": "digits", "endpoint": "one", "environment": {"PYTHONPATH": "/opt/own"}}
    assert admin_api.post("/api/v1/deploy", body).status_code == 202
    body = {"model": "digits", "endpoint": "two", "environment": {"OMP_NUM_THREADS": "2"}}
    assert api.post("/api/v1/deploy", body).status_code == 202


def test_harmless_variables_are_no_code() -> None:
    assert code_in_variables(["PYTHONUNBUFFERED", "OMP_NUM_THREADS", "MY_PATH", "HF_HOME"]) == []


def test_put_asks_the_same_and_lets_stay_what_was_there(
    ingested: Send, api: APIClient, admin_api: APIClient
) -> None:
    upload = ingested("digits.onnx", b"a model")
    api.post("/api/v1/models", {"name": "digits", "upload_id": upload.pk})
    admin_api.post("/api/v1/endpoints", {"name": "one"})
    url = "/api/v1/endpoints/one/deployments/blue"
    body = {"model": "digits", "version": "1", "environment": {"LD_PRELOAD": "/tmp/x"}}
    assert api.put(url, body).json()["code"] == "CodeNotAllowed"
    assert admin_api.put(url, body).status_code == 201
    again = {**body, "description": "said by somebody else"}
    assert api.put(url, again).json().get("code") != "CodeNotAllowed"
    changed = {**body, "environment": {"LD_PRELOAD": "/tmp/y"}}
    assert api.put(url, changed).json()["code"] == "CodeNotAllowed"
