"""Models, environments and code from what was sent."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.azure.api import base, patience
from controlplane.azure.models import SentFolder
from controlplane.azure.services import folders
from controlplane.environments.models import EnvironmentVersion
from controlplane.registry.models import Model, ModelFile, ModelVersion, Upload
from controlplane.registry.services import ingest, uploads
from tests.support.azure_paths import DATASTORE, SENT, WORKSPACE
from tests.unit.controlplane.azure.test_azure_blobs import code_of, put

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
NET = f"{WORKSPACE}/models/net"
URI = f"{DATASTORE}/LocalUpload/abc/net"


def model_put(client: APIClient, version: str = "1", **properties: Any) -> Any:
    body = {"properties": {"modelUri": URI, "modelType": "triton_model", **properties}}
    return client.put(f"{NET}/versions/{version}", body, format="json")


def send(client: APIClient, *names: str, content: bytes = b"weights") -> None:
    for name in names or ("net/1/model.onnx",):
        assert put(client, f"{SENT}/abc/{name}", content).status_code == 201


def files() -> set[str]:
    return set(ModelFile.objects.values_list("path", flat=True))


def test_what_was_sent_becomes_a_version(api: APIClient) -> None:
    assert code_of(api.get(NET)) == (404, "ModelNotFound")
    send(api)
    made = model_put(api, description="d", tags={"a": 1}, stage="Production")
    assert made.status_code == 201, made.content
    body = made.json()
    assert body["id"] == f"{NET}/versions/1"
    told = body["properties"]
    assert (told["description"], told["tags"], told["stage"]) == ("d", {"a": "1"}, "Production")
    assert told["modelUri"] == f"{DATASTORE}/registered/net/1"
    assert files() == {"net/1/model.onnx"}
    found = api.get(NET).json()["properties"]
    assert (found["latestVersion"], found["nextVersion"]) == ("1", "2")
    assert [row["name"] for row in api.get(f"{WORKSPACE}/models").json()["value"]] == ["net"]
    assert [row["name"] for row in api.get(f"{NET}/versions").json()["value"]] == ["1"]


def test_the_job_that_made_it_is_its_run(api: APIClient) -> None:
    send(api)
    assert model_put(api, jobName="train_7").json()["properties"]["jobName"] == "train_7"
    version = ModelVersion.objects.get()
    assert (version.stated_lineage["run"], version.stated_lineage["by"]) == ("train_7", "dora")
    body = {"lineage": {"run": "train_7", "commit": "c0ffee"}}
    assert api.patch("/api/v1/models/net/versions/1", body, format="json").status_code == 200
    # the package sends no job when it changes words; what was stated stays
    assert model_put(api, description="again").json()["properties"]["jobName"] == "train_7"
    assert model_put(api, jobName="train_8").json()["properties"]["jobName"] == "train_8"
    lineage = api.get("/api/v1/models/net/versions/1").json()["lineage"]
    assert (lineage["run"], lineage["commit"]) == ("train_8", "c0ffee")
    assert code_of(model_put(api, jobName="a\nb"))[0] == 400
    assert api.get(f"{NET}/versions/1").json()["properties"]["jobName"] == "train_8"


def test_the_same_again_is_the_same_and_other_content_a_conflict(api: APIClient) -> None:
    send(api)
    model_put(api)
    assert model_put(api, description="again").json()["properties"]["description"] == "again"
    send(api, content=b"other")  # a client that has not seen that it is there
    assert code_of(model_put(api)) == (409, "ModelVersionImmutable")
    assert model_put(api, "2").status_code == 201


def test_a_version_is_archived_as_the_package_does_it(api: APIClient) -> None:
    send(api)
    properties = model_put(api).json()["properties"]
    body = {"properties": {**properties, "isArchived": True}}
    assert api.put(f"{NET}/versions/1", body, format="json").status_code == 200
    assert api.get(f"{NET}/versions").json()["value"] == []
    listed = api.get(f"{NET}/versions?listViewType=ArchivedOnly").json()["value"]
    assert [row["properties"]["isArchived"] for row in listed] == [True]
    body["properties"]["isArchived"] = False
    api.put(f"{NET}/versions/1", body, format="json")
    assert len(api.get(f"{NET}/versions").json()["value"]) == 1
    assert code_of(api.get(f"{NET}/versions?listViewType=x")) == (400, "BadArgument")
    whole = api.put(NET, {"properties": {"isArchived": True}}, format="json")
    assert whole.json()["properties"]["isArchived"] is True


@pytest.mark.parametrize(
    "uri",
    ["https://elsewhere/x", "azureml://registries/a/models/b", f"{DATASTORE}/registered/net/2",
     "runs:/1/model", "", f"{DATASTORE}/LocalUpload/abc"],
)  # fmt: skip
def test_addresses_of_other_places_are_not_fetched(api: APIClient, uri: str) -> None:
    send(api)
    assert code_of(model_put(api, modelUri=uri)) == (400, "BadArgument")


@pytest.mark.parametrize("version", ["x", "0", "1.0", "9" * 12])
def test_a_version_is_a_number(api: APIClient, version: str) -> None:
    send(api)
    assert code_of(model_put(api, version)) == (400, "BadArgument")


def test_one_without_a_name_is_told_by_its_content(api: APIClient) -> None:
    send(api)
    assert model_put(api, "abcdef", isAnonymous=True).json()["name"] == "1"


def test_what_is_wrong_with_the_files_is_said_and_they_may_come_again(api: APIClient) -> None:
    send(api, content=b"BAD model")
    assert code_of(model_put(api)) == (400, "NotAnOnnxFile")
    assert not ModelVersion.objects.exists()
    assert api.head(f"{SENT}/abc/net/1/model.onnx").status_code == 404
    send(api)
    assert model_put(api).status_code == 201


def test_files_for_scripts_get_a_model_around_them(admin_api: APIClient) -> None:
    send(admin_api, "net/model.pkl", "net/labels.txt")
    made = model_put(admin_api, modelType="custom_model")
    assert made.status_code == 201, made.content
    assert files() == {
        "net/config.pbtxt",
        "net/1/model.py",
        "net/1/azureml-models/net/model.pkl",
        "net/1/azureml-models/net/labels.txt",
    }


def test_a_model_of_mlflow_brings_its_packages(admin_api: APIClient) -> None:
    send(admin_api, "net/MLmodel", "net/model.pkl")
    send(admin_api, "net/conda.yaml", content=b"dependencies:\n- pip:\n  - scikit-learn==1.5.0\n")
    assert model_put(admin_api, modelType="mlflow_model").status_code == 201
    assert "net/1/requirements.txt" in files()
    assert "net/1/azureml-models/net/MLmodel" in files()


def test_code_needs_whoever_may_bring_it(api: APIClient, settings: Settings) -> None:
    settings.SHOAL_CODE_POLICY = "off"
    send(api, "net/1/model.py")
    assert code_of(model_put(api)) == (403, "CodeNotAllowed")


def test_who_waits_longer_than_an_answer_may_take_asks_again(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[str] = []
    monkeypatch.setattr(
        uploads, "enqueue_on_commit", lambda *_, upload_id, **__: waiting.append(upload_id)
    )
    monkeypatch.setattr(patience, "LONGEST_S", 0.0)
    send(api)
    answer = model_put(api)
    assert (*code_of(answer), answer["Retry-After"]) == (503, "UploadNotReady", "2")
    ingest.ingest_run(upload_id=waiting[0])
    assert model_put(api).status_code == 201
    assert Upload.objects.count() == 1


LISTED = "name: x\ndependencies:\n- python=3.10\n- numpy=1.26\n"


def environment_put(client: APIClient, name: str, version: str, **properties: Any) -> Any:
    path = f"{WORKSPACE}/environments/{name}/versions/{version}"
    return client.put(path, {"properties": properties}, format="json")


def test_an_environment_is_a_list_of_packages(api: APIClient) -> None:
    said = {"condaFile": LISTED, "image": "mcr/x", "osType": "Linux"}
    made = environment_put(api, "list", "1", **said)
    assert made.status_code == 201, made.content
    row = EnvironmentVersion.objects.get()
    assert (row.requirements, row.image) == ("numpy==1.26.*\n", "mcr/x")
    assert "numpy=1.26" in made.json()["properties"]["condaFile"]
    assert (
        environment_put(
            api, "list", "1", condaFile=LISTED, image="mcr/x", osType="Linux"
        ).status_code
        == 200
    )
    other = environment_put(api, "list", "1", condaFile="dependencies: [scipy]")
    assert code_of(other) == (409, "EnvironmentVersionImmutable")
    anonymous = environment_put(api, "Cli", "a1b2", condaFile=LISTED, isAnonymous=True)
    assert anonymous.json()["id"] == f"{WORKSPACE}/environments/Cli/versions/1"
    listed = api.get(f"{WORKSPACE}/environments").json()["value"]
    assert [row["name"] for row in listed] == ["Cli", "list"]
    one = api.get(f"{WORKSPACE}/environments/list").json()["properties"]
    assert (one["latestVersion"], one["nextVersion"]) == ("1", "2")
    api.put(f"{WORKSPACE}/environments/list", {"properties": {"isArchived": True}}, format="json")
    assert api.get(f"{WORKSPACE}/environments/list/versions").json()["value"] == []


@pytest.mark.parametrize(
    "properties",
    [
        {"image": "mcr/x"},
        {"build": {"contextUri": "x"}},
        {"condaFile": "dependencies: [cudatoolkit=11]"},
        {"condaFile": "a: [b"},
        {"condaFile": "- a"},
        {"condaFile": "dependencies: [{pip: [-r other.txt]}]"},
        {"condaFile": "dependencies: [{pip: [-r /etc/passwd]}]"},
        {"condaFile": "dependencies: [{pip: numpy}]"},
        {"condaFile": "channels: &a [b]\ndependencies: [{pip: *a}]"},
        {"condaFile": "channels: [2024-01-01]"},
        {"condaFile": "channels: [2024-13-01]"},
        {"condaFile": "[" * 5000},
        {"condaFile": "#" * (2**18 + 1)},
    ],
)
def test_what_pip_cannot_install_is_refused(api: APIClient, properties: dict[str, Any]) -> None:
    assert code_of(environment_put(api, "list", "1", **properties)) == (400, "BadArgument")


def test_code_is_an_asset_of_whoever_sent_it(api: APIClient, admin_api: APIClient) -> None:
    """What an administrator deploys is approved by that: of others' code neither the name nor the
    digest that they say finds anything."""
    code = f"{WORKSPACE}/codes/mine/versions/1"
    assert api.get(code).status_code == 404
    body = {"properties": {"codeUri": "u", "properties": {"hash_sha256": "h1"}}}
    assert api.put(code, body, format="json").status_code == 404  # nothing was sent
    address = "/azureml/blobs/w/store/code-mine-1"
    assert put(api, f"{address}/src/score.py").status_code == 201
    assert api.get(code).status_code == 404  # it is none yet
    assert api.put(code, body, format="json").json()["id"] == code
    found = f"{WORKSPACE}/codes/other/versions?hashVersion=1&hash="
    assert [row["id"] for row in api.get(f"{found}h1").json()["value"]] == [code]
    assert api.get(f"{found}h2").json()["value"] == []
    assert admin_api.get(f"{found}h1").json()["value"] == []
    assert admin_api.get(f"{WORKSPACE}/codes/mine/versions").json()["value"] == []
    assert admin_api.get(code).status_code == 404
    assert api.get(code).json()["properties"]["codeUri"] == "u"
    assert not Model.objects.exists()


def test_of_code_the_last_folders_are_kept(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MOST_CODE", 2)
    for number in range(3):
        put(api, f"/azureml/blobs/w/store/code-c{number}-1/src/score.py")
        body = {"properties": {"codeUri": "u"}}
        answer = api.put(f"{WORKSPACE}/codes/c{number}/versions/1", body, format="json")
        assert answer.status_code == 200
    there = [api.get(f"{WORKSPACE}/codes/c{n}/versions/1").status_code for n in range(3)]
    assert there == [404, 200, 200]


def test_files_that_a_model_was_put_together_of_go_soon(admin_api: APIClient) -> None:
    send(admin_api, "net/model.pkl")
    model_put(admin_api, modelType="custom_model")
    sent = SentFolder.objects.get(place="LocalUpload/abc").upload
    assert sent.expires_at < timezone.now() + timedelta(hours=2)
    assert admin_api.head(f"{SENT}/abc/net/model.pkl").status_code == 200


def test_long_lists_come_in_pages(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "MOST_LISTED", 2)
    for name in "abcde":
        Model.objects.create(name=name)
    path, seen = f"{WORKSPACE}/models?api-version=x", []
    while path:
        answer = api.get(path).json()
        seen += [row["name"] for row in answer["value"]]
        path = (answer["nextLink"] or "").removeprefix("https://testserver")
    assert seen == list("abcde")
    one = api.get(f"{WORKSPACE}/models?$top=1").json()
    assert (len(one["value"]), one["nextLink"]) == (1, None)
    assert api.get(f"{WORKSPACE}/models?$skip=x").status_code == 400


def test_without_https_the_datastore_says_why_not(api: APIClient, settings: Settings) -> None:
    store = f"{WORKSPACE}/datastores/workspaceblobstore"
    told = api.get(store).json()["properties"]
    assert told["accountName"] == "testserver/azureml/blobs/w/store"
    assert code_of(api.get(f"{WORKSPACE}/datastores/other")) == (404, "ResourceNotFound")
    settings.SHOAL_PUBLIC_URL = "http://testserver"
    assert code_of(api.get(store)) == (400, "HttpsNeeded")


@pytest.mark.parametrize("names", [("net/a", "net/a/b"), ("net/A.onnx", "net/a.onnx")])
def test_paths_that_no_folder_can_hold_together_are_refused(
    api: APIClient, names: tuple[str, str]
) -> None:
    send(api, *names)
    assert code_of(model_put(api)) == (400, "ArchiveUnsafe")


def test_what_waits_for_ingest_takes_no_more(api: APIClient) -> None:
    send(api)
    model_put(api)
    first = Upload.objects.get()
    assert first.state == Upload.State.READY
    send(api, "net/2/model.onnx")  # begins anew, the model keeps what it has
    assert Upload.objects.count() == 2
    assert files() == {"net/1/model.onnx"}
    assert not first.announced.filter(path="net/2/model.onnx").exists()
