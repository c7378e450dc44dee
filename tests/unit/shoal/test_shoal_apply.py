"""`shoal apply`: a folder of files made so, or refused before any of it is."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
ENDPOINT = {"name": "ep-1", "auth_mode": "key", "traffic": {"blue": 100}}
BLUE = {
    "name": "blue",
    "endpoint_name": "ep-1",
    "model": {"name": "net", "version": 1, "path": "../models"},
    "instance_count": 1,
}
TF_SERVING = {
    "image": "docker.io/tensorflow/serving:latest",
    "inference_config": {"liveness_route": {"port": 8501, "path": "/v1/models/half_plus_two"}},
}
Write = Callable[..., None]


@pytest.fixture
def write(installed: FakeServer, tmp_path: Path) -> Write:
    """Writes files of the folder ``all``."""
    model = tmp_path / "models" / "net" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"graph")
    folder = tmp_path / "all"
    folder.mkdir()

    def written(**files: dict[str, Any]) -> None:
        for name, values in files.items():
            (folder / f"{name}.yml").write_text(yaml.safe_dump(values))

    return written


def test_a_folder_is_made_and_made_again_without_a_change(
    installed: FakeServer, write: Write, capsys: Capture
) -> None:
    write(endpoint=ENDPOINT, deployment=BLUE)
    assert main(["apply", "-f", "all", "--dry-run", "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["action"] for row in rows] == ["create", "create"]
    assert (installed.endpoints, installed.models, installed.uploads) == ({}, {}, {})
    assert main(["apply", "-f", "all"]) == 0
    shown = installed.endpoints["ep-1"]
    assert (shown["traffic"], shown["deployments"][0]["version"]) == ({"blue": 100}, "1")
    assert installed.models["net"][0]["version"] == 1


def test_a_scoring_script_is_registered_and_compared_by_its_content(
    installed: FakeServer, write: Write, capsys: Capture, tmp_path: Path
) -> None:
    (tmp_path / "all" / "code").mkdir(parents=True)
    script = tmp_path / "all" / "code" / "score.py"
    script.write_text("def init(): pass\n")
    code = {"code": "code", "scoring_script": "score.py"}
    write(endpoint=ENDPOINT, deployment={**BLUE, "code_configuration": code})
    assert main(["apply", "-f", "all"]) == 0
    assert installed.endpoints["ep-1"]["deployments"][0]["model"] == "ep-1-blue"
    capsys.readouterr()
    for text, action in (("def init(): pass\n", "none"), ("def init(): 1\n", "update")):
        script.write_text(text)
        assert main(["apply", "-f", "all", "--dry-run", "-o", "json"]) == 0
        rows = json.loads(capsys.readouterr().out)
        assert [row["action"] for row in rows] == ["none", action]


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry run", "run"])
@pytest.mark.parametrize(
    ("files", "said"),
    [
        (
            {"deployment": {**BLUE, "code_configuration": {"code": ".", "scoring_script": "s.py"}}},
            ["There is no such scoring script", "s.py is no file in"],
        ),
        ({"deployment": {**BLUE, "environment": {"image": "img:1"}}}, ["Images are not run"]),
        (
            {"deployment": {**BLUE, "environment": TF_SERVING}},
            ["Images are not run", "tensorflow/serving"],
        ),
        ({"deployment": {**BLUE, "instance_count": 0}}, ["instance_count: 0"]),
        ({"deployment": {**BLUE, "model": "azureml:none:1"}}, ["deployment ep-1/blue: Model none"]),
        ({"deployment": {**BLUE, "model": {"path": "../nothing"}}}, ["No such file or folder"]),
        ({"deployment": {**BLUE, "model": {"path": "https://x/y"}}}, ["Only local paths"]),
        (
            {
                "deployment": {**BLUE, "endpoint_name": "other"},
                "endpoint": {"name": "ep-1", "auth_mode": "key"},
            },
            ["deployment other/blue"],
        ),
        ({"endpoint": {**ENDPOINT, "traffic": {"red": 100}}}, ["endpoint ep-1:", "red"]),
        ({"endpoint": {**ENDPOINT, "traffic": {"blue": 70}}}, ["endpoint ep-1:", "100"]),
        ({"model": {"name": "more", "path": "../nothing"}}, ["No such file or folder"]),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else None,
)
def test_what_is_refused_is_refused_before_anything_is_made(
    installed: FakeServer,
    write: Write,
    capsys: Capture,
    files: dict[str, dict[str, Any]],
    said: list[str],
    dry_run: bool,
) -> None:
    write(**{"endpoint": ENDPOINT, "deployment": BLUE, **files})
    assert main(["apply", "-f", "all", *(["--dry-run"] if dry_run else [])]) in (1, 3)
    err = capsys.readouterr().err
    assert [text for text in said if text not in err] == []
    assert (installed.endpoints, installed.models, installed.uploads) == ({}, {}, {})


def test_what_the_server_refuses_is_asked_before_the_endpoint_is_made(
    installed: FakeServer, write: Write, capsys: Capture
) -> None:
    """Of a model that is not registered yet it can only be asked once it is."""
    slow = {**BLUE, "request_settings": {"request_timeout_ms": 9_999_999}}
    write(endpoint=ENDPOINT, deployment=slow)
    assert main(["apply", "-f", "all"]) == 1
    assert "request_timeout_ms is out of range" in capsys.readouterr().err
    assert (installed.endpoints, list(installed.models)) == ({}, ["net"])
    assert main(["apply", "-f", "all", "--dry-run"]) == 1
    assert "deployment ep-1/blue: request_timeout_ms is out of range" in capsys.readouterr().err


def test_files_may_name_the_models_that_they_bring(installed: FakeServer, write: Write) -> None:
    model = {"$schema": "model", "name": "net", "version": 1, "path": "../models"}
    write(endpoint=ENDPOINT, deployment={**BLUE, "model": "azureml:net:1"}, model=model)
    assert main(["apply", "-f", "all", "--dry-run"]) == 0
    assert (installed.endpoints, installed.models) == ({}, {})
    assert main(["apply", "-f", "all"]) == 0
    assert installed.endpoints["ep-1"]["traffic"] == {"blue": 100}


IDLE = {"enabled": True, "min": 0, "max": 3}


@pytest.mark.parametrize(
    ("policy", "count", "written"),
    [
        (IDLE, 0, None),
        (IDLE, 2, None),
        ({**IDLE, "enabled": False}, 2, 2),
        (None, 2, 2),
        (None, 0, None),  # somebody paused it
    ],
)
def test_what_is_exported_is_made_again_whatever_its_policy_has_taken_it_to(
    installed: FakeServer,
    write: Write,
    tmp_path: Path,
    policy: dict[str, Any] | None,
    count: int,
    written: int | None,
) -> None:
    write(endpoint=ENDPOINT, deployment={**BLUE, "autoscale": policy})
    assert main(["apply", "-f", "all"]) == 0
    installed.endpoints["ep-1"]["deployments"][0] |= {"instance_count": count, "autoscale": policy}
    assert main(["export", str(tmp_path / "out")]) == 0
    values = yaml.safe_load((tmp_path / "out" / "ep-1.blue.deployment.yml").read_text())
    assert (values.get("instance_count"), values.get("autoscale")) == (written, policy)
    installed.endpoints.clear()
    assert main(["apply", "-f", str(tmp_path / "out")]) == 0
    (blue,) = installed.endpoints["ep-1"]["deployments"]
    assert (blue["instance_count"], blue.get("autoscale")) == (written or 1, policy)
