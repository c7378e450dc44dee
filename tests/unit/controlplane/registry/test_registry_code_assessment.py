"""Who tells what runs code: the inspection alone, kept with the rows; what it did not see waits."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.deployments.models import TryLoad
from controlplane.operations.models import Operation
from controlplane.registry.code import code_key, told_once
from controlplane.registry.models import (
    CodeApproval,
    ConfigRevision,
    ModelVersion,
    RepoModel,
    Upload,
)
from controlplane.registry.services import code_assessment
from controlplane.registry.tasks import assess_versions
from tests.support.registered_models import files_add, model_register

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
Send = Callable[..., Upload]
LIBRARY = 'name: "digits"\nop_library_filename: "/tmp/x"\n'
VERSION = "/api/v1/models/digits/versions/1"


@pytest.fixture
def digits(ingested: Send, api: APIClient) -> ModelVersion:
    upload = ingested("digits.onnx", b"a model")
    api.post("/api/v1/models", {"name": "digits", "upload_id": upload.pk})
    return ModelVersion.objects.get()


def of_before(version: ModelVersion) -> None:
    """As a version of Shoal left it that told code by names and tokens itself."""
    ModelVersion.objects.filter(pk=version.pk).update(code=None)
    RepoModel.objects.filter(model_version=version).update(code=None)
    ConfigRevision.objects.filter(model_version=version).update(code=None)


def deploy(client: APIClient, **more: Any) -> Any:
    return client.post("/api/v1/deploy", {"model": "digits", **more}, format="json")


def no_answer(settings: Settings) -> None:
    settings.SHOAL_INSPECTION_COMMAND = [sys.executable, "-c", "import sys; sys.exit(1)"]


def silent_about(settings: Settings, answer: str) -> None:
    program = f"import json,sys\nfor l in sys.stdin: print({answer}, flush=True)"
    settings.SHOAL_INSPECTION_COMMAND = [sys.executable, "-c", program]


def test_reasons_stand_where_the_facts_are(
    ingested: Send, api: APIClient, digits: ModelVersion
) -> None:
    assert (digits.code, digits.repo_models.get().code) == ([], [])
    api.post(f"{VERSION}/config-revisions", {"configs": {"digits": LIBRARY}})
    (reason,) = digits.config_revisions.get().code["digits"]  # type: ignore[index]
    assert (reason["file"], reason["kind"]) == ("digits/config.pbtxt", "library")
    upload = ingested("add.py", b"class TritonPythonModel: ...")
    api.post("/api/v1/models", {"name": "add", "upload_id": upload.pk})
    (reason,) = ModelVersion.objects.get(model__name="add").code  # type: ignore[misc]
    assert (reason["file"], reason["kind"]) == ("add/1/model.py", "python")


def test_edits_while_registering_are_judged_and_kept(ingested: Send, api: APIClient) -> None:
    upload = ingested("digits.onnx", b"a model")
    body = {"name": "digits", "upload_id": upload.pk, "configs": {"digits": LIBRARY}}
    answer = api.post("/api/v1/models", body, format="json")
    assert answer.json()["code"]["state"] == "waiting"
    assert ConfigRevision.objects.get().code["digits"][0]["kind"] == "library"  # type: ignore[index]
    assert deploy(api).json()["code"] == "CodeNotApproved"


def test_what_was_never_judged_shows_as_waiting_and_asks_nobody(
    api: APIClient, digits: ModelVersion, settings: Settings
) -> None:
    of_before(digits)
    no_answer(settings)
    with CaptureQueriesContext(connection) as seen:
        listed = api.get("/api/v1/models").json()["items"][0]["latest"]["code"]
    assert not any("UPDATE" in query["sql"] for query in seen.captured_queries)
    shown = api.get(VERSION).json()["code"]
    assert listed == shown
    assert (shown["state"], shown["reasons"][0]["kind"]) == ("waiting", "unknown")


def test_it_is_judged_when_it_is_to_start_and_that_is_kept(
    api: APIClient, digits: ModelVersion, settings: Settings
) -> None:
    of_before(digits)
    assert deploy(api).status_code == 202
    digits.refresh_from_db()
    assert (digits.code, digits.repo_models.get().code) == ([], [])
    no_answer(settings)
    assert deploy(api, endpoint="again").status_code == 202


def test_what_its_names_say_makes_it_wait(api: APIClient) -> None:
    version = model_register()
    files_add(version, {**version.manifest()[0], "path": "digits/1/model.py"})
    of_before(version)
    refused = deploy(api)
    assert (refused.status_code, refused.json()["code"]) == (409, "CodeNotApproved")
    assert refused.json()["reasons"][0]["file"] == "digits/1/model.py"


def test_an_old_revision_is_judged_with_its_own_text(api: APIClient) -> None:
    version = model_register()
    ConfigRevision.objects.create(
        model_version=version, number=1, configs={"digits": LIBRARY}, author="dora"
    )
    assert api.get(VERSION).json()["code"]["state"] == "waiting"
    assert deploy(api, config_revision=0).status_code == 202
    refused = deploy(api, endpoint="other", config_revision=1)
    assert (refused.status_code, refused.json()["code"]) == (409, "CodeNotApproved")


def test_without_an_answer_nothing_starts(
    api: APIClient, admin_api: APIClient, digits: ModelVersion, settings: Settings
) -> None:
    of_before(digits)
    no_answer(settings)
    for answer in (
        deploy(api),
        deploy(admin_api),
        admin_api.post(f"{VERSION}/approve"),
        api.post("/api/v1/try-loads", {"model": "digits", "configs": {"digits": LIBRARY}}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (503, "InspectorUnavailable")
    assert not (Operation.objects.exists() or TryLoad.objects.exists())
    assert not CodeApproval.objects.exists()


@pytest.mark.parametrize(
    "answer",
    [
        'json.dumps({"id": json.loads(l)["id"], "ok": False, "error": "ValueError: unknown op"})',
        'json.dumps({"id": json.loads(l)["id"], "ok": True})',
        'json.dumps({"id": json.loads(l)["id"], "ok": True, "code": None})',
    ],
)
def test_an_answer_without_reasons_is_a_reason_to_wait(
    api: APIClient, digits: ModelVersion, settings: Settings, answer: str
) -> None:
    of_before(digits)
    silent_about(settings, answer)
    refused = deploy(api)
    assert (refused.status_code, refused.json()["code"]) == (409, "CodeNotApproved")
    assess_versions()
    digits.refresh_from_db()
    assert [reason["kind"] for reason in digits.code] == ["unknown"]  # type: ignore[union-attr]
    assert "could not be assessed" in refused.json()["reasons"][0]["message"]


def test_an_upload_whose_inspection_says_nothing_of_code_is_refused(
    ingested: Send, settings: Settings
) -> None:
    program = 'print(\'{"models": [], "problems": []}\')'
    settings.SHOAL_INSPECTION_COMMAND = [sys.executable, "-c", program]
    assert ingested("digits.onnx", b"a model").error["code"] == "InspectionFailed"  # type: ignore[index]


def test_an_upload_that_an_earlier_version_read_is_judged_when_registered(
    ingested: Send, api: APIClient
) -> None:
    upload = ingested("add.py", b"class TritonPythonModel: ...")
    del upload.inspection["code"], upload.inspection["models"][0]["code"]  # type: ignore[index]
    upload.save()
    assert api.get(f"/api/v1/uploads/{upload.pk}").json()["code"]["state"] == "waiting"
    body = {"name": "add", "upload_id": upload.pk}
    assert api.post("/api/v1/models", body).json()["code"]["state"] == "waiting"
    assert ModelVersion.objects.get().code[0]["kind"] == "python"  # type: ignore[index]


def test_the_same_files_registered_again_approve_what_was_judged(
    ingested: Send, api: APIClient, admin_api: APIClient
) -> None:
    upload = ingested("add.py", b"class TritonPythonModel: ...")
    body = {"name": "add", "upload_id": upload.pk}
    api.post("/api/v1/models", body)
    of_before(ModelVersion.objects.get())
    assert admin_api.post("/api/v1/models", body).json()["code"]["state"] == "allowed"
    assert [reason["kind"] for reason in CodeApproval.objects.get().reasons] == ["python"]


def test_an_approval_of_before_covers_what_it_saw_and_no_more(
    api: APIClient, admin_api: APIClient, ingested: Send
) -> None:
    upload = ingested("add.py", b"class TritonPythonModel: ...")
    admin_api.post("/api/v1/models", {"name": "add", "upload_id": upload.pk})
    of_before(ModelVersion.objects.get())
    body = {"model": "add"}
    assert api.post("/api/v1/deploy", body).status_code == 202
    seen = CodeApproval.objects.get()
    seen.reasons = [{**seen.reasons[0], "kind": "library"}]
    seen.save()
    answer = api.post("/api/v1/deploy", {**body, "endpoint": "other"})
    assert answer.json()["code"] == "CodeNotApproved"


def test_the_worker_judges_what_an_upgrade_left_a_few_at_a_time(digits: ModelVersion) -> None:
    ConfigRevision.objects.create(
        model_version=digits, number=1, configs={"digits": LIBRARY}, author="dora"
    )
    others = [model_register(f"m{number}") for number in range(2)]
    for version in (digits, *others):
        of_before(version)
    assert code_assessment.versions_assess(most=2) == 2
    assess_versions()
    assert code_assessment.versions_assess(most=2) == 0
    assert not ModelVersion.objects.filter(code__isnull=True).exists()
    assert ConfigRevision.objects.get().code["digits"][0]["kind"] == "library"  # type: ignore[index]


def test_names_are_asked_for_before_anything_is_parsed(
    api: APIClient, digits: ModelVersion, settings: Settings
) -> None:
    no_answer(settings)
    quotes = "'" * 60_000
    for body, status in (
        ({"model": "nobody", "configs": {"nobody": quotes}}, 404),
        ({"model": "digits", "version": "7", "configs": {"digits": quotes}}, 404),
        ({"model": "digits", "configs": {"other": quotes}}, 400),
        ({"model": "digits", "configs": {"digits": quotes}, "node": "nowhere"}, 404),
        ({"upload_id": "0" * 32, "configs": {"digits": quotes}}, 404),
    ):
        assert api.post("/api/v1/try-loads", body, format="json").status_code == status, body


def test_reasons_are_told_once() -> None:
    def reason(file: str, value: str = "") -> Any:
        return {"file": file, "kind": "python", "value": value, "message": "m"}

    of_file, of_config = reason("a/1/model.py"), reason("a/config.pbtxt")
    assert told_once([of_file, of_config, of_file]) == [of_file]
    assert told_once([of_config]) == [of_config]
    assert code_key(reason("a", "b")) == ("a", "python", "b")
