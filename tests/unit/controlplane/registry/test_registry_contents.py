"""Aliases, downloads, usage, revisions of configurations, and what becomes of unused blobs."""

import hashlib
import io
import zipfile
from collections.abc import Callable
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.accounts.services import token_create
from controlplane.core.models import Event
from controlplane.deployments.models import Endpoint
from controlplane.registry.models import Blob, ModelVersion, Upload
from controlplane.registry.selectors import version_get
from controlplane.registry.stores import blob_store
from tests.support.deployment_rows import deployment_add
from tests.support.registered_models import CONFIG, model_register

pytestmark = pytest.mark.django_db
V1 = "/api/v1/models/digits"


def test_an_alias_names_a_version_wherever_one_is_named(api: APIClient) -> None:
    model_register(content=b"one")
    model_register(content=b"two")
    assert api.put(f"{V1}/aliases/champion", {"version": "1"}, format="json").status_code == 200
    assert api.get(f"{V1}/versions/@champion").json()["version"] == 1
    assert api.get(f"{V1}/versions/champion").json()["aliases"] == ["champion"]
    assert api.get(f"{V1}/versions/@latest").json()["version"] == 2
    api.put(f"{V1}/aliases/@champion", {"version": "@latest"}, format="json")
    assert api.get(V1).json()["aliases"] == {"champion": 2}
    event = Event.objects.filter(verb="model.alias_set").latest("seq")
    assert event.data == {"alias": "champion", "version": 2, "before": 1}
    answer = api.get(f"{V1}/versions/@challenger")
    assert answer.status_code == 404
    assert answer.json()["hints"] == ["It has 2, 1, @champion."]


@pytest.mark.parametrize(
    ("alias", "version", "code"),
    [
        ("latest", "1", "AliasInvalid"),
        ("7", "1", "AliasInvalid"),
        ("a b", "1", "AliasInvalid"),
        ("champion", "9", "ModelNotFound"),
    ],
)
def test_what_cannot_be_an_alias(api: APIClient, alias: str, version: str, code: str) -> None:
    model_register()
    answer = api.put(f"{V1}/aliases/{alias}", {"version": version}, format="json")
    assert answer.json()["code"] == code


def test_a_version_that_an_alias_names_is_deleted_only_on_purpose(api: APIClient) -> None:
    model_register(content=b"one")
    model_register(content=b"two")
    api.put(f"{V1}/aliases/champion", {"version": "2"}, format="json")
    answer = api.delete(f"{V1}/versions/2")
    assert (answer.status_code, answer.json()["aliases"]) == (409, ["champion"])
    assert api.delete(f"{V1}/versions/@champion?force=true").status_code == 204
    shown = api.get(V1).json()
    assert (shown["latest"]["version"], shown["latest_version"], shown["aliases"]) == (1, 2, {})
    assert api.delete(f"{V1}/aliases/champion").status_code == 404


def test_a_version_in_use_stays(api: APIClient) -> None:
    version = model_register()
    endpoint = Endpoint.objects.create(name="shop", created_by="dora")
    deployment_add(endpoint, version)
    answer = api.delete(f"{V1}/versions/1")
    assert (answer.status_code, answer.json()["deployments"]) == (409, ["shop/blue"])
    (item,) = api.get(f"{V1}/versions/1/usage").json()["items"]
    assert (item["endpoint"], item["deployment"], item["current"]) == ("shop", "blue", True)


def test_words_and_tags_of_a_model_and_finding_it_by_them(api: APIClient) -> None:
    model_register()
    model_register("other")
    patch = {"description": "ten of them", "tags": {"team": "vision", "a__b": "x"}}
    assert api.patch(V1, patch, format="json").json()["tags"]["team"] == "vision"
    names = [m["name"] for m in api.get("/api/v1/models?tag.team=vision").json()["items"]]
    assert names == ["digits"]
    assert api.get("/api/v1/models?tag.team=audio").json()["items"] == []
    assert len(api.get("/api/v1/models?tag.a__b=x").json()["items"]) == 1
    assert len(api.get("/api/v1/models?type=triton_model").json()["items"]) == 2
    assert api.get("/api/v1/models?type=other").json()["items"] == []


# --- revisions -----------------------------------------------------------------------------------

TEXT = '# mine\nname: "digits"  # keep this\n\n\nmax_batch_size: 4\n'


@pytest.fixture
def stubbed(inspection: None) -> None:
    """Configurations are assessed by the stand-in: only what says `invalid` is wrong."""


def test_an_edit_is_a_revision_with_its_text_to_the_letter(api: APIClient, stubbed: None) -> None:
    model_register()
    path = f"{V1}/versions/1/config-revisions"
    body = {"configs": {"digits": TEXT}, "message": "smaller batches"}
    answer = api.post(path, body, format="json")
    assert answer.status_code == 201, answer.content
    assert answer.json()["configs"] == {"digits": TEXT}
    assert (answer.json()["number"], answer.json()["base"]) == (1, 0)
    again = api.post(path, body, format="json").json()
    assert again["number"] == 1  # the same text is the same revision
    config = api.get(f"{V1}/versions/1/repo-models/digits/config?revision=1").json()
    assert (config["text"], config["source"]) == (TEXT, "revision")
    file = api.get(f"{V1}/versions/1/repo-models/digits/config").json()
    assert (file["text"], file["source"]) == (CONFIG, "file")
    back = api.post(path, {"configs": {"digits": None}}, format="json").json()
    assert (back["number"], back["base"], back["configs"]) == (2, 1, {})
    diff = api.get(f"{path}/1/diff").json()
    assert diff["old"] == 0
    assert "+max_batch_size: 4" in diff["diffs"]["digits"]
    assert api.get(f"{path}/2/diff?against=0").json()["diffs"] == {}
    assert [row["number"] for row in api.get(path).json()["items"]] == [2, 1]
    assert api.get(f"{path}/7").json()["code"] == "ConfigRevisionNotFound"


