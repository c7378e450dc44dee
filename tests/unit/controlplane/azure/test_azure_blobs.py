"""Files that clients send: kept whole or not at all, within bounds, by who may, where they may."""

import base64
import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from controlplane.accounts.models import ApiToken, User
from controlplane.accounts.services import token_create
from controlplane.azure.grants import may_send
from controlplane.azure.models import SentFolder
from controlplane.registry.models import AnnouncedFile, Upload
from controlplane.registry.services import uploads
from tests.support.azure_paths import DATASTORE, SENT, STORE, WORKSPACE
from tests.support.people import make_user

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
FILE = f"{SENT}/abc/net/1/model.onnx"
CODE = f"{WORKSPACE}/codes/mine/versions/1"


def put(client: APIClient, path: str, content: bytes = b"weights", **headers: str) -> Any:
    headers = {"x-ms-blob-type": "BlockBlob", **headers}
    return client.generic(
        "PUT", path, content, content_type="application/octet-stream", headers=headers
    )


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def parts(stores: Path) -> list[str]:
    return sorted(path.name for path in (stores / "uploads").glob("*"))


def test_a_file_is_kept_by_its_path(api: APIClient, deployer: User, stores: Path) -> None:
    digest = base64.b64encode(hashlib.md5(b"weights", usedforsecurity=False).digest()).decode()
    assert put(api, FILE, **{"Content-MD5": digest}).status_code == 201
    row = AnnouncedFile.objects.get()
    assert (row.path, row.size, row.arrived) == ("net/1/model.onnx", 7, 7)
    assert row.sha256 == hashlib.sha256(b"weights").hexdigest()
    assert (row.upload.size, row.upload.offset, row.upload.created_by) == (7, 7, deployer)
    assert parts(stores) == [f"{row.upload_id}.{row.sha256}.part"]
    head = api.head(FILE)
    assert (head.status_code, head["Content-Length"]) == (200, "7")


def test_what_is_sent_again_takes_its_place(api: APIClient, stores: Path) -> None:
    put(api, FILE)
    assert put(api, FILE, b"other").status_code == 201
    row = AnnouncedFile.objects.get()
    assert (row.size, row.upload.size, len(parts(stores))) == (5, 5, 1)
    assert code_of(put(api, FILE, **{"If-None-Match": "*"})) == (409, "BlobAlreadyExists")


def test_blocks_are_joined_in_the_order_of_their_list(api: APIClient, stores: Path) -> None:
    names = [base64.b64encode(f"{n}".encode()).decode() for n in range(3)]
    for name, content in zip(names, (b"aa", b"bb", b"unused"), strict=True):
        assert put(api, f"{FILE}?comp=block&blockid={name}", content).status_code == 201
    assert Upload.objects.get().size == 10
    listed = f"<BlockList><Latest>{names[1]}</Latest><Latest>{names[0]}</Latest></BlockList>"
    assert put(api, f"{FILE}?comp=blocklist", listed.encode()).status_code == 201
    row = AnnouncedFile.objects.get()
    assert (row.size, row.sha256) == (4, hashlib.sha256(b"bbaa").hexdigest())
    assert Upload.objects.get().size == 10  # one that nobody named still lies there
    missing = "<BlockList><Latest>AAAA</Latest></BlockList>"
    assert code_of(put(api, f"{FILE}?comp=blocklist", missing.encode())) == (
        400,
        "InvalidBlockList",
    )
    uploads.upload_delete(upload_id=row.upload_id, actor="dora")


def describe(client: APIClient, path: str, **metadata: str) -> Any:
    """Sets a blob's metadata."""
    token = client._credentials["HTTP_AUTHORIZATION"]
    said = [(f"x-ms-meta-{name}".encode(), text.encode()) for name, text in metadata.items()]
    # why a scope: Django's clients take the underscore away that the package's header has
    return async_to_sync(AsyncClient().request)(
        method="PUT",
        path=path,
        query_string="comp=metadata",
        headers=[(b"host", b"testserver"), (b"authorization", token.encode()), *said],
    )


