"""What addresses of models say, which files make a model, and what each kind of source tells."""

import json
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest

from controlplane.core.addresses import Allowed
from controlplane.core.errors import Invalid
from controlplane.registry.errors import IngestFailed
from controlplane.registry.sources.addresses import Kind, source_read
from controlplane.registry.sources.choosing import Chosen, choose
from controlplane.registry.sources.hub import Hub
from controlplane.registry.sources.mlflow import Tracking
from controlplane.registry.sources.web import Bounds, Web, origin_of
from tests.support.file_server import FileServer, file_server, redirect

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "kind", "name", "path", "revision", "filename"),
    [
        ("https://h.test/a/m.onnx?sig=secret#x", Kind.URL, "h.test", "/a/m.onnx", "", "m.onnx"),
        ("HTTPS://h.test", Kind.URL, "h.test", "", "", "h.test"),
        ("https://h.test/a%20b.onnx", Kind.URL, "h.test", "/a b.onnx", "", "a b.onnx"),
        ("hf://acme/digits", Kind.HUB, "acme/digits", "", "", "digits"),
        ("hf://acme/digits@v1.2/onnx/m.onnx", Kind.HUB, "acme/digits", "onnx/m.onnx", "v1.2",
         "m.onnx"),
        ("hf://acme/digits/onnx/", Kind.HUB, "acme/digits", "onnx/", "", "onnx"),
        ("s3://my.bucket/a/b/", Kind.S3, "my.bucket", "a/b/", "", "b"),
        ("s3://my-bucket", Kind.S3, "my-bucket", "", "", "my-bucket"),
        ("runs:/0a1b/model", Kind.MLFLOW, "0a1b", "model", "", "model"),
        (" runs:/0a1b ", Kind.MLFLOW, "0a1b", "", "", "0a1b"),
    ],
)  # fmt: skip
def test_an_address_is_read(
    text: str, kind: Kind, name: str, path: str, revision: str, filename: str
) -> None:
    found = source_read(text)
    assert (found.kind, found.name, found.path) == (kind, name, path)
    assert (found.revision, found.filename) == (revision, filename)
    assert "secret" not in found.shown