def test_an_edit_that_is_wrong_is_refused_with_its_problems(api: APIClient, stubbed: None) -> None:
    model_register()
    path = f"{V1}/versions/1/config-revisions"
    answer = api.post(path, {"configs": {"digits": "invalid"}}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "ConfigInvalid")
    assert answer.json()["problems"][0]["message"] == "Must be 0 or more."
    answer = api.post(path, {"configs": {"other": TEXT}}, format="json")
    assert answer.json()["code"] == "ModelNotFound"


def test_who_saves_over_what_they_have_not_seen_is_told_by_whom(
    api: APIClient, admin_api: APIClient, stubbed: None
) -> None:
    model_register()
    path = f"{V1}/versions/1/config-revisions"
    seen = api.get(path)["ETag"]
    assert api.get(f"{V1}/versions/1").json()["config_etag"] == seen
    eight = {"configs": {"digits": TEXT.replace("4", "8")}, "message": "eight", "base": 0}
    saved = admin_api.post(path, eight, format="json", headers={"If-Match": seen})
    assert saved.status_code == 201, saved.content
    mine = {"configs": {"digits": TEXT.replace("4", "16")}, "base": 0}
    answer = api.post(path, mine, format="json", headers={"If-Match": seen})
    told = answer.json()
    assert (answer.status_code, told["code"]) == (412, "PreconditionFailed")
    assert told["current"] == saved.json()
    assert told["changed"]["by"] == saved.json()["author"]
    assert told["changed"]["at"][:23] == saved.json()["created_at"][:23]
    assert "Configuration revision 1 (eight) was saved, by" in told["detail"]
    assert [row["number"] for row in api.get(path).json()["items"]] == [1]
    again = api.post(path, {**mine, "base": 1}, headers={"If-Match": told["etag"]}, format="json")
    assert (again.status_code, again.json()["number"]) == (201, 2)
    assert again["ETag"] == api.get(path)["ETag"] != told["etag"]


# --- bytes ---------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
async def test_a_version_as_a_zip_and_its_files(deployer: User) -> None:
    _, clear = await sync_to_async(token_create)(user=deployer, name="async", actor="dora")
    own = {"Authorization": f"Bearer {clear}"}
    async_api = AsyncClient()
    version = await sync_to_async(model_register)()
    answer = await async_api.get(f"{V1}/versions/1/archive.zip", headers=own)
    assert answer["Content-Disposition"] == 'attachment; filename="digits-1.zip"'
    content = b"".join([piece async for piece in answer.streaming_content])
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        found = {name: archive.read(name) for name in archive.namelist()}
    assert found == {"digits/1/model.onnx": b"weights " * 8, "digits/config.pbtxt": CONFIG.encode()}
    listed = (await async_api.get(f"{V1}/versions/1/files?limit=1", headers=own)).json()
    assert listed["digest"] == version.digest
    assert [entry["path"] for entry in listed["items"]] == ["digits/1/model.onnx"]
    rest = f"{V1}/versions/1/files?cursor={listed['next_cursor']}"
    others = (await async_api.get(rest, headers=own)).json()
    assert [entry["path"] for entry in others["items"]] == ["digits/config.pbtxt"]
    assert others["next_cursor"] is None
    part = await async_api.get(
        f"{V1}/versions/1/files/digits/1/model.onnx", headers={**own, "Range": "bytes=8-15"}
    )
    assert part.status_code == 206
    assert b"".join([piece async for piece in part.streaming_content]) == b"weights "
    assert part["ETag"] == f'"{hashlib.sha256(b"weights " * 8).hexdigest()}"'
    url = f"{V1}/versions/1/files/digits/1/model.onnx"
    for header, status in ((part["ETag"], 304), (f'"x", W/{part["ETag"]}', 304), ('"x"', 206)):
        again = await async_api.get(
            url, headers={**own, "If-None-Match": header, "Range": "bytes=8-15"}
        )
        assert (again.status_code, again["ETag"]) == (status, part["ETag"])
    missing = await async_api.get(f"{V1}/versions/1/files/../../etc/passwd", headers=own)
    assert missing.status_code == 404
    assert await Event.objects.filter(verb="model.downloaded").acount() == 1


def test_blobs_that_nothing_names_go_after_a_day(
    admin_api: APIClient, api: APIClient, ingested: Callable[..., Upload]
) -> None:
    upload = ingested("digits.onnx", b"a model")
    (entry,) = [e for e in upload.manifest() if e["path"].endswith("model.onnx")]
    upload.delete()
    used = api.get("/api/v1/storage").json()
    assert (used["unused_blobs"], used["unused_bytes"]) == (1, 7)
    assert api.post("/api/v1/storage/collect").status_code == 403
    assert admin_api.post("/api/v1/storage/collect").json() == {"removed": 0}
    Blob.objects.update(seen_at=timezone.now() - timedelta(days=2))
    assert admin_api.post("/api/v1/storage/collect").json() == {"removed": 1}
    assert blob_store().size(entry["sha256"]) is None
    assert Event.objects.filter(verb="storage.collected", actor="ada").exists()


def test_a_number_that_is_none(api: APIClient) -> None:
    model_register()
    for word in ("٣", "99999999999999999999", "-1", "@", "1.0"):
        assert api.get(f"{V1}/versions/{word}").status_code == 404
    assert version_get("digits", 1).version == ModelVersion.objects.get().version