def test_metadata_is_kept_for_the_package_that_looks_for_it(api: APIClient) -> None:
    put(api, FILE)
    assert describe(api, FILE, upload_status="completed").status_code == 200
    assert api.head(FILE)["x-ms-meta-upload_status"] == "completed"


def test_metadata_is_bounded(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controlplane.azure.services.folders.MOST_DESCRIBED", 1)
    other = f"{SENT}/abc/net/config.pbtxt"
    put(api, FILE)
    put(api, other)
    assert describe(api, FILE, name="x" * 9000).status_code == 400
    assert describe(api, FILE, name="x").status_code == 200
    assert describe(api, FILE, name="y").status_code == 200
    assert describe(api, other, name="x").status_code == 400
    assert describe(api, f"{SENT}/abc/nothing", name="x").status_code == 404


def test_the_list_has_names_as_they_were_sent(api: APIClient) -> None:
    put(api, FILE)
    put(api, f"{SENT}/abc/net/config.pbtxt")
    listing = f"{STORE}/workspaceblobstore?restype=container&comp=list"
    found = api.get(f"{listing}&prefix=LocalUpload/abc/net/1")
    text = found.content.decode()
    assert "<Name>LocalUpload/abc/net/1/model.onnx</Name>" in text
    assert "config.pbtxt" not in text
    nothing = api.get(f"{listing}&prefix=LocalUpload/zz/net")
    assert "<Blob>" not in nothing.content.decode()


@pytest.mark.parametrize(
    "name",
    [
        "LocalUpload/abc/../../etc/passwd",
        "LocalUpload/abc/a/..%2f..%2fb",
        "LocalUpload/abc//etc/passwd",
        "LocalUpload/abc/a\\b",
        "LocalUpload/abc/C:/a",
        "LocalUpload/abc/a%00b",
        "LocalUpload/abc/" + "d/" * 20 + "f",
        "LocalUpload/abc/.git/config",
        "LocalUpload/abc",
        "elsewhere/abc/file",
        "../uploads/x",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(api: APIClient, stores: Path, name: str) -> None:
    answer = put(api, f"{STORE}/workspaceblobstore/{name}")
    assert answer.status_code in (400, 404), answer.content
    assert not AnnouncedFile.objects.exists()
    assert not list(stores.rglob("passwd"))
    assert not [one for one in parts(stores) if one.endswith(".part")]


def test_a_container_that_nobody_has_is_refused(api: APIClient) -> None:
    assert code_of(put(api, f"{STORE}/secrets/file")) == (400, "ContainerNotFound")
    assert code_of(put(api, f"{STORE}/made-abc/file")) == (400, "ContainerNotFound")


def test_damaged_bytes_are_thrown_away(api: APIClient, stores: Path) -> None:
    digest = base64.b64encode(b"\0" * 16).decode()
    assert code_of(put(api, FILE, **{"Content-MD5": digest})) == (400, "ChecksumMismatch")
    assert code_of(put(api, FILE, **{"Content-MD5": "nonsense"})) == (400, "BadArgument")
    assert (AnnouncedFile.objects.count(), parts(stores)) == (0, [])


@pytest.mark.parametrize(
    ("setting", "value", "code"),
    [
        ("SHOAL_MAX_UPLOAD_BYTES", 6, "UploadTooLarge"),
        ("SHOAL_MAX_UNPACKED_BYTES", 6, "UploadTooLarge"),
        ("SHOAL_UPLOAD_QUOTA_BYTES", 6, "UploadQuotaExceeded"),
        ("SHOAL_UPLOAD_RESERVE_BYTES", 2**60, "DiskFull"),
    ],
)
@pytest.mark.parametrize("query", ["", "?comp=block&blockid=AAAA"])
def test_too_much_is_refused_and_nothing_of_it_kept(
    api: APIClient,
    settings: Settings,
    stores: Path,
    setting: str,
    value: int,
    code: str,
    query: str,
) -> None:
    setattr(settings, setting, value)
    answer = put(api, f"{FILE}{query}")
    assert (answer.status_code >= 400, answer.json()["error"]["code"]) == (True, code)
    assert (AnnouncedFile.objects.count(), parts(stores)) == (0, [])
    assert all(upload.size == 0 for upload in Upload.objects.all())


def test_somebody_elses_files_are_not_seen(
    api: APIClient, client_of: Callable[[User], APIClient]
) -> None:
    put(api, FILE)
    other = client_of(make_user("dan", User.Role.DEPLOYER))
    assert other.head(FILE).status_code == 404
    refused = other.put(
        f"{WORKSPACE}/models/net/versions/1",
        {"properties": {"modelUri": f"{DATASTORE}/LocalUpload/abc/net"}},
        format="json",
    )
    assert code_of(refused) == (404, "BlobNotFound")
    assert put(other, FILE, b"theirs").status_code == 201
    assert api.head(FILE)["Content-Length"] == "7"


def granted(client: APIClient) -> str:
    answer = client.post(f"{CODE}/startPendingUpload", {}, format="json")
    address: str = answer.json()["blobReferenceForConsumption"]["credential"]["sasUri"]
    return address.removeprefix("https://testserver")


def test_an_address_that_was_handed_out_takes_files_of_that_asset_alone(api: APIClient) -> None:
    address, _, query = granted(api).partition("?")
    stranger = APIClient()
    assert put(stranger, f"{address}/src/score.py?{query}").status_code == 201
    assert SentFolder.objects.get().owner.username == "dora"
    assert put(stranger, f"{address}x/src/score.py?{query}").status_code == 401
    assert put(stranger, f"{FILE}?{query}").status_code == 401
    assert put(stranger, f"{address}/src/score.py?sig=guess").status_code == 401
    assert put(stranger, f"{address}/src/score.py?{query[:-3]}abc").status_code == 401
    assert put(stranger, f"{address}/src/score.py").status_code == 401
    assert stranger.get(f"{WORKSPACE}/onlineEndpoints?{query}").status_code == 401


def test_it_ends_with_the_token_that_asked_for_it(api: APIClient) -> None:
    address, _, query = granted(api).partition("?")
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert put(APIClient(), f"{address}/src/score.py?{query}").status_code == 401
    ApiToken.objects.all().delete()
    assert put(APIClient(), f"{address}/src/score.py?{query}").status_code == 401


def test_it_ends_after_an_hour(api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
    address, _, query = granted(api).partition("?")
    monkeypatch.setattr("controlplane.azure.grants.LIFE", timedelta(seconds=-1))
    assert put(APIClient(), f"{address}/src/score.py?{query}").status_code == 401


def test_a_token_that_may_only_read_is_given_no_address() -> None:
    user = make_user("ada", User.Role.ADMIN)
    _, clear = token_create(user=user, name="reader", actor="ada", scopes=["read"])
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {clear}")
    assert client.post(f"{CODE}/startPendingUpload", {}, format="json").status_code == 403


@pytest.mark.parametrize("name", ["a%2Fb", "..", "x y", "a" * 200])
def test_a_code_assets_name_is_part_of_an_address(api: APIClient, name: str) -> None:
    answer = api.post(f"{WORKSPACE}/codes/{name}/versions/1/startPendingUpload", {}, format="json")
    assert answer.status_code in (400, 404)


def test_files_leave_with_the_upload_when_its_time_is_over(api: APIClient, stores: Path) -> None:
    put(api, FILE)
    put(api, f"{FILE}?comp=block&blockid=AAAA")
    Upload.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert uploads.uploads_expire(now=timezone.now()) == 1
    assert not SentFolder.objects.exists()


def test_who_sends_a_large_body_is_asked_before_it_is_taken_in(api: APIClient) -> None:
    token = api._credentials["HTTP_AUTHORIZATION"]
    address, _, query = granted(api).partition("?")

    def may(path: str, query: str = "", authorization: str = "") -> bool:
        headers = [(b"authorization", authorization.encode())] if authorization else []
        scope = {"path": path, "query_string": query.encode(), "headers": headers}
        return async_to_sync(may_send)(scope)

    assert may(FILE, authorization=token)
    assert may(f"{address}/src/a", query)
    assert not may(f"{address}x/src/a", query)
    assert not may(FILE, query)
    assert not may(FILE)
    assert not may(FILE, authorization="Bearer shoal_guess")
    assert not may(FILE, query, authorization="Bearer other")