@pytest.mark.parametrize(
    "text",
    [
        "file:///etc/secret", "gopher://h/secret", "ftp://h/secret", "/etc/secret", "secret", "",
        "https://user:secret@h/m.onnx", "https://secret@h/m.onnx", "https:///secret",
        "https://h/secret\r\nX: y", "https://bücher.test/secret", "https://h:99999/secret",
        "https://h/" + "secret" * 400, "hf://user:secret@acme/digits", "hf://secret",
        "hf://acme/digits/../../secret", "hf://acme/digits/x?secret", "hf://../secret/x",
        "s3://key:secret@bucket/x", "s3://Secret/x", "s3://b/secret", "s3://bucket/../secret",
        "s3://bucket/x?secret", "runs:/../secret", "runs:/", "runs:/a/../secret",
        "azureml://secret", "data:text/plain,secret", "dict://h/secret", "jar:https://h/secret",
    ],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(Invalid) as caught:
        source_read(text)
    assert caught.value.field == "address"
    assert "secret" not in caught.value.message.lower()
    assert caught.value.hints


README, GRAPH = "README.md", "model.onnx"


@pytest.mark.parametrize(
    ("paths", "wanted", "expected"),
    [
        ([README, GRAPH], "", Chosen({GRAPH: GRAPH})),
        ([README, "onnx/model.onnx", "onnx/model.onnx_data"], "",
         Chosen({"onnx/model.onnx": GRAPH, "onnx/model.onnx_data": "model.onnx_data"})),
        (["a.onnx", "b.onnx", "b.onnx.data", "b.data", "c.data", "b.onnx.json"], "b.onnx",
         Chosen({"b.onnx": "b.onnx", "b.data": "b.data", "b.onnx.data": "b.onnx.data"})),
        (["x/a.onnx", "y/b.onnx"], "y", Chosen({"y/b.onnx": "b.onnx"})),
        (["m/net/1/model.onnx", "m/net/config.pbtxt", "z"], "m",
         Chosen({"m/net/1/model.onnx": "net/1/model.onnx",
                 "m/net/config.pbtxt": "net/config.pbtxt"})),
        (["net/1/model.pt", "net/2/model.pt"], "",
         Chosen({"net/1/model.pt": "net/1/model.pt", "net/2/model.pt": "net/2/model.pt"})),
        (["d/a.onnx", "d/b.onnx", "d/.git/x"], "d/",
         Chosen({"d/a.onnx": "a.onnx", "d/b.onnx": "b.onnx"})),
        (["net.pt", "net.safetensors"], "", Chosen({"net.pt": "net.pt"})),
        (["a/net.xml", "a/net.bin"], "", Chosen({"a/net.xml": "net.xml", "a/net.bin": "net.bin"})),
        (["a/m.zip", "b"], "a/m.zip", Chosen({"a/m.zip": "m.zip"}, archive=True)),
    ],
)  # fmt: skip
def test_the_files_of_a_model_are_chosen(paths: list[str], wanted: str, expected: Chosen) -> None:
    assert choose(paths, wanted, "there") == expected


@pytest.mark.parametrize(
    ("paths", "wanted", "code"),
    [
        (["a.onnx", "b.onnx"], "", "ImportAmbiguous"),
        (["a.onnx"], "A.onnx", "ImportNothingFound"),
        (["a.onnx"], "a", "ImportNothingFound"),
        ([README, "net.safetensors"], "", "ImportNothingFound"),
        ([], "", "ImportNothingFound"),
        ([f"{number}.txt" for number in range(20_001)], "", "ImportTooLarge"),
    ],
)
def test_what_cannot_be_chosen_is_told(paths: list[str], wanted: str, code: str) -> None:
    with pytest.raises(IngestFailed) as caught:
        choose(paths, wanted, "there")
    assert caught.value.code == code


@pytest.fixture
def server() -> Iterator[FileServer]:
    with file_server() as found:
        yield found


@pytest.fixture
def web(server: FileServer) -> Iterator[Web]:
    found = Web(Bounds(Allowed("X", ()), 10.0**9, own=origin_of(server.url)))
    yield found
    found.close()


def test_a_repository_is_pinned_to_its_commit(server: FileServer, web: Web) -> None:
    server.routes["/api/models/acme/digits/revision/v1"] = json.dumps({
        "sha": COMMIT,
        "cardData": {"datasets": ["mnist", "usps"]},
        "siblings": [
            {"rfilename": "onnx/model.onnx", "size": 7, "lfs": {"sha256": "ab"}},
            {"rfilename": "README.md", "size": 1},
        ],
    }).encode()  # fmt: skip
    found = Hub(server.url, "t0ken").find(source_read("hf://acme/digits@v1"), web)
    (remote,) = found.files
    assert remote.url == f"{server.url}/acme/digits/resolve/{COMMIT}/onnx/model.onnx"
    assert (remote.path, remote.size, remote.sha256) == ("model.onnx", 7, "ab")
    assert dict(remote.headers) == {"Authorization": "Bearer t0ken"}
    assert (found.filename, found.archive) == ("digits", False)
    assert dict(found.lineage) == {
        "repository": f"{server.url}/acme/digits", "commit": COMMIT, "dataset": "mnist, usps",
    }  # fmt: skip
    assert server.asked[0][1]["Authorization"] == "Bearer t0ken"


@pytest.mark.parametrize("answer", [{}, {"sha": "../x"}, {"sha": COMMIT, "siblings": None}])
def test_a_hub_that_tells_nothing_is_refused(
    server: FileServer, web: Web, answer: dict[str, object]
) -> None:
    server.routes["/api/models/acme/digits/revision/main"] = json.dumps(answer).encode()
    with pytest.raises(IngestFailed):
        Hub(server.url).find(source_read("hf://acme/digits"), web)


def artifacts(handler: object) -> None:
    """Of a run with folders and pages, as MLflow lists them: one level at a time."""
    query = parse_qs(urlsplit(handler.path).query)  # type: ignore[attr-defined]
    where, page = query.get("path", [""])[0], query.get("page_token", [""])[0]
    level = {
        ("", ""): {"files": [{"path": "plots", "is_dir": True}, {"path": "model", "is_dir": True}]},
        ("model", ""): {
            "files": [{"path": "model/MLmodel", "is_dir": False, "file_size": 10}],
            "next_page_token": "p 2",
        },
        ("model", "p 2"): {
            "files": [{"path": "model/model.onnx", "is_dir": False, "file_size": "7"}],
        },
    }
    handler.answer(200, json.dumps(level[(where, page)]).encode())  # type: ignore[attr-defined]


RUN = {
    "run": {
        "info": {"experiment_id": "4"},
        "data": {"tags": [
            {"key": "mlflow.source.git.commit", "value": COMMIT},
            {"key": "mlflow.source.git.repoURL", "value": "https://me:secret@git.test/a.git?k=secret"},
        ]},
        "inputs": {"dataset_inputs": [{"dataset": {"name": "mnist", "digest": "d1"}}]},
    },
}  # fmt: skip


def test_a_run_tells_what_it_was_made_from(server: FileServer, web: Web) -> None:
    server.routes["/api/2.0/mlflow/runs/get"] = json.dumps(RUN).encode()
    server.routes["/api/2.0/mlflow/artifacts/list"] = artifacts
    found = Tracking(server.url).find(source_read("runs:/0a1b/model"), web)
    (remote,) = found.files
    assert remote.url == f"{server.url}/get-artifact?path=model%2Fmodel.onnx&run_uuid=0a1b"
    assert (remote.path, remote.size, found.filename) == ("model.onnx", 7, "model")
    assert dict(found.lineage) == {
        "run": "0a1b", "experiment": "4", "commit": COMMIT, "dataset": "mnist@d1",
        "repository": "https://git.test/a.git",
    }  # fmt: skip


def test_without_a_tracking_server_there_are_no_runs(web: Web) -> None:
    with pytest.raises(IngestFailed, match="knows no tracking server"):
        Tracking("").find(source_read("runs:/0a1b"), web)


def test_a_hub_may_not_lead_inside(server: FileServer, web: Web) -> None:
    server.routes["/api/models/acme/digits/revision/main"] = redirect("http://169.254.169.254/")
    with pytest.raises(IngestFailed) as caught:
        Hub(server.url).find(source_read("hf://acme/digits"), web)
    assert caught.value.code == "ImportAddressRefused"
