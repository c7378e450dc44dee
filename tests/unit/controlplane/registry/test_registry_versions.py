"""Models over REST: registered once, immutable, archived, deleted when nobody needs them."""

import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries, Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.core.models import Event
from controlplane.deployments.models import Deployment, Endpoint
from controlplane.deployments.services.revisions import revision_record, template_of
from controlplane.registry.models import (
    ConfigRevision,
    Model,
    ModelVersion,
    RepoModel,
    Upload,
)
from controlplane.registry.selectors import models_called
from controlplane.registry.services import registering
from controlplane.registry.types import manifest_digest
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import model_register

Send = Callable[..., Upload]


@pytest.fixture
def register(api: APIClient, ingested: Send) -> Callable[..., dict[str, object]]:
    def send(
        name: str, content: bytes = b"a model", *, status: int = 201, **more: object
    ) -> dict[str, object]:
        upload = ingested("digits.onnx", content)
        answer = api.post(
            "/api/v1/models", {"name": name, "upload_id": upload.pk, **more}, format="json"
        )
        assert answer.status_code == status, answer.content
        return dict(answer.json())

    return send


def deploy(name: str, version: int, endpoint: str = "shop") -> Deployment:
    target, _ = Endpoint.objects.get_or_create(name=endpoint, defaults={"created_by": "dora"})
    used = ModelVersion.objects.get(model__name=name, version=version)
    return deployment_add(target, used)


def test_a_version_that_takes_other_tensors_says_so(
    register: Callable[..., dict[str, object]],
) -> None:
    """Two people may call their files model.onnx."""
    model_register()
    (told,) = [text for text in warnings_of(register("digits")) if "not those" in text]
    assert told.startswith("Its inputs and outputs are not those of version 1 of digits: there ")
    assert "image FP32[1,8,8] → a/b:0 FP32[-1,10], here" in told
    assert told.endswith("If it is another model, register it under another name.")
    same = warnings_of(register("digits", b"trained on"))
    assert not [text for text in same if "not those" in text]


def test_other_tensors_are_refused_where_only_the_same_will_do(
    register: Callable[..., dict[str, object]],
) -> None:
    model_register()
    refused = register("digits", status=409, same_tensors=True)
    assert (refused["code"], refused["newest"]) == ("TensorsDiffer", 1)
    assert str(refused["there"]).endswith("image FP32[1,8,8] → a/b:0 FP32[-1,10]")
    assert str(refused["here"]).startswith("digits: x FP32[4] → ")
    assert ModelVersion.objects.count() == 1
    assert register("digits")["version"] == 2
    assert register("digits", b"trained on", same_tensors=True)["version"] == 3
    assert register("new", same_tensors=True)["version"] == 1


def warnings_of(version: dict[str, object]) -> list[str]:
    told = version["warnings"]
    assert isinstance(told, list)
    return told


def test_a_ready_upload_becomes_version_one(
    register: Callable[..., dict[str, object]], api: APIClient
) -> None:
    version = register("digits", description="ten of them")
    assert (version["model"], version["version"], version["size"]) == ("digits", 1, 7)
    assert version["created_by"] == "dora"
    assert version["used_by"] == []
    assert "Batching was assumed." in version["warnings"]  # type: ignore[operator]
    (repo_model,) = version["repo_models"]  # type: ignore[misc]
    assert repo_model["name"] == "digits"
    (tensor,) = repo_model["inputs"]
    assert (tensor["name"], tensor["datatype"], tensor["shape"]) == ("x", "FP32", [4])
    assert RepoModel.objects.get().graph["opset"] == 17  # type: ignore[index]
    model = api.get("/api/v1/models/digits").json()
    assert (model["latest_version"], model["description"]) == (1, "ten of them")
    assert model["latest"]["digest"] == version["digest"]
    assert Event.objects.filter(verb="model.registered", subject="model/digits").count() == 1


def test_the_same_content_is_the_version_it_was(
    register: Callable[..., dict[str, object]],
) -> None:
    first = register("digits")
    again = register("digits", status=200)
    assert (again["version"], again["digest"]) == (1, first["digest"])
    assert register("digits", b"other")["version"] == 2
    assert register("twin")["version"] == 1


def test_a_digest_depends_on_every_path_and_byte_but_not_on_order() -> None:
    one = {"path": "m/1/model.onnx", "size": 1, "sha256": "a" * 64}
    two = {"path": "m/config.pbtxt", "size": 2, "sha256": "b" * 64}
    assert manifest_digest([one, two]) == manifest_digest([two, one])  # type: ignore[list-item]
    renamed = {**one, "path": "n/1/model.onnx"}
    assert manifest_digest([one, two]) != manifest_digest([renamed, two])  # type: ignore[list-item]


