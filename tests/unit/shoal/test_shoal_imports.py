"""Models from addresses: the server fetches them, the client waits and says whence they are."""

from typing import Any

import pytest

from shoal.cli.main import main
from shoal.client import Client
from shoal.client.errors import OperationFailed, UnusableSource
from shoal.display.rows import Rows
from shoal.display.watcher import Quiet
from shoal.entities import Model
from shoal.sdk.models import IMPORTED, ModelOperations
from tests.support.shoal_server import FakeServer

ADDRESS = "hf://acme/digits@v1"
Capture = pytest.CaptureFixture[str]


def test_a_path_that_is_an_address_is_imported(installed: FakeServer, capsys: Capture) -> None:
    create = ("model", "create", "--name", "digits", "--path", ADDRESS, "--tags", "a=1")
    assert main(create) == 0
    (made,) = installed.models["digits"]
    assert (made["lineage"]["address"], made["tags"]) == (ADDRESS, {"a": "1"})
    capsys.readouterr()
    assert main(("model", "show", "digits")) == 0
    shown = capsys.readouterr().out
    for told in (ADDRESS, "c0ffee", "mnist", "by ada", "https://hub.test/acme/digits"):
        assert told in shown
    assert "Experiment" not in shown  # what is not known is not shown


def test_versions_from_files_tell_nothing_of_imports(
    installed: FakeServer, capsys: Capture, tmp_path: Any
) -> None:
    (tmp_path / "net.onnx").write_bytes(b"a model")
    assert main(("model", "create", "--name", "net", "--path", "net.onnx")) == 0
    assert installed.models["net"][0]["lineage"] is None
    assert "Import" not in capsys.readouterr().out


def test_an_import_that_fails_says_why(client: Client, server: FakeServer) -> None:
    server.inspection_error = {
        "code": "ImportAddressRefused", "message": "h is 10.0.0.1, which is not public.",
        "detail": "", "hints": [],
    }  # fmt: skip
    with pytest.raises(OperationFailed, match=r"10\.0\.0\.1"):
        client.import_model("https://h/m.onnx")


def test_what_is_imported_needs_a_name(client: Client, server: FakeServer) -> None:
    models = ModelOperations(client, Quiet())
    with pytest.raises(UnusableSource, match="no name"):
        models.create_or_update(Model(path=ADDRESS))
    assert not server.uploads


def test_whoever_interrupts_the_wait_ends_the_import(client: Client, server: FakeServer) -> None:
    def interrupted(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.import_model(ADDRESS, on_change=interrupted)
    assert not server.uploads


def test_the_bytes_that_come_are_shown(client: Client) -> None:
    told: list[str] = []

    class Told(Rows):
        def changed(self, row: Any, *, state: bool) -> None:
            told.append(self.line(row))

    rows = Told()
    client.import_model(ADDRESS, on_change=rows.upload)
    assert any("Fetch the files" in line and "4 B of 10 B" in line for line in told), told


@pytest.mark.parametrize(
    ("path", "imported"),
    [
        ("https://h/m.onnx", True),
        ("S3://bucket/x", True),
        ("runs:/0a/model", True),
        ("hf://acme/digits", True),
        ("azureml://datastores/x", False),
        ("azureml:net:1", False),
        ("./https/m.onnx", False),
        ("file:///m.onnx", False),
    ],
)
def test_what_the_server_fetches_is_told_by_its_scheme(path: str, imported: bool) -> None:
    assert bool(IMPORTED.match(path)) == imported
