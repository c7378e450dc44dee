"""Where a model comes from, as options, files and the SDK say it."""

import json
import subprocess
from pathlib import Path

import pytest

from shoal.cli.main import main
from shoal.client import Client
from shoal.display.watcher import Quiet
from shoal.entities import Model
from shoal.entities.errors import EntityInvalid
from shoal.entities.loading import load_model
from shoal.sdk.models import ModelOperations
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
CREATE = ("model", "create", "--name", "net", "--path", "net.onnx")
UPDATE = ("model", "update", "--name", "net", "--version", "1")


@pytest.fixture
def file(installed: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    del installed
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "net.onnx"
    path.write_bytes(b"a model")
    return path


@pytest.fixture
def git(file: Path) -> str:
    """The file's folder is a checkout; its one commit."""

    def run(*arguments: str) -> str:
        identity = ("-c", "user.name=ada", "-c", "user.email=ada@example.org")
        done = subprocess.run(
            ("git", *identity, *arguments),
            cwd=file.parent,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    run("init", "-q")
    (file.parent / "train.py").write_text("pass\n")
    run("add", "train.py")
    run("commit", "-q", "-m", "x", "--no-gpg-sign")
    return run("rev-parse", "HEAD")


def test_options_state_it(installed: FakeServer, file: Path, capsys: Capture) -> None:
    options = ("--source", "https://git.test/net", "--run", "train 7", "--dataset", "mnist")
    more = ("--run-url", "https://runs.test/7", "--commit", "c0ffee")
    assert main((*CREATE, *options, *more)) == 0
    assert installed.models["net"][0]["lineage"]["stated"] == [
        *("address", "run", "run_url", "commit", "dataset")
    ]
    capsys.readouterr()
    assert main(("model", "show", "net")) == 0
    shown = capsys.readouterr().out
    for told in ("Source", "https://git.test/net", "train 7", "https://runs.test/7", "by ada"):
        assert told in shown
    assert "Import" not in shown


def test_head_is_what_is_checked_out_here(
    installed: FakeServer, git: str, file: Path, capsys: Capture
) -> None:
    (file.parent / "train.py").write_text("other\n")
    assert main((*CREATE, "--commit", "HEAD")) == 2
    assert "changes that no commit holds" in capsys.readouterr().err
    assert "net" not in installed.models
    (file.parent / "train.py").write_text("pass\n")
    assert main((*CREATE, "--commit", "HEAD")) == 0  # files that git does not know do not count
    assert installed.models["net"][0]["lineage"]["commit"] == git


def test_head_needs_a_checkout(
    file: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(file.parent.parent))
    assert main((*CREATE, "--commit", "HEAD")) == 2
    assert "git says: fatal: not a git repository" in capsys.readouterr().err
    monkeypatch.setenv("PATH", str(file.parent))
    assert main((*CREATE, "--commit", "HEAD")) == 2
    assert "git does not answer here" in capsys.readouterr().err


def test_a_file_states_it_and_options_stand_over_it(installed: FakeServer, file: Path) -> None:
    (file.parent / "net.yml").write_text(
        "name: net\npath: net.onnx\njob_name: other\nlineage: {run: 7, commit: c0ffee}\n"
    )
    assert main(("model", "create", "--file", "net.yml", "--commit", "beef")) == 0
    lineage = installed.models["net"][0]["lineage"]
    assert (lineage["run"], lineage["commit"]) == ("7", "beef")
    assert "job_name" not in installed.models["net"][0]["declared"]


def test_the_job_of_azure_is_the_run(installed: FakeServer, file: Path, capsys: Capture) -> None:
    (file.parent / "net.yml").write_text("name: net\npath: net.onnx\njob_name: train_7\n")
    assert main(("model", "create", "--file", "net.yml")) == 0
    assert installed.models["net"][0]["lineage"]["run"] == "train_7"
    capsys.readouterr()
    assert main(("model", "show", "--name", "net", "-o", "json")) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["job_name"], shown["lineage"]["run"]) == ("train_7", "train_7")


def test_a_key_that_is_none_is_refused() -> None:
    with pytest.raises(EntityInvalid, match="branch"):
        load_model({"name": "net", "path": "x", "lineage": {"branch": "main"}})


def test_it_is_changed_one_by_one(installed: FakeServer, file: Path, capsys: Capture) -> None:
    del file
    assert main((*CREATE, "--run", "7", "--commit", "c0ffee")) == 0
    assert main((*UPDATE, "--set", "lineage.run=8", "--set", "lineage.dataset=mnist")) == 0
    lineage = installed.models["net"][0]["lineage"]
    assert (lineage["run"], lineage["commit"], lineage["dataset"]) == ("8", "c0ffee", "mnist")
    assert main((*UPDATE, "--set", "description=d")) == 0
    assert installed.models["net"][0]["lineage"]["run"] == "8"
    capsys.readouterr()
    assert main((*UPDATE, "--set", "job_name=9")) == 1
    assert "job_name: cannot be set here" in capsys.readouterr().err
    assert main((*UPDATE, "--set", "lineage.run=")) == 0
    assert installed.models["net"][0]["lineage"]["run"] == ""


def test_what_is_there_keeps_its_own(installed: FakeServer, file: Path, capsys: Capture) -> None:
    del file
    main((*CREATE, "--run", "7"))
    assert main((*CREATE, "--run", "8")) == 0
    assert installed.models["net"][0]["lineage"]["run"] == "7"
    assert "Its lineage stays as it is" in capsys.readouterr().err


def test_an_import_is_told_what_it_does_not_find(client: Client, server: FakeServer) -> None:
    models = ModelOperations(client, Quiet())
    models.create_or_update(
        Model(name="digits", path="hf://acme/digits", lineage={"run": "7", "commit": None})
    )
    (sent,) = [one for one in server.registered if one["name"] == "digits"]
    assert sent["lineage"] == {"run": "7"}


def test_deploying_a_file_states_it(installed: FakeServer, file: Path) -> None:
    assert main(("deploy", str(file), "--commit", "c0ffee", "--no-wait")) == 0
    assert installed.models["net"][0]["lineage"]["commit"] == "c0ffee"