def test_an_edited_configuration_is_revision_one(
    register: Callable[..., dict[str, object]],
) -> None:
    text = 'name: "digits"\nmax_batch_size: 32\n'
    version = register("digits", configs={"digits": text})
    (revision,) = version["config_revisions"]  # type: ignore[misc]
    assert (revision["number"], revision["configs"]) == (1, {"digits": text})
    assert revision["author"] == "dora"


def test_a_configuration_that_says_the_same_is_no_revision(
    register: Callable[..., dict[str, object]],
) -> None:
    effective = 'name: "digits"\nmax_batch_size: 8'
    assert register("digits", configs={"digits": effective})["config_revisions"] == []
    assert not ConfigRevision.objects.exists()


def test_a_wrong_configuration_is_refused_with_its_problems(
    register: Callable[..., dict[str, object]],
) -> None:
    answer = register("digits", configs={"digits": "invalid"}, status=400)
    assert (answer["code"], answer["field"]) == ("ConfigInvalid", "configs.digits")
    assert answer["detail"] == "Must be 0 or more."
    assert answer["problems"][0]["field"] == "max_batch_size"  # type: ignore[index]
    assert not ModelVersion.objects.exists()
    unknown = register("digits", configs={"nobody": "x"}, status=400)
    assert unknown["hints"] == ["It holds: digits."]


@pytest.mark.parametrize(
    ("code", "text", "mended"),
    [("ConfigInvalid", "invalid {{{", False), ("ConfigEncoding", "# caf\ufffd\n", True)],
)
def test_what_was_found_wrong_in_the_upload_s_own_configuration_is_refused(
    api: APIClient, ingested: Send, code: str, text: str, mended: bool
) -> None:
    upload = ingested("digits.onnx", b"a model")
    inspection = upload.inspection
    assert inspection is not None
    inspection["models"][0]["config_text"] = text
    found = {"code": code, "scope": "config", "severity": "error", "model": "digits"}
    problem: Any = {**found, "message": "Not so.", "fix": None}
    inspection["problems"] = [problem]
    if mended:
        inspection["models"][0]["proposal"] = {"text": "# café\n", "certain": True}
    upload.save()
    body = {"name": "digits", "upload_id": upload.pk}
    refused = api.post("/api/v1/models", body, format="json")
    assert (refused.status_code, refused.json()["code"]) == (400, "ConfigInvalid")
    assert refused.json()["field"] == "configs.digits"
    assert refused.json()["problems"]
    assert not ModelVersion.objects.exists()
    again = {"apply_fixes": True} if mended else {"configs": {"digits": 'name: "digits"'}}
    accepted = api.post("/api/v1/models", {**body, **again}, format="json")
    assert accepted.status_code == 201
    (revision,) = accepted.json()["config_revisions"]
    assert revision["configs"] == {"digits": "# café\n" if mended else 'name: "digits"'}


@pytest.mark.parametrize("name", ["-x", "a/b", "a b", "ü", "a" * 256, ".", "../x"])
def test_a_bad_name_is_refused(register: Callable[..., dict[str, object]], name: str) -> None:
    assert register(name, status=400)["field"] == "name"


