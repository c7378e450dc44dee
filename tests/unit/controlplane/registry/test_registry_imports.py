"""Imports: from an address to a version that tells where it came from, or an end with a cause."""

import hashlib
import io
import json
import logging
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core import serializers
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import Project
from controlplane.core.models import Event
from controlplane.registry.models import ModelVersion, Upload
from controlplane.registry.services import fetching, imports, ingest, resume, uploads
from controlplane.registry.services.ingest import STALE
from tests.support.file_server import FileServer, file_server, headed, redirect

SECRET = "s3cr3t"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def server(settings: Settings) -> Iterator[FileServer]:
    settings.SHOAL_IMPORT_NETWORKS = ("127.0.0.1/32",)
    with file_server() as found:
        yield found


def started(api: APIClient, source: str, **more: str) -> Upload:
    answer = api.post("/api/v1/imports", {"address": source, **more}, format="json")
    assert answer.status_code == 202, answer.content
    body = answer.json()
    assert (body["state"], body["size"], body["offset"]) == ("fetching", 0, 0)
    assert answer["Location"] == f"/api/v1/uploads/{body['id']}"
    return Upload.objects.get(pk=body["id"])


def imported(api: APIClient, source: str) -> dict[str, Any]:
    upload = started(api, source)
    ingest.ingest_run(upload_id=upload.pk)
    found: dict[str, Any] = api.get(f"/api/v1/uploads/{upload.pk}").json()
    return found


def failed(api: APIClient, source: str, stores: Path) -> dict[str, Any]:
    found = imported(api, source)
    assert found["state"] == "failed", found
    assert [step["status"] for step in found["steps"]] == ["failed"] + ["pending"] * 3
    assert list((stores / "uploads").glob("*")) == []
    error: dict[str, Any] = found["error"]
    return error


def test_a_file_becomes_a_model_that_tells_where_it_is_from(
    api: APIClient, server: FileServer, stores: Path
) -> None:
    server.routes["/digits.onnx"] = headed({"ETag": 'W/"v1"', "Content-Length": "7"}, b"a model")
    found = imported(api, f"{server.url}/digits.onnx?sig={SECRET}")
    assert found["state"] == "ready", found["error"]
    assert (found["filename"], found["size"], found["offset"]) == ("digits.onnx", 7, 7)
    assert found["sha256"] == hashlib.sha256(b"a model").hexdigest()
    assert [step["name"] for step in found["steps"]] == ["fetch", "verify", "unpack", "inspect"]
    assert [step["status"] for step in found["steps"]] == ["succeeded"] * 4
    assert found["steps"][0]["detail"] == f"7 bytes from {server.url}/digits.onnx"
    assert list((stores / "uploads").glob("*")) == []
    made = api.post(
        "/api/v1/models", {"name": "digits", "upload_id": found["id"]}, format="json"
    ).json()
    assert made["lineage"] == found["lineage"]
    lineage = api.get("/api/v1/models/digits/versions/1").json()["lineage"]
    assert lineage.pop("at")
    assert lineage == {
        "kind": "url", "address": f"{server.url}/digits.onnx", "revision": "", "commit": "",
        "etag": "v1", "repository": "", "run": "", "experiment": "", "dataset": "", "by": "dora",
        "run_url": "", "stated": [], "stated_by": "", "stated_at": None,
    }  # fmt: skip


