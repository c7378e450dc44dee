"""`--set` of the az ml commands: what may be said with it, and what is refused by name."""

import json
from pathlib import Path

import pytest

from shoal.cli.main import main
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
BLUE = ("-n", "blue", "-e", "ep-1")


@pytest.fixture
def served(installed: FakeServer, tmp_path: Path, capsys: Capture) -> FakeServer:
    """Endpoint ep-1 with deployment blue of model net."""
    model = tmp_path / "models" / "net" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"graph")
    (tmp_path / "deployment.yml").write_text("model: {name: net, version: 1, path: ./models}\n")
    assert main(["online-endpoint", "create", "-n", "ep-1"]) == 0
    assert main(["online-deployment", "create", *BLUE, "-f", "deployment.yml"]) == 0
    capsys.readouterr()
    return installed


@pytest.mark.parametrize(
    ("command", "setting", "may_be"),
    [
        (("online-endpoint", "update", "-n", "ep-1"), "name=other", "description"),
        (("online-endpoint", "update", "-n", "ep-1"), "scoring_uri=http://x", "traffic"),
        (("online-endpoint", "update", "-n", "ep-1"), "provisioning_state=Failed", "tags"),
        (("online-endpoint", "create", "-n", "ep-2"), "scoring_uri=http://x", "auth_mode"),
        (("online-deployment", "update", *BLUE), "name=green", "instance_count"),
        (("online-deployment", "update", *BLUE), "endpoint_name=other", "tags"),
        (("online-deployment", "update", *BLUE), "id=x", "model"),
        (
            ("online-deployment", "create", "-n", "red", "-e", "ep-1", "-f", "deployment.yml"),
            "provisioning_state=Failed",
            "instance_count",
        ),
        (("model", "update", "-n", "net", "-v", "1"), "path=./models", "description"),
        (("model", "update", "-n", "net", "-v", "1"), "type=mlflow_model", "tags"),
        (("model", "update", "-n", "net", "-v", "1"), "version=2", "properties"),
        (("model", "create", "-n", "net", "-p", "models"), "creation_context.x=y", "path"),
    ],
    ids=lambda one: one if isinstance(one, str) else " ".join(one[:2]),
)
def test_what_cannot_be_set_is_refused_by_name(
    served: FakeServer, capsys: Capture, command: tuple[str, ...], setting: str, may_be: str
) -> None:
    before = json.dumps([served.endpoints, served.models])
    calls = len(served.calls)
    assert main([*command, "--set", setting]) == 1
    err = capsys.readouterr().err
    assert f"--set {setting}" in err
    assert f"{setting.partition('=')[0].partition('.')[0]}: cannot be" in err
    assert may_be in err.partition("What to try:")[2]
    assert json.dumps([served.endpoints, served.models]) == before
    assert [call for call in served.calls[calls:] if not call.startswith("GET")] == []


def test_a_name_that_is_said_twice_is_no_change(served: FakeServer) -> None:
    same = ("--set", "name=ep-1", "tags.a=b")
    assert main(["online-endpoint", "update", "-n", "ep-1", *same]) == 0
    same = ("--set", "name=blue", "endpoint_name=ep-1", "tags.a=b")
    assert main(["online-deployment", "update", *BLUE, *same]) == 0
    assert served.endpoints["ep-1"]["tags"] == {"a": "b"}


def test_an_endpoint_s_update_makes_no_other(served: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "endpoint.yml").write_text("name: ep-1\n")
    assert main(["online-endpoint", "update", "-f", "endpoint.yml", "--set", "name=other"]) == 1
    assert list(served.endpoints) == ["ep-1"]


@pytest.mark.parametrize("count", ["0", "-1"])
@pytest.mark.parametrize("verb", ["create", "update"])
def test_nobody_is_given_no_replicas(
    served: FakeServer, capsys: Capture, verb: str, count: str
) -> None:
    which = ("-n", "blue" if verb == "update" else "red", "-e", "ep-1", "-f", "deployment.yml")
    uploads = len(served.uploads)
    assert main(["online-deployment", verb, *which, "--set", f"instance_count={count}"]) == 1
    err = capsys.readouterr().err
    assert f"instance_count: {count}, expected 1 or more" in err
    assert "online-deployment stop" in err
    assert len(served.uploads) == uploads
    assert [row["name"] for row in served.endpoints["ep-1"]["deployments"]] == ["blue"]


def test_a_paused_deployment_s_words_are_changed(served: FakeServer) -> None:
    (row,) = served.endpoints["ep-1"]["deployments"]
    row["instance_count"] = 0
    assert main(["online-deployment", "update", *BLUE, "--set", "tags.a=b"]) == 0
    assert (row["tags"], row["instance_count"]) == ({"a": "b"}, 0)


@pytest.mark.parametrize(
    "command",
    [
        ("online-deployment", "update", *BLUE, "--no-wait", "--set", "instance_count=64"),
        ("online-deployment", "create", "-n", "red", "-e", "ep-1", "-f", "deployment.yml"),
        ("deploy", "models", "--name", "more", "--instance-count", "64"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_what_may_not_do_what_was_meant_is_said(
    served: FakeServer, capsys: Capture, command: tuple[str, ...]
) -> None:
    served.warnings = ["64 replicas on 2 processors"]
    assert main(list(command)) == 0
    assert capsys.readouterr().err.count("Warning: 64 replicas on 2 processors") == 1