def test_only_a_ready_upload_can_be_registered(api: APIClient, complete: Send) -> None:
    upload = complete("digits.onnx", b"a model")
    body = {"name": "digits", "upload_id": upload.pk}
    answer = api.post("/api/v1/models", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "UploadNotReady")
    answer = api.post("/api/v1/models", {**body, "upload_id": "nothing"}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (404, "UploadNotFound")


def test_an_archived_model_hides_until_it_is_restored(
    register: Callable[..., dict[str, object]], api: APIClient
) -> None:
    register("digits")
    assert api.post("/api/v1/models/digits/archive").json()["archived"] is True
    assert api.get("/api/v1/models").json()["items"] == []
    assert len(api.get("/api/v1/models?archived=all").json()["items"]) == 1
    assert api.get("/api/v1/models/digits/versions/latest").status_code == 404
    assert api.get("/api/v1/models/digits/versions/1").json()["archived"] is True
    assert register("digits", b"more", status=409)["code"] == "ModelArchived"
    api.post("/api/v1/models/digits/restore")
    assert api.get("/api/v1/models/digits/versions/latest").json()["version"] == 1


def test_a_model_in_use_says_by_whom_and_stays(
    register: Callable[..., dict[str, object]], api: APIClient
) -> None:
    register("digits")
    deployment = deploy("digits", 1)
    assert api.get("/api/v1/models/digits").json()["used_by"] == ["shop"]
    assert api.get("/api/v1/models/digits/versions/1").json()["used_by"] == ["shop"]
    refused = api.delete("/api/v1/models/digits")
    assert (refused.status_code, refused.json()["code"]) == (409, "InUse")
    assert refused.json()["deployments"] == ["shop/blue"]
    register("other", b"another model")
    other = ModelVersion.objects.get(model__name="other")
    template = replace(template_of(deployment.revision), model_version=other)
    revision_record(deployment, template, author="dora", cause="updated")
    assert api.get("/api/v1/models/digits").json()["used_by"] == []
    refused = api.delete("/api/v1/models/digits")
    assert refused.json()["detail"] == "Model 'digits' is used by shop/blue."  # may go back to it
    deployment.delete()
    assert api.delete("/api/v1/models/digits").status_code == 204
    assert api.get("/api/v1/models/digits").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_registrations_at_once_take_different_numbers(deployer: User, ingested: Send) -> None:
    uploads = [ingested("digits.onnx", str(i).encode()).pk for i in range(5)]

    def register(upload_id: str) -> int:
        try:
            version, created = registering.model_version_register(
                name="digits", upload_id=upload_id, description="", configs={}, actor="dora"
            )
            assert created
            return version.version
        finally:
            connection.close()

    with ThreadPoolExecutor(5) as pool:
        numbers = sorted(pool.map(register, uploads))
    assert numbers == [1, 2, 3, 4, 5]
    assert Model.objects.get().latest_version == 5


def test_versions_are_listed_newest_first_in_pages(
    register: Callable[..., dict[str, object]], api: APIClient
) -> None:
    for content in (b"1", b"2", b"3"):
        register("digits", content)
    page = api.get("/api/v1/models/digits/versions?limit=2").json()
    assert [item["version"] for item in page["items"]] == [3, 2]
    rest = api.get(f"/api/v1/models/digits/versions?limit=2&cursor={page['next_cursor']}").json()
    assert [item["version"] for item in rest["items"]] == [1]
    assert rest["next_cursor"] is None


def test_a_list_of_models_costs_the_same_however_long_it_is(
    register: Callable[..., dict[str, object]],
    api: APIClient,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for i in range(4):
        register(f"digits-{i}", str(i).encode())
    deploy("digits-1", 1)
    api.get("/api/v1/models")  # the token's last use is written once a minute
    # token, models and their number, newest versions, their repo models and revisions, endpoints
    with django_assert_num_queries(9):
        items = api.get("/api/v1/models?q=DIGITS").json()["items"]
    assert [item["name"] for item in items] == ["digits-3", "digits-2", "digits-1", "digits-0"]
    assert [item["used_by"] for item in items] == [[], [], ["shop"], []]


def test_a_text_is_checked_against_the_model_of_an_upload_or_version(
    register: Callable[..., dict[str, object]], api: APIClient, ingested: Send
) -> None:
    upload = ingested("digits.onnx", b"a model")
    body = {"text": "invalid", "upload_id": upload.pk, "repo_model": "digits"}
    answer = api.post("/api/v1/config/validate", body, format="json")
    assert answer.status_code == 200, answer.content
    assert answer.json()["ok"] is False
    assert answer.json()["problems"][0]["line"] == 1
    register("digits")
    body = {"text": "fine", "model": "digits", "version": "1", "repo_model": "digits"}
    answer = api.post("/api/v1/config/validate", body, format="json").json()
    assert (answer["ok"], answer["config"]) == (True, {"name": "digits"})
    missing = api.post("/api/v1/config/validate", {**body, "repo_model": "no"}, format="json")
    assert (missing.status_code, missing.json()["code"]) == (404, "ModelNotFound")
    alone = api.post(
        "/api/v1/config/validate", {"text": "invalid", "repo_model": "digits"}, format="json"
    )
    assert (alone.status_code, alone.json()["ok"]) == (200, False)  # the text alone


def test_a_configuration_is_rendered_as_text(api: APIClient) -> None:
    answer = api.post("/api/v1/config/render", {"config": {"name": "m"}}, format="json")
    assert answer.json() == {"text": 'name: "m"\n'}


def test_a_child_that_dies_is_restarted_and_one_that_keeps_dying_is_said(
    api: APIClient, ingested: Send, caplog: pytest.LogCaptureFixture
) -> None:
    upload = ingested("digits.onnx", b"a model")
    body = {"text": "CRASH", "upload_id": upload.pk, "repo_model": "digits"}
    with caplog.at_level(logging.WARNING):
        down = api.post("/api/v1/config/validate", body, format="json")
    assert (down.status_code, down.json()["code"]) == (503, "InspectorUnavailable")
    assert "try 2" in caplog.text
    up = api.post("/api/v1/config/validate", {**body, "text": "fine"}, format="json")
    assert up.json()["ok"] is True


def test_a_child_that_keeps_silent_is_replaced(
    api: APIClient, ingested: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controlplane.registry.inspector.SERVE_TIMEOUT_S", 0.5)
    upload = ingested("digits.onnx", b"a model")
    body = {"text": "HANG", "upload_id": upload.pk, "repo_model": "digits"}
    assert api.post("/api/v1/config/validate", body, format="json").status_code == 503
    monkeypatch.setattr("controlplane.registry.inspector.SERVE_TIMEOUT_S", 20)
    up = api.post("/api/v1/config/validate", {**body, "text": "fine"}, format="json")
    assert up.json()["ok"] is True


def test_a_child_of_another_program_does_not_answer(api: APIClient, settings: Settings) -> None:
    body = {"configs": {"digits": "invalid"}}
    model_register()
    path = "/api/v1/models/digits/versions/1/config-revisions"
    assert api.post(path, body).json()["problems"][0]["message"] == "Must be 0 or more."
    program = "import sys; [print('[]', flush=True) for _ in sys.stdin]"
    settings.SHOAL_INSPECTION_COMMAND = [sys.executable, "-c", program]
    assert api.post(path, body).json()["code"] == "InspectorUnavailable"


def test_a_version_can_be_asked_for_by_number_and_is_then_immutable(
    register: Callable[..., dict[str, object]], api: APIClient
) -> None:
    words = {"tags": {"team": "vision"}, "declared": {"flavors": {"onnx": {}}}}
    made = register("digits", b"one", version=7, **words)
    assert (made["version"], made["tags"], made["declared"]) == (7, *words.values())
    assert register("digits", b"one", version=7, status=200)["version"] == 7
    refused = register("digits", b"two", version=7, status=409)
    assert refused["code"] == "ModelVersionImmutable"
    assert register("digits", b"two", version=3)["version"] == 3
    assert register("digits", b"three")["version"] == 8
    assert api.get("/api/v1/models/digits").json()["latest_version"] == 8


def test_one_version_is_archived_and_restored(
    register: Callable[..., dict[str, object]], api: APIClient
) -> None:
    register("digits", b"one")
    register("digits", b"two")
    path = "/api/v1/models/digits/versions"
    assert api.post(f"{path}/2/archive").json()["archived"] is True
    assert api.get(f"{path}/latest").json()["version"] == 1
    assert api.post(f"{path}/2/restore").json()["archived"] is False
    assert api.get(f"{path}/latest").json()["version"] == 2
    answer = api.patch(f"{path}/2", {"description": "better"}, format="json")
    assert answer.json()["description"] == "better"
    assert api.post(f"{path}/9/archive").status_code == 404


def test_pipelines_are_named_before_their_steps(
    register: Callable[..., dict[str, object]],
) -> None:
    register("shop")
    version = ModelVersion.objects.get(model__name="shop")
    version.repo_models.all().delete()
    for name, platform, steps in (
        ("a-step", "", ()),
        ("alone", "", ()),
        ("inner", "ensemble", ("a-step",)),
        ("outer", "ensemble", ("inner", "a-step")),
    ):
        text = "".join(f'step {{ model_name: "{step}" model_version: -1 }}' for step in steps)
        RepoModel.objects.create(
            model_version=version,
            name=name,
            platform=platform,
            inputs=[],
            outputs=[],
            versions=[1],
            config_effective=f"ensemble_scheduling {{ {text} }}" if steps else "",
        )
    called = [model.name for model in models_called(version)]
    assert called == ["outer", "alone", "inner", "a-step"]


def test_a_version_is_registered_below_its_model(
    register: Callable[..., dict[str, object]], api: APIClient, ingested: Send
) -> None:
    register("digits")
    upload = ingested("digits.onnx", b"other")
    path = "/api/v1/models/digits/versions"
    made = api.post(path, {"upload_id": upload.pk}, format="json")
    assert (made.status_code, made.json()["version"]) == (201, 2)
    assert made["ETag"] == api.get(f"{path}/2")["ETag"]
    assert (
        api.post(path, {"upload_id": upload.pk, "name": "digits"}, format="json").status_code == 200
    )
    other = api.post(path, {"upload_id": upload.pk, "name": "letters"}, format="json")
    assert (other.status_code, other.json()["field"]) == (400, "name")
    nobody = api.post("/api/v1/models/nobody/versions", {"upload_id": upload.pk}, format="json")
    assert (nobody.status_code, Model.objects.count()) == (404, 1)
    (found,) = api.get(f"{path}/2/repo-models").json()["items"]
    assert (found["name"], found["inputs"][0]["datatype"]) == ("digits", "FP32")
