"""A file whose name is somebody else's model: nothing is registered over it unasked."""

import io
import json
import sys
from pathlib import Path

import pytest

from shoal.cli.main import main
from shoal.client import Client, Problem
from shoal.entities import Model
from shoal.sdk import MLClient
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
THERE, HERE = "net: x FP32[4] → y FP32[2]", "net: image FP32[3,224,224] → scores FP32[1000]"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def file(tmp_path: Path, installed: FakeServer) -> Path:
    """Of the same name as a model that is there, and of other tensors."""
    path = tmp_path / "net.onnx"
    path.write_bytes(b"theirs")
    assert main(["deploy", str(path)]) == 0
    path.write_bytes(b"mine")
    installed.other_tensors = {"newest": 1, "there": THERE, "here": HERE}
    return path


WAYS = pytest.mark.parametrize(
    "command", [("deploy", "net.onnx"), ("model", "create", "--name", "net", "--path", "net.onnx")]
)


@WAYS
def test_without_a_terminal_it_is_refused_and_the_option_is_named(
    installed: FakeServer, file: Path, capsys: Capture, command: tuple[str, ...]
) -> None:
    capsys.readouterr()
    assert main([*command]) == 1
    assert "Its inputs and outputs are not those of net" in (told := capsys.readouterr().err)
    assert "Where it is the next version, say `--allow-other-tensors`." in told
    assert len(installed.models["net"]) == 1
    assert main([*command, "--allow-other-tensors"]) == 0
    assert len(installed.models["net"]) == 2


@WAYS
@pytest.mark.parametrize(("said", "exit_code", "versions"), [("\n", 130, 1), ("y\n", 0, 2)])
def test_a_terminal_shows_both_and_asks(
    installed: FakeServer,
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
    command: tuple[str, ...],
    said: str,
    exit_code: int,
    versions: int,
) -> None:
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", Terminal(said))
    assert main([*command, "-o", "json"]) == exit_code
    out, err = capsys.readouterr()
    assert f"there  {THERE}" in err
    assert f"here   {HERE}" in err
    assert "Register it as the next version all the same? [y/N]" in err
    assert len(installed.models["net"]) == versions
    assert (str(json.loads(out)["version"]) == "2") if out else (versions == 1)


def test_the_sdk_refuses_where_it_is_told_to(
    client: Client, server: FakeServer, tmp_path: Path
) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"theirs")
    models = MLClient(client=client).models
    models.create_or_update(Model(name="net", path=path))
    server.other_tensors = {"newest": 1, "there": THERE, "here": HERE}
    path.write_bytes(b"mine")
    with pytest.raises(Problem, match="not those of net") as refused:
        models.create_or_update(Model(name="net", path=path), same_tensors=True)
    assert refused.value.code == "TensorsDiffer"
    assert models.create_or_update(Model(name="net", path=path)).version == "2"
