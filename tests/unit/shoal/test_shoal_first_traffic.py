"""`--traffic` and `--rollout` of what deploys: what is asked of the server, and what is told."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from shoal import MLClient
from shoal.cli.main import main
from shoal.client import Client, ShoalError
from shoal.display.watcher import Quiet
from shoal.entities import ManagedOnlineDeployment
from tests.support.shoal_server import FakeServer

Capture = pytest.CaptureFixture[str]
ROLLED: dict[str, Any] = {"steps": [{"percent": 5, "hold_s": 60}, {"percent": 100}]}


class Bodies(list[dict[str, Any]]):
    """What was sent by the calls that match; the server answers them."""

    def __init__(self, server: FakeServer, pattern: str) -> None:
        super().__init__()
        server.fail_next(pattern, self._seen, times=9)

    def _seen(self, request: httpx.Request) -> None:
        self.append(json.loads(request.content))


@pytest.fixture
def installed_with_net(installed: FakeServer, tmp_path: Path) -> FakeServer:
    (tmp_path / "net.onnx").write_bytes(b"graph")
    assert main(["deploy", "net.onnx"]) == 0
    (tmp_path / "net.onnx").write_bytes(b"another graph")
    return installed


@pytest.mark.parametrize(
    ("options", "asked", "told"),
    [
        ([], {"traffic": 100}, "gets 100 % of the traffic when ready"),
        (["--traffic", "10"], {"traffic": 10}, "gets 10 % of the traffic when ready"),
        (["--traffic", "0"], {"traffic": 0}, "gets no traffic"),
        (["--rollout"], {"rollout": {}}, "its rollout begins when it is ready"),
        (["--steps", "5:60,100"], {"rollout": ROLLED}, "its rollout begins"),
        (
            ["--strategy", "blue_green", "--without", "golden", "--shadow", "10"],
            {
                "rollout": {
                    "strategy": "blue_green",
                    "guardrails": {"golden": None},
                    "shadow": {"percent": 10, "hold_s": 300},
                }
            },
            "its rollout begins",
        ),
    ],
)
def test_deploy_asks_for_it(
    installed_with_net: FakeServer,
    capsys: Capture,
    options: list[str],
    asked: dict[str, Any],
    told: str,
) -> None:
    bodies = Bodies(installed_with_net, "POST /deploy")
    assert main(["deploy", "net.onnx", *options]) == 0
    sent = {name: bodies[0].get(name) for name in ("traffic", "rollout") if name in bodies[0]}
    assert sent == asked
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("command", [("deploy", "net.onnx"), ("online-deployment", "create")])
def test_both_are_refused_before_anything_is_sent(
    installed_with_net: FakeServer, capsys: Capture, tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "green.yml").write_text("name: green\nendpoint_name: net\nmodel: azureml:net:1\n")
    file = ["-f", "green.yml"] if command[0] == "online-deployment" else []
    before = len(installed_with_net.calls)
    assert main([*command, *file, "--traffic", "10", "--rollout"]) == 2
    assert "--traffic 10: the rollout that is asked for" in capsys.readouterr().err
    assert len(installed_with_net.calls) == before


def test_a_file_s_deployment_takes_them_too(installed_with_net: FakeServer, tmp_path: Path) -> None:
    (tmp_path / "green.yml").write_text("name: green\nendpoint_name: net\nmodel: azureml:net:1\n")
    bodies = Bodies(installed_with_net, "POST /endpoints/net/deployments")
    create = ["online-deployment", "create", "-f", "green.yml"]
    assert main([*create, "--steps", "5:60,100"]) == 0
    assert (bodies[0]["rollout"], "traffic" in bodies[0]) == (ROLLED, False)


def test_one_that_did_not_begin_is_told(installed_with_net: FakeServer, capsys: Capture) -> None:
    def refused(request: httpx.Request) -> httpx.Response:
        name = request.url.path.rpartition("/")[2]
        operation = installed_with_net.operations[name]
        installed_with_net._advance(request, name)
        stage = {"name": "rollout", "title": "Begin the rollout", "status": "failed"}
        operation["stages"].append({**stage, "detail": "Not begun: it answers otherwise."})
        return httpx.Response(200, json=operation)

    installed_with_net.fail_next(r"GET /operations/\w+", refused)
    assert main(["deploy", "net.onnx", "--rollout"]) == 0
    assert "Warning: rollout of green: Not begun: it answers otherwise." in capsys.readouterr().err


def test_the_sdk_says_what_cannot_be(installed_with_net: FakeServer, client: Client) -> None:
    deployments = MLClient(client=client, watcher=Quiet()).online_deployments

    def entity(name: str) -> ManagedOnlineDeployment:
        return ManagedOnlineDeployment(name=name, endpoint_name="net", model="azureml:net:1")

    with pytest.raises(ShoalError, match="in one way"):
        deployments.begin_create_or_update(entity("next"), all_traffic=True, traffic=10)
    with pytest.raises(ShoalError, match="has a deployment blue already"):
        deployments.begin_create_or_update(entity("blue"), rollout={})
    bodies = Bodies(installed_with_net, "POST /endpoints/net/deployments")
    deployments.begin_create_or_update(entity("next"), traffic=10).result()
    assert bodies[0]["traffic"] == 10


def test_a_share_of_an_endpoint_that_answers_nobody_is_all_of_it(
    installed_with_net: FakeServer, capsys: Capture
) -> None:
    installed_with_net.endpoints["net"]["traffic"] = {}
    assert main(["deploy", "net.onnx", "-d", "next", "--traffic", "10"]) == 0
    assert "as next and gets 100 % of the traffic when ready" in capsys.readouterr().err
