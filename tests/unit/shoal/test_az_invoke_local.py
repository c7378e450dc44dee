"""`invoke --local` of an installation: a deployment answers that nobody has given traffic.

Scripts said --local to installations before it meant this machine.
"""

from pathlib import Path
from typing import Any

import pytest

from shoal.cli.main import main
from shoal.sdk import scoring
from tests.support.shoal_server import FakeServer

INVOKE = ("online-endpoint", "invoke", "-n", "ep-1", "-r", "request.json")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The deployments that were asked for by name."""
    found: list[str | None] = []

    def post(_: Any, __: str, ___: bytes, deployment: str | None, ____: Any) -> str:
        found.append(deployment)
        return "{}"

    monkeypatch.setattr(scoring, "post", post)
    return found


@pytest.fixture
def served(installed: FakeServer, tmp_path: Path) -> FakeServer:
    model = tmp_path / "models" / "net" / "1" / "model.onnx"
    model.parent.mkdir(parents=True)
    model.write_bytes(b"graph")
    (tmp_path / "request.json").write_text("{}")
    (tmp_path / "blue.yml").write_text("model: {name: net, version: 1, path: ./models}\n")
    assert main(["online-endpoint", "create", "-n", "ep-1"]) == 0
    create = ("online-deployment", "create", "-e", "ep-1", "-f", "blue.yml", "--local")
    assert main([*create, "-n", "blue"]) == 0
    return installed


def test_the_only_deployment_answers_without_traffic(
    served: FakeServer, asked: list[str | None]
) -> None:
    assert main([*INVOKE, "--local"]) == 0
    assert main([*INVOKE]) == 0  # whoever has the traffic, that is nobody here
    served.endpoints["ep-1"]["traffic"] = {"blue": 100}
    assert main([*INVOKE, "--local"]) == 0
    assert asked == ["blue", None, None]


def test_of_several_one_is_named(
    served: FakeServer, asked: list[str | None], capsys: pytest.CaptureFixture[str]
) -> None:
    create = ("online-deployment", "create", "-e", "ep-1", "-f", "blue.yml", "-n", "green")
    assert main([*create, "--local"]) == 0
    capsys.readouterr()
    assert main([*INVOKE, "--local"]) == 1
    err = capsys.readouterr().err
    assert "blue, green" in err and "--deployment-name" in err
    assert "There is no local endpoint ep-1; the installation is asked" in err
    assert main([*INVOKE, "--local", "--deployment-name", "green"]) == 0
    assert asked == ["green"]
