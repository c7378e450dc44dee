"""Uploads of several files: only what is not here is asked for, and bytes are believed late."""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rest_framework.test import APIClient

from controlplane.registry import storage
from controlplane.registry.archive import MAX_PATH_BYTES
from controlplane.registry.models import Blob, Upload
from controlplane.registry.serializers.uploads import AnnouncedFileSerializer
from controlplane.registry.services import ingest
from controlplane.registry.services.upload_progress import part_name
from controlplane.registry.stores import blob_store

GRAPH, WEIGHTS = b"graph" * 300, bytes(range(256)) * 40
RAW = "application/offset+octet-stream"
TREE = {"net/1/model.onnx": GRAPH, "net/1/weights.bin": WEIGHTS, "net/labels.txt": b""}


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def listed(tree: dict[str, bytes]) -> list[dict[str, Any]]:
    return [
        {"path": path, "size": len(content), "sha256": sha(content)}
        for path, content in tree.items()
    ]


def announce(api: APIClient, files: list[dict[str, Any]]) -> Any:
    return api.post("/api/v1/uploads", {"filename": "net", "files": files}, format="json")


def send(api: APIClient, upload_id: str, content: bytes, offset: int = 0, name: str = "") -> Any:
    return api.generic(
        "PATCH",
        f"/api/v1/uploads/{upload_id}/files/{name or sha(content)}",
        content[offset:],
        content_type=RAW,
        headers={"Upload-Offset": str(offset)},
    )


def missing(api: APIClient, upload_id: str) -> dict[str, int]:
    items = api.get(f"/api/v1/uploads/{upload_id}/files").json()["items"]
    return {item["path"]: item["offset"] for item in items}


@pytest.fixture
def done(api: APIClient) -> Callable[[dict[str, bytes]], Upload]:
    """Sends what is missing of a tree, completes it and runs ingest."""

    def upload(tree: dict[str, bytes]) -> Upload:
        answer = announce(api, listed(tree))
        assert answer.status_code == 201, answer.content
        upload_id = answer.json()["id"]
        for path in missing(api, upload_id):
            assert send(api, upload_id, tree[path]).status_code == 200
        assert api.post(f"/api/v1/uploads/{upload_id}/complete", {}).status_code == 202
        ingest.ingest_run(upload_id=upload_id)
        return Upload.objects.get(pk=upload_id)

    return upload


def test_files_become_a_version_s_manifest(done: Callable[[dict[str, bytes]], Upload]) -> None:
    upload = done(TREE)
    assert (upload.state, upload.error) == ("ready", None)
    assert upload.offset == upload.size == len(GRAPH) + len(WEIGHTS)
    found = {entry["path"]: entry["sha256"] for entry in upload.manifest()}
    assert found == {path: sha(content) for path, content in TREE.items()}
    assert blob_store().open(sha(WEIGHTS)).read() == WEIGHTS
    assert not list(storage.part_path(upload.pk).parent.glob(f"{upload.pk}*"))


def test_only_what_is_not_here_is_asked_for(
    api: APIClient, done: Callable[[dict[str, bytes]], Upload]
) -> None:
    done(TREE)
    changed = {**TREE, "net/labels.txt": b"cat\ndog\n", "net/2/weights.bin": WEIGHTS}
    upload_id = announce(api, listed(changed)).json()["id"]
    assert missing(api, upload_id) == {"net/labels.txt": 0}
    assert done(changed).state == "ready"


def test_the_same_content_twice_is_sent_once(api: APIClient) -> None:
    upload_id = announce(api, listed({"a/1/model.onnx": GRAPH, "b/1/model.onnx": GRAPH})).json()[
        "id"
    ]
    assert list(missing(api, upload_id).values()) == [0]


def test_each_file_goes_on_from_its_own_offset(api: APIClient) -> None:
    upload_id = announce(api, listed(TREE)).json()["id"]
    first = f"/api/v1/uploads/{upload_id}/files/{sha(WEIGHTS)}"
    half = api.generic(
        "PATCH", first, WEIGHTS[:5000], content_type=RAW, headers={"Upload-Offset": "0"}
    )
    assert half.json()["offset"] == 5000
    assert missing(api, upload_id) == {"net/1/model.onnx": 0, "net/1/weights.bin": 5000}
    head = api.head(first)
    assert (head["Upload-Offset"], head["Upload-Length"]) == ("5000", str(len(WEIGHTS)))
    wrong = send(api, upload_id, WEIGHTS, 4000)
    assert (wrong.status_code, wrong.json()["offset"]) == (409, 5000)
    early = api.post(f"/api/v1/uploads/{upload_id}/complete", {})
    assert (early.status_code, early.json()["code"]) == (409, "UploadIncomplete")
    assert set(early.json()["missing"]) == {sha(GRAPH), sha(WEIGHTS)}
    assert send(api, upload_id, WEIGHTS, 5000).json()["offset"] == len(WEIGHTS)
    assert api.get(f"/api/v1/uploads/{upload_id}").json()["offset"] == len(WEIGHTS)
    again = send(api, upload_id, WEIGHTS, 0)
    assert again.status_code == 409
    unknown = send(api, upload_id, b"never announced")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "FileNotAnnounced")