def test_what_may_be_a_secret_is_kept_sealed_and_then_forgotten(
    api: APIClient, server: FileServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.routes["/digits.onnx"] = redirect(f"/there?again={SECRET}")
    server.routes["/there"] = headed({"Content-Length": "0"}, status=500)
    upload = started(api, f"{server.url}/digits.onnx?sig={SECRET}#{SECRET}")
    assert upload.sealed_source
    told = serializers.serialize("json", [*Upload.objects.all(), *Event.objects.all()])
    ingest.ingest_run(upload_id=upload.pk)
    assert server.asked[0][0] == f"/digits.onnx?sig={SECRET}"
    upload.refresh_from_db()
    assert upload.state == "failed"
    told += serializers.serialize("json", [*Upload.objects.all(), *Event.objects.all()])
    told += str(api.get(f"/api/v1/uploads/{upload.pk}").json())
    told += "\n".join(r.getMessage() for r in caplog.records if not r.name.startswith("httpcore"))
    assert SECRET not in told
    assert upload.sealed_source == ""


def test_credentials_in_an_address_are_refused_and_kept_nowhere(
    api: APIClient, caplog: pytest.LogCaptureFixture
) -> None:
    body = {"address": f"https://me:{SECRET}@host.test/m.onnx"}
    answer = api.post("/api/v1/imports", body, format="json")
    assert (answer.status_code, answer.json()["field"]) == (400, "address")
    assert SECRET not in answer.content.decode() + caplog.text
    assert not Upload.objects.exists()
    assert not Event.objects.filter(verb="upload.started").exists()


def test_an_archive_is_unpacked_as_one_that_was_sent(api: APIClient, server: FileServer) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("repo/a/1/model.onnx", b"a")
    server.routes["/download"] = redirect("/files/repo.zip?x=1")
    server.routes["/files/repo.zip"] = buffer.getvalue()
    found = imported(api, f"{server.url}/download")
    assert (found["state"], found["filename"]) == ("ready", "repo.zip"), found["error"]
    assert [entry["path"] for entry in found["manifest"]] == ["a/1/model.onnx"]


def test_a_bomb_is_refused_as_one_that_was_sent(api: APIClient, server: FileServer) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/1/model.onnx", bytes(2**25))
    server.routes["/bomb.zip"] = buffer.getvalue()
    found = imported(api, f"{server.url}/bomb.zip")
    assert (found["state"], found["error"]["code"]) == ("failed", "ArchiveBomb")


def test_files_of_a_repository_become_a_list_of_files(
    api: APIClient, server: FileServer, settings: Settings
) -> None:
    settings.SHOAL_HUB_URL, settings.SHOAL_IMPORT_NETWORKS = server.url, ()
    graph, data = b"a graph", b"its weights"
    server.routes["/api/models/acme/digits/revision/main"] = json.dumps({
        "sha": COMMIT, "cardData": {"datasets": ["mnist"]},
        "siblings": [
            {"rfilename": "onnx/model.onnx", "size": 7,
             "lfs": {"sha256": hashlib.sha256(graph).hexdigest()}},
            {"rfilename": "onnx/model.onnx_data"},
            {"rfilename": "README.md", "size": 1},
        ],
    }).encode()  # fmt: skip
    server.routes[f"/acme/digits/resolve/{COMMIT}/onnx/model.onnx"] = graph
    server.routes[f"/acme/digits/resolve/{COMMIT}/onnx/model.onnx_data"] = data
    found = imported(api, "hf://acme/digits")
    assert found["state"] == "ready", found["error"]
    assert {entry["path"]: entry["size"] for entry in found["manifest"]} == {
        "digits/1/model.onnx": 7, "digits/1/model.onnx_data": 11,
    }  # fmt: skip
    assert (found["size"], found["offset"]) == (18, 18)
    lineage = found["lineage"]
    assert (lineage["commit"], lineage["dataset"]) == (COMMIT, "mnist")
    assert lineage["address"] == "hf://acme/digits"
    server.routes[f"/acme/digits/resolve/{COMMIT}/onnx/model.onnx"] = b"another"
    assert imported(api, "hf://acme/digits")["error"]["code"] == "ChecksumMismatch"


@pytest.mark.parametrize(
    ("answering", "code"),
    [
        (redirect("http://169.254.169.254/latest/meta-data/"), "ImportAddressRefused"),
        (redirect("file:///etc/passwd"), "ImportAddressRefused"),
        (headed({"Content-Length": str(10 * 2**30)}, b"x"), "UploadTooLarge"),
        (headed({"Content-Length": "100"}, b"x"), "ImportUnreachable"),
        (headed({"Content-Length": "0"}), "ImportNothingFound"),
        (headed({"Content-Encoding": "gzip"}, b"x"), "ImportFailed"),
        (headed({"Content-Length": "0"}, status=404), "ImportFailed"),
    ],
)
def test_what_a_server_does_ends_the_import_with_a_cause(
    api: APIClient, server: FileServer, settings: Settings, stores: Path,
    answering: Any, code: str,
) -> None:  # fmt: skip
    settings.SHOAL_MAX_UPLOAD_BYTES = 2**30
    server.routes["/m.onnx"] = answering
    error = failed(api, f"{server.url}/m.onnx", stores)
    assert error["code"] == code, error
    event = Event.objects.get(verb="upload.failed")
    assert event.data == {"code": code}


def endless(handler: Any) -> None:
    headed({"X": "y"})(handler)
    try:
        while True:
            handler.wfile.write(b"x" * 2**16)
    except OSError:
        handler.close_connection = True


@pytest.mark.parametrize("limit", ["upload", "quota", "project"])
def test_a_body_without_an_end_ends_at_the_limits_of_an_upload(
    api: APIClient, server: FileServer, settings: Settings, stores: Path, limit: str
) -> None:
    most = 2**21
    if limit == "upload":
        settings.SHOAL_MAX_UPLOAD_BYTES = most
    elif limit == "quota":
        settings.SHOAL_UPLOAD_QUOTA_BYTES = most
    else:
        Project.objects.filter(name="default").update(max_bytes=most)
    server.routes["/m.onnx"] = endless
    error = failed(api, f"{server.url}/m.onnx", stores)
    assert (
        error["code"]
        == {
            "upload": "UploadTooLarge",
            "quota": "UploadQuotaExceeded",
            "project": "ProjectQuotaExceeded",
        }[limit]
    )


def test_who_deletes_the_upload_ends_the_import(
    api: APIClient, server: FileServer, monkeypatch: pytest.MonkeyPatch, stores: Path
) -> None:
    monkeypatch.setattr(ingest, "BEAT_S", 0.0)
    upload = started(api, f"{server.url}/m.onnx")

    def deleted(handler: Any) -> None:
        uploads.upload_delete(upload_id=upload.pk, actor="dora")
        endless(handler)

    server.routes["/m.onnx"] = redirect("/next")
    seen: list[dict[str, Any]] = []
    plain = fetching._Arrivals.pieces

    def pieces(self: Any, answer: Any, most: int) -> Iterator[bytes]:
        for piece in plain(self, answer, most):
            if not seen and self.here > 2**20:
                seen.append(api.get(f"/api/v1/uploads/{upload.pk}").json())
                uploads.upload_delete(upload_id=upload.pk, actor="dora")
            yield piece

    monkeypatch.setattr(fetching._Arrivals, "pieces", pieces)
    server.routes["/next"] = endless
    ingest.ingest_run(upload_id=upload.pk)
    (progress,) = seen
    assert 0 < progress["offset"] <= progress["size"]
    assert progress["steps"][0]["status"] == "running"
    assert not Upload.objects.exists()
    assert list((stores / "uploads").glob("*")) == []


def test_nothing_can_be_sent_to_an_import(api: APIClient, server: FileServer) -> None:
    upload = started(api, f"{server.url}/m.onnx")
    answer = api.patch(
        f"/api/v1/uploads/{upload.pk}", b"x", content_type="application/offset+octet-stream",
        HTTP_UPLOAD_OFFSET="0",
    )  # fmt: skip
    assert (answer.status_code, answer.json()["code"]) == (409, "UploadStateConflict")
    api.post(f"/api/v1/uploads/{upload.pk}/complete", {}, format="json")
    upload.refresh_from_db()
    assert upload.state == "fetching"


def test_a_worker_that_died_is_told_and_nothing_of_it_is_used(
    api: APIClient, server: FileServer, later: Callable[[float], None]
) -> None:
    server.routes["/m.onnx"] = b"a model"
    upload = started(api, f"{server.url}/m.onnx")
    died = Upload.objects.filter(pk=upload.pk)
    died.update(claim="dead", attempts=1, size=2**40, offset=5)
    fetching.storage.part_path(upload.pk).parent.mkdir(parents=True, exist_ok=True)
    fetching.storage.part_path(upload.pk).write_bytes(b"a longer one than it is")
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert (upload.claim, upload.state) == ("dead", "fetching")  # its heartbeat is young
    later(STALE.total_seconds() + 1)
    assert resume.ingests_resume(now=timezone.now()) == 1
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert (upload.state, upload.size) == ("ready", 7)
    assert "begun again as a worker had died" in upload.steps[0]["detail"]


def test_an_ingest_taken_over_after_the_fetch_does_not_fetch_again(
    api: APIClient, server: FileServer, later: Callable[[float], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    server.routes["/m.onnx"] = b"a model"
    upload = started(api, f"{server.url}/m.onnx")

    def die(self: Any) -> str:
        raise ingest.Superseded

    with monkeypatch.context() as patch:
        patch.setattr(ingest.Ingest, "_verify", die)
        ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert upload.state == "verifying"
    later(STALE.total_seconds() + 1)
    ingest.ingest_run(upload_id=upload.pk)
    upload.refresh_from_db()
    assert (upload.state, len(server.asked)) == ("ready", 1)
    assert [step["status"] for step in upload.steps] == ["succeeded"] * 4


def test_imports_leave_room_for_uploads(
    api: APIClient, server: FileServer,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    server.routes["/m.onnx"] = b"a model"
    first, second = (started(api, f"{server.url}/m.onnx") for _ in range(2))
    Upload.objects.filter(pk=first.pk).update(claim="running")
    ingest.ingest_run(upload_id=second.pk)
    second.refresh_from_db()
    assert (second.state, second.claim, second.attempts) == ("fetching", "", 0)
    sent: list[str] = []
    monkeypatch.setattr(imports, "enqueue", lambda *_, upload_id, **__: sent.append(upload_id))
    Upload.objects.filter(pk=first.pk).update(claim="")
    ingest.ingest_run(upload_id=first.pk)
    assert set(sent) == {second.pk}
    sent.clear()
    failing = started(api, f"{server.url}/none.onnx")
    ingest.ingest_run(upload_id=failing.pk)
    assert sent == [second.pk]  # also after one that failed


def test_an_import_counts_as_an_unfinished_upload(api: APIClient, settings: Settings) -> None:
    settings.SHOAL_UPLOAD_OPEN_LIMIT = 1
    started(api, "https://host.test/m.onnx")
    body = {"address": "https://host.test/m.onnx"}
    answer = api.post("/api/v1/imports", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (409, "TooManyUploads")


def test_versions_that_were_sent_have_no_lineage(
    api: APIClient, ingested: Callable[[str, bytes], Upload]
) -> None:
    upload = ingested("m.onnx", b"a model")
    assert api.get(f"/api/v1/uploads/{upload.pk}").json()["lineage"] is None
    api.post("/api/v1/models", {"name": "m", "upload_id": upload.pk}, format="json")
    assert ModelVersion.objects.get().lineage == {}
    assert api.get("/api/v1/models/m/versions/1").json()["lineage"] is None


@pytest.mark.parametrize("answer", [{"run": {"data": []}}, {"run": {"inputs": {"a": 1}}}, {}])
def test_a_server_that_speaks_otherwise_is_told(
    api: APIClient, server: FileServer, settings: Settings, stores: Path, answer: dict[str, Any]
) -> None:
    settings.SHOAL_MLFLOW_URL = server.url
    server.routes["/api/2.0/mlflow/runs/get"] = json.dumps(answer).encode()
    server.routes["/api/2.0/mlflow/artifacts/list"] = json.dumps({"files": ["m.onnx"]}).encode()
    error = failed(api, "runs:/0a1b", stores)
    assert error["code"] in ("ImportFailed", "ImportNothingFound")
    assert error["hints"]


def test_an_artifact_of_a_run_becomes_a_model_with_its_lineage(
    api: APIClient, server: FileServer, settings: Settings
) -> None:
    settings.SHOAL_MLFLOW_URL, settings.SHOAL_MLFLOW_TOKEN = server.url, SECRET
    server.routes["/api/2.0/mlflow/runs/get"] = json.dumps({
        "run": {"data": {"tags": [{"key": "mlflow.source.git.commit", "value": COMMIT}]}}
    }).encode()  # fmt: skip
    server.routes["/api/2.0/mlflow/artifacts/list"] = json.dumps({
        "files": [{"path": "m.onnx", "is_dir": False, "file_size": 7}]
    }).encode()  # fmt: skip
    server.routes["/get-artifact"] = b"a model"
    found = imported(api, "runs:/0a1b")
    assert found["state"] == "ready", found["error"]
    assert (found["lineage"]["run"], found["lineage"]["commit"]) == ("0a1b", COMMIT)
    assert {headers["Authorization"] for _, headers in server.asked} == {f"Bearer {SECRET}"}
    assert SECRET not in str(found)
