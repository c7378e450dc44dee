"""Uploads over REST: by offset, resumable, and nothing lost when something goes wrong."""

import base64
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from rest_framework.response import Response
from rest_framework.test import APIClient

from controlplane.accounts.models import User
from controlplane.core.errors import DomainError
from controlplane.registry import storage
from controlplane.registry.models import Model, ModelVersion, Upload
from controlplane.registry.services import uploads
from controlplane.registry.stores import disk
from controlplane.registry.stores.disk import free_bytes
from controlplane.registry.types import MAX_CHUNK_BYTES

CONTENT = bytes(range(256)) * 40
RAW = "application/offset+octet-stream"


def create(api: APIClient, size: int = len(CONTENT), **more: str) -> str:
    answer = api.post(
        "/api/v1/uploads", {"filename": "m.onnx", "size": size, **more}, format="json"
    )
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


def send(api: APIClient, upload_id: str, offset: int, content: bytes, **headers: str) -> Response:
    return api.generic(
        "PATCH",
        f"/api/v1/uploads/{upload_id}",
        content,
        content_type=RAW,
        headers={"Upload-Offset": str(offset), **headers},
    )


def checksum(content: bytes) -> str:
    return "sha256 " + base64.b64encode(hashlib.sha256(content).digest()).decode()


def stored(upload_id: str) -> bytes:
    return storage.part_path(upload_id).read_bytes()


def test_a_file_arrives_in_chunks_and_is_handed_to_ingest(api: APIClient) -> None:
    upload_id = create(api)
    first = send(api, upload_id, 0, CONTENT[:5000], **{"Upload-Checksum": checksum(CONTENT[:5000])})
    assert first.status_code == 200, first.content
    assert first.json()["offset"] == 5000
    head = api.head(f"/api/v1/uploads/{upload_id}")
    assert (head["Upload-Offset"], head["Upload-Length"]) == ("5000", str(len(CONTENT)))
    assert send(api, upload_id, 5000, CONTENT[5000:]).json()["offset"] == len(CONTENT)
    assert stored(upload_id) == CONTENT
    done = api.post(f"/api/v1/uploads/{upload_id}/complete", {}, format="json")
    assert done.status_code == 202
    assert done.json()["state"] == "verifying"
    assert [step["status"] for step in done.json()["steps"]] == ["pending"] * 3
    again = api.post(f"/api/v1/uploads/{upload_id}/complete", {}, format="json")
    assert again.status_code == 202
    late = send(api, upload_id, len(CONTENT), b"")
    assert (late.status_code, late.json()["code"]) == (409, "UploadStateConflict")


@pytest.mark.parametrize("offset", [0, 1, 9000])
def test_a_wrong_offset_is_answered_with_the_true_one(api: APIClient, offset: int) -> None:
    upload_id = create(api)
    send(api, upload_id, 0, CONTENT[:5000])
    answer = send(api, upload_id, offset, b"wrong")
    assert answer.status_code == 409
    assert answer["Content-Type"] == "application/problem+json"
    assert (answer.json()["code"], answer.json()["offset"]) == ("UploadOffsetConflict", 5000)
    assert stored(upload_id) == CONTENT[:5000]


def test_a_damaged_chunk_is_thrown_away(api: APIClient) -> None:
    upload_id = create(api)
    answer = send(api, upload_id, 0, b"damaged", **{"Upload-Checksum": checksum(b"sent")})
    assert (answer.status_code, answer.json()["code"]) == (400, "ChecksumMismatch")
    assert api.get(f"/api/v1/uploads/{upload_id}").json()["offset"] == 0
    assert send(api, upload_id, 0, CONTENT).json()["offset"] == len(CONTENT)


@pytest.mark.parametrize("value", ["md5 abc", "sha256 !!", "sha256 YWJj", "nonsense"])
def test_a_checksum_that_cannot_be_read_is_refused(api: APIClient, value: str) -> None:
    answer = send(api, create(api), 0, b"x", **{"Upload-Checksum": value})
    assert (answer.status_code, answer.json()["code"]) == (400, "BadArgument")


def test_bytes_beyond_the_announced_size_are_refused(api: APIClient) -> None:
    upload_id = create(api, size=10)
    answer = send(api, upload_id, 0, b"x" * 11)
    assert (answer.status_code, answer.json()["code"]) == (413, "UploadTooLarge")
    assert stored(upload_id) == b""