def test_the_longest_path_is_kept(done: Callable[[dict[str, bytes]], Upload]) -> None:
    # why so mixed: PostgreSQL would squeeze a path of one letter into its index
    parts = [hashlib.shake_256(bytes([number])).hexdigest(122) for number in range(8)]
    path = "/".join(["net", "1", *parts, "x" * 71, "model.onnx"])
    assert len(path) == MAX_PATH_BYTES
    upload = done({path: GRAPH, "net/1/model.onnx": GRAPH})
    assert path in {entry["path"] for entry in upload.manifest()}


def test_a_content_that_is_there_twice_counts_once(api: APIClient) -> None:
    files = listed({"a/1/model.onnx": GRAPH, "b/1/model.onnx": GRAPH, "a/labels.txt": b"cat"})
    upload_id = announce(api, files).json()["id"]
    place = f"/api/v1/uploads/{upload_id}"
    assert api.get(place).json()["offset"] == len(GRAPH)
    send(api, upload_id, GRAPH[:700], name=sha(GRAPH))
    assert api.get(place).json()["offset"] == len(GRAPH) + 700
    send(api, upload_id, GRAPH, 700)
    assert missing(api, upload_id) == {"a/labels.txt": 0}
    send(api, upload_id, b"cat")
    assert api.get(place).json()["offset"] == 2 * len(GRAPH) + 3
    assert missing(api, upload_id) == {}


def test_the_disk_is_right_where_it_has_less_than_was_counted(api: APIClient) -> None:
    """After a power cut, when a file is gone or shorter than the row says."""
    upload_id = announce(api, listed(TREE)).json()["id"]
    place = f"/api/v1/uploads/{upload_id}"
    send(api, upload_id, GRAPH)
    send(api, upload_id, WEIGHTS[:5000], name=sha(WEIGHTS))
    storage.part_path(part_name(upload_id, sha(GRAPH))).unlink()
    os.truncate(storage.part_path(part_name(upload_id, sha(WEIGHTS))), 1000)
    goes_on = send(api, upload_id, WEIGHTS, 5000)
    assert (goes_on.status_code, goes_on.json()["offset"]) == (409, 1000)
    assert api.get(place).json()["offset"] == len(GRAPH) + 1000
    assert send(api, upload_id, WEIGHTS, 1000).status_code == 200
    early = api.post(f"{place}/complete", {})
    assert (early.status_code, early.json()["missing"]) == (409, [sha(GRAPH)])
    assert missing(api, upload_id) == {"net/1/model.onnx": 0}
    assert api.get(place).json()["offset"] == len(WEIGHTS)
    assert send(api, upload_id, GRAPH).status_code == 200
    assert api.post(f"{place}/complete", {}).status_code == 202


def test_what_another_upload_brought_meanwhile_need_not_be_sent(
    api: APIClient, done: Callable[[dict[str, bytes]], Upload]
) -> None:
    upload_id = announce(api, listed(TREE)).json()["id"]
    done(TREE)
    assert missing(api, upload_id) == {}
    assert send(api, upload_id, GRAPH).json()["offset"] == len(GRAPH)
    complete = api.post(f"/api/v1/uploads/{upload_id}/complete", {})
    assert complete.status_code == 202
    assert complete.json()["offset"] == complete.json()["size"]


def test_too_much_is_refused_and_forgotten(api: APIClient) -> None:
    upload_id = announce(api, listed({"net/1/model.onnx": GRAPH})).json()["id"]
    answer = send(api, upload_id, GRAPH + b"more", name=sha(GRAPH))
    assert (answer.status_code, answer.json()["code"]) == (413, "UploadTooLarge")
    assert missing(api, upload_id) == {"net/1/model.onnx": 0}


def test_wrong_bytes_never_become_a_blob(api: APIClient) -> None:
    upload_id = announce(api, listed({"net/1/model.onnx": GRAPH})).json()["id"]
    send(api, upload_id, GRAPH[::-1], name=sha(GRAPH))
    api.post(f"/api/v1/uploads/{upload_id}/complete", {})
    ingest.ingest_run(upload_id=upload_id)
    upload = Upload.objects.get(pk=upload_id)
    assert upload.error is not None and upload.error["code"] == "ChecksumMismatch"
    assert "net/1/model.onnx" in upload.error["message"]
    assert not Blob.objects.filter(pk=sha(GRAPH)).exists()
    assert blob_store().size(sha(GRAPH)) is None


