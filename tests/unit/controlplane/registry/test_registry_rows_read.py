"""Questions about files read the rows that answer them, whatever number of files there is."""

import hashlib
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from controlplane.deployments.models import Replica
from controlplane.registry import selectors
from controlplane.registry.models import Blob
from controlplane.registry.services import blobs
from controlplane.registry.services.upload_progress import contents_stored
from controlplane.registry.stores.local import LocalStore
from controlplane.registry.types import FileEntry
from tests.support.registered_models import files_add, model_register
from tests.support.rows_read import RowsRead, rows_read
from tests.support.simulated_node import SimulatedNode

pytestmark = pytest.mark.django_db(databases=["default", "metrics"])
MANY = 2000
SHORT = 5000  # characters; a manifest of so many files has a hundred times that
RAW = "application/offset+octet-stream"


def entries(count: int) -> list[FileEntry]:
    return [
        FileEntry(path=f"digits/1/{n:05}.bin", size=10, sha256=sha(f"{n:010}".encode()))
        for n in range(count)
    ]


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_by(ask: Callable[[], Any]) -> RowsRead:
    with rows_read("default", "metrics") as read:
        ask()
    assert read.characters < SHORT
    return read


def test_whether_a_node_may_fetch_a_blob_is_one_row(api: APIClient) -> None:
    node = SimulatedNode()
    version = model_register()
    deploy = {"model": "digits", "instance_count": 3}
    assert api.post("/api/v1/deploy", deploy, format="json").status_code == 202
    node.bring_up()
    assert Replica.objects.count() == 3
    files_add(version, *entries(MANY))
    last = entries(MANY)[-1]["sha256"]
    found = f"/agent/v1/blobs/{version.manifest()[0]['sha256']}"

    def ask(path: str, status: int) -> Callable[[], None]:
        def send() -> None:
            assert node.client.get(path).status_code == status

        return send

    identity = read_by(ask("/agent/v1/blobs/" + "f" * 64, 404)).rows  # who asks, and nothing more
    assert read_by(ask(found, 200)).rows == identity + 1
    # its bytes are not stored: that the node may have them is looked up all the same
    assert read_by(ask(f"/agent/v1/blobs/{last}", 404)).rows == identity + 1


def announce(api: APIClient, files: Iterable[FileEntry]) -> str:
    body = {"filename": "digits", "files": list(files)}
    answer = api.post("/api/v1/uploads", body, format="json")
    assert answer.status_code == 201, answer.content
    return str(answer.json()["id"])


def chunk_of(api: APIClient, upload_id: str, number: int) -> Callable[[], None]:
    content = f"{number:010}".encode()

    def send() -> None:
        answer = api.generic(
            "PATCH",
            f"/api/v1/uploads/{upload_id}/files/{sha(content)}",
            content,
            content_type=RAW,
            headers={"Upload-Offset": "0"},
        )
        assert answer.status_code == 200, answer.content

    return send


def test_a_chunk_reads_as_much_in_a_long_list_as_in_a_short_one(api: APIClient) -> None:
    few, many = announce(api, entries(3)), announce(api, entries(MANY))
    short = read_by(chunk_of(api, few, 2)).rows
    assert short < 10
    assert read_by(chunk_of(api, many, 0)).rows == short
    assert read_by(chunk_of(api, many, MANY - 1)).rows == short
    assert api.get(f"/api/v1/uploads/{many}").json()["offset"] == 20


def test_a_chunk_asks_the_store_after_nothing_that_is_stored(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a bucket each question is a request."""
    version = model_register()
    stored = version.manifest()
    Blob.objects.bulk_create(
        Blob(sha256=one["sha256"], size=one["size"], seen_at=timezone.now()) for one in stored
    )
    asked: list[str] = []
    real = LocalStore.missing

    def missing(self: LocalStore, hashes: Iterable[str]) -> set[str]:
        wanted = list(hashes)
        asked.extend(wanted)
        return real(self, wanted)

    monkeypatch.setattr(LocalStore, "missing", missing)
    monkeypatch.setattr(LocalStore, "size", lambda _, sha256: asked.append(sha256))
    assert contents_stored([stored[0]["sha256"]]) == {stored[0]["sha256"]}
    asked.clear()
    upload_id = announce(api, [*stored, *entries(2)])
    assert sorted(asked) == sorted(one["sha256"] for one in stored), "once, when it begins"
    asked.clear()
    chunk_of(api, upload_id, 0)()
    chunk_of(api, upload_id, 1)()
    assert asked == []


def aged(number: int) -> None:
    at = timezone.now() - timedelta(days=2)
    for entry in entries(number):
        Blob.objects.update_or_create(
            sha256=entry["sha256"], defaults={"size": entry["size"], "seen_at": at}
        )


@pytest.mark.parametrize("versions", [1, 5])
def test_collecting_reads_rows_for_what_goes(versions: int) -> None:
    used, garbage = 300, 4
    aged(used + garbage)
    for number in range(versions):
        files_add(model_register(content=bytes([number])), *entries(used))
    before = selectors.storage_use()
    assert before["unused_blobs"] == garbage
    assert read_by(selectors.storage_use).rows == 2
    removed = read_by(lambda: blobs.blobs_collect(now=timezone.now())).rows
    event = 5  # the chain of events
    assert 2 * garbage <= removed <= 2 * garbage + event
    assert read_by(lambda: blobs.blobs_collect(now=timezone.now())).rows == 0
    assert Blob.objects.count() == used
    assert selectors.storage_use()["unused_blobs"] == 0


def test_lists_of_models_and_versions_carry_no_files(api: APIClient) -> None:
    version = model_register()
    files_add(version, *entries(MANY))
    for path in ("models", "models/digits", "models/digits/versions"):
        assert read_by(lambda path=path: api.get(f"/api/v1/{path}")).rows < 10
    (shown,) = api.get("/api/v1/models/digits/versions").json()["items"]
    assert shown["file_count"] == MANY + 2
    assert len(api.get("/api/v1/models/digits/versions/1").json()["manifest"]) == MANY + 2


def test_pages_of_files_read_their_page(api: APIClient) -> None:
    files_add(model_register(), *entries(MANY))
    files = "/api/v1/models/digits/versions/1/files"
    assert read_by(lambda: api.get(f"{files}?limit=10")).rows < 20
    assert read_by(lambda: api.get(f"{files}/digits/1/model.onnx")).rows < 10
    found = api.get(f"{files}?q=01999").json()["items"]
    assert [one["path"] for one in found] == ["digits/1/01999.bin"]
    assert api.get(f"{files}?q=CONFIG.PBTXT").json()["items"] == []
    first = api.get(f"{files}?limit=2").json()
    assert [one["path"] for one in first["items"]] == ["digits/1/00000.bin", "digits/1/00001.bin"]
    second = api.get(f"{files}?limit=2&cursor={first['next_cursor']}").json()
    assert [one["path"] for one in second["items"]] == ["digits/1/00002.bin", "digits/1/00003.bin"]


def test_versions_know_their_files(api: APIClient) -> None:
    first, second = model_register(), model_register(content=b"second")
    assert selectors.manifests_of({first.pk, second.pk}) == {
        first.pk: first.manifest(),
        second.pk: second.manifest(),
    }
    assert selectors.manifests_of(set()) == {}