def test_a_chunk_beyond_16_mib_is_refused(api: APIClient) -> None:
    upload_id = create(api, size=MAX_CHUNK_BYTES * 2)
    answer = send(api, upload_id, 0, bytes(MAX_CHUNK_BYTES + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "UploadTooLarge")
    assert api.get(f"/api/v1/uploads/{upload_id}").json()["offset"] == 0


def test_completing_a_truncated_upload_says_where_to_go_on(api: APIClient) -> None:
    upload_id = create(api)
    send(api, upload_id, 0, CONTENT[:100])
    answer = api.post(f"/api/v1/uploads/{upload_id}/complete", {}, format="json")
    assert answer.status_code == 409
    assert (answer.json()["code"], answer.json()["offset"]) == ("UploadIncomplete", 100)
    assert send(api, upload_id, 100, CONTENT[100:]).status_code == 200


def test_a_checksum_that_contradicts_the_announced_one_is_refused(api: APIClient) -> None:
    upload_id = create(api, sha256="a" * 64)
    send(api, upload_id, 0, CONTENT)
    body = {"sha256": "b" * 64}
    answer = api.post(f"/api/v1/uploads/{upload_id}/complete", body, format="json")
    assert (answer.status_code, answer.json()["code"]) == (400, "ChecksumMismatch")


def test_a_full_disk_is_said_and_loses_nothing(api: APIClient) -> None:
    upload_id = create(api)
    send(api, upload_id, 0, CONTENT[:5000])
    part = storage.part_path(upload_id)
    kept = part.rename(part.with_suffix(".kept"))
    part.symlink_to("/dev/full")  # the kernel's own full disk
    answer = send(api, upload_id, 0, CONTENT)
    # /dev/full has no length, so the row falls back to what is really there: nothing
    assert (answer.status_code, answer.json()["code"]) == (507, "DiskFull")
    part.unlink()
    kept.rename(part)
    assert stored(upload_id) == CONTENT[:5000]


def test_a_file_larger_than_the_disk_is_refused_at_once(api: APIClient, stores: Path) -> None:
    answer = api.post("/api/v1/uploads", {"filename": "m.onnx", "size": 150 * 2**30}, format="json")
    if free_bytes(stores) > 150 * 2**30:
        pytest.skip("this machine has room for it")
    assert (answer.status_code, answer.json()["code"]) == (507, "DiskFull")
    assert answer.json()["free_bytes"] < 150 * 2**30


def disk_of(monkeypatch: pytest.MonkeyPatch, settings: Settings, free: int, reserve: int) -> None:
    monkeypatch.setattr(disk, "free_bytes", lambda where: free)
    settings.SHOAL_UPLOAD_RESERVE_BYTES = reserve


def announce(api: APIClient, size: int) -> Response:
    return api.post("/api/v1/uploads", {"filename": "m.onnx", "size": size}, format="json")


def test_what_is_promised_to_others_and_the_databases_reserve_are_not_given_away(
    api: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    disk_of(monkeypatch, settings, free=1000, reserve=300)
    first = create(api, size=400)
    Upload.objects.filter(pk=first).update(offset=100)
    refused = announce(api, 401)
    assert (refused.status_code, refused.json()["code"]) == (507, "DiskFull")
    assert refused.json()["detail"].startswith("401 bytes are to come; there is room for 400")
    told = [refused.json()[name] for name in ("free_bytes", "reserve_bytes", "promised_bytes")]
    assert told == [1000, 300, 300]
    assert announce(api, 400).status_code == 201


def test_an_upload_that_nobody_goes_on_with_keeps_no_room_from_others(
    api: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    disk_of(monkeypatch, settings, free=1000, reserve=0)
    idle = create(api, size=900)
    assert announce(api, 200).status_code == 507
    Upload.objects.filter(pk=idle).update(updated_at=timezone.now() - timedelta(hours=2))
    assert announce(api, 200).status_code == 201


def test_chunks_leave_the_databases_reserve_alone(
    api: APIClient, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    upload_id = create(api)
    disk_of(monkeypatch, settings, free=MAX_CHUNK_BYTES + 299, reserve=300)
    refused = send(api, upload_id, 0, CONTENT)
    assert (refused.status_code, refused.json()["code"]) == (507, "DiskFull")
    disk_of(monkeypatch, settings, free=MAX_CHUNK_BYTES + 300, reserve=300)
    assert send(api, upload_id, 0, CONTENT).status_code == 200


@pytest.mark.parametrize(
    ("total", "reserve"), [(2**30, 2**30), (40 * 2**30, 2 * 2**30), (2**40, 5 * 2**30)]
)
def test_the_reserve_goes_by_the_disk(
    monkeypatch: pytest.MonkeyPatch, settings: Settings, stores: Path, total: int, reserve: int
) -> None:
    settings.SHOAL_UPLOAD_RESERVE_BYTES = None
    usage = SimpleNamespace(total=total)
    monkeypatch.setattr("controlplane.registry.stores.disk.shutil.disk_usage", lambda _: usage)
    assert disk.reserve_bytes(stores / "not" / "yet") == reserve


def test_one_person_has_a_quota_of_unregistered_bytes(api: APIClient, settings: Settings) -> None:
    settings.SHOAL_UPLOAD_QUOTA_BYTES = 1000
    first = create(api, size=700)
    refused = announce(api, 301)
    assert (refused.status_code, refused.json()["code"]) == (413, "UploadQuotaExceeded")
    assert "hold 700; 1000 are allowed" in refused.json()["detail"]
    assert (refused.json()["held_bytes"], refused.json()["quota_bytes"]) == (700, 1000)
    assert announce(api, 300).status_code == 201
    # one that is ready counts until a version came from it
    Upload.objects.filter(pk=first).update(state=Upload.State.READY, digest="a" * 64)
    assert announce(api, 1).status_code == 413
    model = Model.objects.create(name="m")
    ModelVersion.objects.create(model=model, version=1, digest="a" * 64, size=700, file_count=1)
    assert announce(api, 700).status_code == 201
    assert announce(api, 1).status_code == 413
    settings.SHOAL_UPLOAD_QUOTA_BYTES = 0
    assert announce(api, 1).status_code == 201


def test_the_quota_of_one_is_not_that_of_another(
    api: APIClient, settings: Settings, admin_api: APIClient
) -> None:
    settings.SHOAL_UPLOAD_QUOTA_BYTES = 1000
    create(api, size=1000)
    assert announce(api, 1).status_code == 413
    assert announce(admin_api, 1000).status_code == 201


def test_one_person_has_so_many_unfinished_uploads(api: APIClient, settings: Settings) -> None:
    settings.SHOAL_UPLOAD_OPEN_LIMIT = 2
    first = create(api)
    create(api)
    refused = announce(api, 1)
    assert (refused.status_code, refused.json()["code"]) == (409, "TooManyUploads")
    assert refused.json()["detail"] == "You have 2 unfinished uploads; 2 are allowed."
    assert api.delete(f"/api/v1/uploads/{first}").status_code == 204
    assert announce(api, 1).status_code == 201


@pytest.mark.django_db(transaction=True)
def test_uploads_that_are_announced_at_once_do_not_all_get_the_same_room(
    deployer: User, stores: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    disk_of(monkeypatch, settings, free=1000, reserve=0)

    def one(_: int) -> bool:
        try:
            uploads.upload_create(filename="m.onnx", size=300, sha256="", user=deployer)
        except DomainError as error:
            assert error.code == "DiskFull", error
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(one, range(16))) == 3


def test_a_file_over_the_limit_is_refused(api: APIClient, settings: Settings) -> None:
    settings.SHOAL_MAX_UPLOAD_BYTES = 100
    answer = api.post("/api/v1/uploads", {"filename": "m.onnx", "size": 101}, format="json")
    assert (answer.status_code, answer.json()["code"]) == (413, "UploadTooLarge")
    assert answer.json()["field"] == "size"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("../../etc/passwd", "passwd"), ("C:\\models\\m.onnx", "m.onnx"), ("a b.onnx", "a b.onnx")],
)
def test_only_the_plain_name_of_a_file_is_kept(api: APIClient, sent: str, kept: str) -> None:
    answer = api.post("/api/v1/uploads", {"filename": sent, "size": 1}, format="json")
    assert answer.json()["filename"] == kept


@pytest.mark.parametrize("filename", ["..", "a/..", "x\x07y", "/", "\u00e9" * 126 + ".onnx"])
def test_a_name_that_is_none_is_refused(api: APIClient, filename: str) -> None:
    answer = api.post("/api/v1/uploads", {"filename": filename, "size": 1}, format="json")
    assert answer.status_code == 400
    assert answer.json()["field"] == "filename"


def test_bytes_lost_in_a_power_cut_are_asked_for_again(api: APIClient) -> None:
    upload_id = create(api)
    send(api, upload_id, 0, CONTENT[:5000])
    storage.part_path(upload_id).write_bytes(CONTENT[:3000])
    answer = send(api, upload_id, 5000, CONTENT[5000:])
    assert (answer.status_code, answer.json()["offset"]) == (409, 3000)
    assert send(api, upload_id, 3000, CONTENT[3000:]).status_code == 200
    assert stored(upload_id) == CONTENT


def test_a_deleted_upload_leaves_no_file(
    api: APIClient, django_capture_on_commit_callbacks: Callable[..., object]
) -> None:
    upload_id = create(api)
    send(api, upload_id, 0, CONTENT)
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        assert api.delete(f"/api/v1/uploads/{upload_id}").status_code == 204
    assert not storage.part_path(upload_id).exists()
    gone = send(api, upload_id, 0, CONTENT)
    assert (gone.status_code, gone.json()["code"]) == (404, "UploadNotFound")
    assert not storage.part_path(upload_id).exists()


def test_expired_uploads_and_orphaned_files_are_dropped(
    deployer: User,
    append: Callable[[Upload, int, bytes], Upload],
    django_capture_on_commit_callbacks: Callable[..., object],
) -> None:
    old = uploads.upload_create(filename="old.onnx", size=3, sha256="", user=deployer)
    append(old, 0, b"old")
    young = uploads.upload_create(filename="young.onnx", size=5, sha256="", user=deployer)
    append(young, 0, b"young")
    Upload.objects.filter(pk=old.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    orphan = storage.work_path("nobody", "claim")
    orphan.mkdir()
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[attr-defined]
        assert uploads.uploads_expire(now=timezone.now()) == 1
    assert not storage.part_path(old.pk).exists()
    assert storage.part_path(young.pk).read_bytes() == b"young"
    assert not orphan.exists()


@pytest.mark.django_db(transaction=True)
def test_of_many_writers_at_one_offset_exactly_one_wins(
    deployer: User, append: Callable[[Upload, int, bytes], Upload]
) -> None:
    upload = uploads.upload_create(filename="m.onnx", size=2**20, sha256="", user=deployer)

    def write(letter: bytes) -> bytes | None:
        try:
            append(upload, 0, letter * 2**20)
        except DomainError as error:
            assert error.code in {"UploadOffsetConflict", "UploadStateConflict"}
            return None
        finally:
            connection.close()
        return letter

    letters = [b"a", b"b", b"c", b"d", b"e", b"f"]
    with ThreadPoolExecutor(6) as pool:
        winners = [letter for letter in pool.map(write, letters) if letter]
    assert len(winners) == 1
    assert stored(upload.pk) == winners[0] * 2**20
    upload.refresh_from_db()
    assert upload.offset == 2**20


def test_a_viewer_may_look_but_not_upload(api: APIClient, viewer_api: APIClient) -> None:
    upload_id = create(api)
    assert viewer_api.get(f"/api/v1/uploads/{upload_id}").status_code == 200
    refused = send(viewer_api, upload_id, 0, CONTENT)
    assert (refused.status_code, refused.json()["code"]) == (403, "Forbidden")


@pytest.mark.parametrize(
    ("headers", "field"),
    [
        ({"Upload-Offset": "-1"}, "Upload-Offset"),
        ({"Upload-Offset": "abc"}, "Upload-Offset"),
        ({"Upload-Offset": ""}, "Upload-Offset"),
        ({"Upload-Offset": "9" * 5000}, "Upload-Offset"),
        ({"Upload-Checksum": "md5 AAAA"}, "Upload-Checksum"),
        ({"Upload-Checksum": "sha256 AAAA"}, "Upload-Checksum"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_header_that_says_nothing_is_named(
    api: APIClient, headers: dict[str, str], field: str
) -> None:
    answer = send(api, create(api), 0, b"x", **headers)
    told = answer.json()
    assert (answer.status_code, told["code"], told["field"]) == (400, "BadArgument", field)
    assert ", expected " in told["detail"]
    assert len(told["detail"]) < 250
    assert told["hints"]