def test_a_refused_model_s_files_need_not_be_sent_again(
    api: APIClient, done: Callable[[dict[str, bytes]], Upload]
) -> None:
    assert done({"notes/readme.md": WEIGHTS}).state == "failed"
    upload_id = announce(api, listed({"net/1/model.onnx": WEIGHTS})).json()["id"]
    assert missing(api, upload_id) == {}


def test_an_empty_version_folder_is_kept(done: Callable[[dict[str, bytes]], Upload]) -> None:
    upload = done(
        {"net/1/model.onnx": GRAPH, "all/config.pbtxt": b'platform: "ensemble"', "all/1/": b""}
    )
    assert "all/1/.keep" in {entry["path"] for entry in upload.manifest()}


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (listed({"../x": GRAPH}), "unsafe"),
        (listed({"/etc/x": GRAPH}), "unsafe"),
        (listed({"a\\b": GRAPH}), "unsafe"),
        (listed({"net/A": GRAPH, "net/a": WEIGHTS}), "unsafe"),
        (listed({"net": GRAPH, "net/1/model.onnx": GRAPH}), "unsafe"),
        (listed({"/".join(["n" * 250] * 9): GRAPH}), "unsafe"),
        ([*listed({"a": GRAPH}), *listed({"a": GRAPH})], "unsafe"),
        ([{"path": "a", "size": 1, "sha256": sha(GRAPH)}, *listed({"b": GRAPH})], "another size"),
        ([{"path": "a", "size": -1, "sha256": sha(GRAPH)}], "0"),
        ([{"path": "a", "size": 1, "sha256": "no"}], "expected a text that matches"),
        (listed({"folder/": b""}), "no file"),
        (listed({".git/config": GRAPH}), "no file"),
        ([], "expected a list of 1 to"),
    ],
)
def test_lists_that_are_refused(api: APIClient, files: list[dict[str, Any]], said: str) -> None:
    answer = announce(api, files)
    assert answer.status_code == 400, answer.content
    assert said in answer.content.decode()
    assert not Upload.objects.exists()


def test_a_list_that_is_too_long_is_counted_and_not_read(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred thousand wrong files took the web process seconds to complain of one by one."""
    asked: list[Any] = []
    monkeypatch.setattr(
        AnnouncedFileSerializer, "run_validation", lambda _, item: asked.append(item)
    )
    answer = announce(api, [{}] * 20_001)
    assert (answer.status_code, asked) == (400, [])
    assert answer.json()["detail"] == "files: a list of 20001, expected a list of 1 to 20000."


def test_of_many_wrong_files_the_first_ten_are_told(api: APIClient) -> None:
    wrong = announce(api, [{"path": "a", "size": -1}] * 500).json()["errors"]["files"]
    assert list(wrong) == [str(index) for index in range(10)]
    assert wrong["0"]["size"] == ["files.0.size: -1, expected a whole number 0 or more."]


def test_a_list_and_a_size_do_not_go_together(api: APIClient) -> None:
    body = {"filename": "net", "size": 5, "files": listed(TREE)}
    assert api.post("/api/v1/uploads", body, format="json").status_code == 400
    assert api.post("/api/v1/uploads", {"filename": "net"}, format="json").status_code == 400


def test_bytes_of_a_list_do_not_go_to_the_upload_itself(api: APIClient) -> None:
    upload_id = announce(api, listed(TREE)).json()["id"]
    answer = api.generic(
        "PATCH", f"/api/v1/uploads/{upload_id}", b"x", content_type=RAW,
        headers={"Upload-Offset": "0"},
    )  # fmt: skip
    assert (answer.status_code, answer.json()["code"]) == (400, "BadArgument")


def test_a_dropped_upload_leaves_nothing(
    api: APIClient, django_capture_on_commit_callbacks: Any
) -> None:
    upload_id = announce(api, listed(TREE)).json()["id"]
    send(api, upload_id, GRAPH)
    with django_capture_on_commit_callbacks(execute=True):
        assert api.delete(f"/api/v1/uploads/{upload_id}").status_code == 204
    assert not list(storage.part_path(upload_id).parent.glob(f"{upload_id}*"))


def test_a_chunk_that_waited_until_ingest_began_writes_nothing(
    api: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ingest has hashed, or is about to, must not change under it."""
    upload_id = announce(api, listed(TREE)).json()["id"]
    real = storage.locked_part

    @contextmanager
    def late(name: str) -> Iterator[Any]:
        with real(name) as file:
            Upload.objects.filter(pk=upload_id).update(state=Upload.State.VERIFYING)
            yield file

    monkeypatch.setattr(storage, "locked_part", late)
    content = next(iter(TREE.values()))
    answer = send(api, upload_id, content)
    assert answer.status_code == 409, answer.content
    assert storage.part_size(part_name(upload_id, sha(content))) == 0
