"""Local deployments as a user of Azure ML makes them: no installation, a real runtime."""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoal import MLClient
from shoal.aio import MLClient as AioClient
from shoal.cli.main import main
from shoal.client import ShoalError
from shoal.client.discovery import state_folder
from shoal.dev.background import Background
from shoal.entities import ManagedOnlineDeployment, ManagedOnlineEndpoint, load_online_deployment
from shoal.scaffold.project import create
from shoal.sdk.scoring import ScoringFailed
from tests.support.onnx_models import FP32, identity, model_bytes
from tests.support.runtime_process import wait_until

AZURE_YAML = Path(__file__).parents[2] / "support" / "azure_yaml"
SCRIPT = """
import json, os, time


def init():
    print("labels of", os.listdir(os.environ["AZUREML_MODEL_DIR"]), os.environ["GREETING"])


def run(data):
    asked = json.loads(data)
    if asked == "slow":
        while True: time.sleep(0.01)
    return {"pid": os.getpid(), "twice": 2 * asked}
"""
FILE = """
name: blue
endpoint_name: mine
model: {path: model/}
code_configuration: {code: src, scoring_script: score.py}
environment_variables: {GREETING: hello}
request_settings: {request_timeout_ms: 300}
instance_type: Standard_DS3_v2
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as of the public sample, on a machine without an installation."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "SHOAL_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("SHOAL_URL", raising=False)
    files = {"src/score.py": SCRIPT, "model/weights.txt": "5", "blue.yml": FILE, "ask.json": "21"}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for lock in state_folder().glob("*/deployments/*/run-*/running.lock"):
        Background(lock.parent).stop()


@pytest.fixture
def client(project: Path) -> MLClient:
    ml_client = MLClient(show_progress=False)
    ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="mine"), local=True).result()
    return ml_client


def asked(client: MLClient, value: Any, **more: Any) -> Any:
    text = client.online_endpoints.invoke("mine", input_data=value, local=True, **more)
    return json.loads(text)


def test_the_commands_of_the_local_sample(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def out(*command: str) -> str:
        assert main([*command, "--local"]) == 0
        return capsys.readouterr().out

    out("online-endpoint", "create", "-n", "mine")
    out("online-deployment", "create", "-n", "blue", "--endpoint", "mine", "-f", "blue.yml")
    shown = json.loads(out("online-deployment", "show", "-n", "blue", "-e", "mine", "-o", "json"))
    assert shown["provisioning_state"] == "Succeeded"
    assert shown["model"]["path"] == str(project / "model")
    answer = out("online-endpoint", "invoke", "-n", "mine", "--request-file", "ask.json")
    assert json.loads(answer)["twice"] == 42
    logs = out("online-deployment", "get-logs", "-n", "blue", "-e", "mine")
    assert "labels of ['model'] hello" in logs
    assert "mine" in out("online-endpoint", "list")
    assert str(project / "model") in out("online-deployment", "list", "-e", "mine")
    (run,) = state_folder().glob("mine/deployments/blue/run-*")
    assert Background(run).is_alive()
    out("online-endpoint", "delete", "-n", "mine", "--yes")
    assert not run.exists() and not Background(run).is_alive()


def test_a_change_that_does_not_start_leaves_what_serves(client: MLClient, project: Path) -> None:
    blue = load_online_deployment(project / "blue.yml")
    client.begin_create_or_update(blue, local=True, all_traffic=True).result()
    before = asked(client, 1)
    with pytest.raises(ScoringFailed, match="run\\(\\) took longer than 300 ms"):
        asked(client, '"slow"')
    (project / "src" / "score.py").write_text(SCRIPT.replace("def init():", "def init():\n    1/0"))
    with pytest.raises(ShoalError, match="ZeroDivisionError") as refused:
        client.begin_create_or_update(blue, local=True)
    assert refused.value.hints[-1] == "blue serves on as it was."
    assert asked(client, 1) == before
    # another one that fails keeps its log, and takes no requests
    green = load_online_deployment(project / "blue.yml", params_override=[{"name": "green"}])
    with pytest.raises(ShoalError, match=r"score.py\(\d+\): init"):
        client.begin_create_or_update(green, local=True)
    shown = client.online_deployments.get("green", "mine", local=True)
    assert shown.provisioning_state == "Failed"
    assert "ZeroDivisionError" in client.online_deployments.get_logs(
        "green", "mine", 50, local=True
    )
    assert asked(client, 1) == before
    with pytest.raises(ShoalError, match="green does not run"):
        asked(client, 1, deployment_name="green")
    (project / "src" / "score.py").write_text(SCRIPT.replace("2 * asked", "3 * asked"))
    client.begin_create_or_update(blue, local=True)
    assert asked(client, 1)["twice"] == 3
    assert len(list(state_folder().glob("mine/deployments/blue/run-*"))) == 1


def test_one_that_was_killed_says_so_and_comes_back(client: MLClient, project: Path) -> None:
    client.begin_create_or_update(load_online_deployment(project / "blue.yml"), local=True)
    (run,) = state_folder().glob("mine/deployments/blue/run-*")
    os.kill(int((run / "pid").read_text()), signal.SIGKILL)
    wait_until(lambda: not Background(run).is_alive(), "the end of the runtime")
    shown = client.online_deployments.get("blue", "mine", local=True)
    assert (shown.provisioning_state, shown.shown["scoring_uri"]) == ("Failed", None)
    with pytest.raises(ShoalError, match="does not run") as refused:
        asked(client, 1)
    assert any("update --local" in hint for hint in refused.value.hints)
    assert main(["online-deployment", "update", "--local", "-n", "blue", "-e", "mine"]) == 0
    assert asked(client, 2)["twice"] == 4
    # as if the command had been killed before it wrote down what it had begun
    (run,) = state_folder().glob("mine/deployments/blue/run-*")
    (run.parent / "deployment.json").unlink()
    client.online_endpoints.begin_delete("mine", local=True)
    assert not run.exists()
    assert not list(client.online_endpoints.list(local=True))


def test_a_model_for_triton_from_an_event_loop(project: Path) -> None:
    create(project / "net", "net-one", "python")
    body = {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [0, 0, 0, 0]}]}

    async def flow() -> dict[str, Any]:
        async with AioClient(show_progress=False) as ml_client:
            await ml_client.begin_create_or_update(ManagedOnlineEndpoint(name="mine"), local=True)
            blue = ManagedOnlineDeployment(
                name="blue", endpoint_name="mine", model={"path": str(project / "net" / "models")}
            )  # type: ignore[arg-type]
            await ml_client.begin_create_or_update(blue, local=True)
            text = await ml_client.online_endpoints.invoke("mine", input_data=body, local=True)
            logs = await ml_client.online_deployments.get_logs("blue", "mine", 10, local=True)
            assert "successfully loaded 'net-one'" in logs
            await ml_client.online_endpoints.begin_delete("mine", local=True)
            found: dict[str, Any] = json.loads(text)
            return found

    assert asyncio.run(flow())["outputs"][0]["data"] == [0.0, 0.0, 0.0]


NET = {"inputs": [{"name": "X", "shape": [1, 3], "datatype": "FP32", "data": [1, 2, 3]}]}


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("deployment-code", {"environment": None}),  # names a registered one
        ("deployment-container", {}),
        ("deployment-no-endpoint", {}),
        ("deployment-seed", {}),
    ],
)
def test_files_that_the_genuine_package_loads_run_here(
    client: MLClient, project: Path, file: str, more: dict[str, Any]
) -> None:
    """Those of tests/support/azure_yaml that bring their model, with one in its place."""
    folder = project / "azure"
    shutil.copytree(AZURE_YAML, folder)
    net = model_bytes(identity(FP32, "N", 3, source="X"))
    (folder / "models" / "net" / "1" / "model.onnx").write_bytes(net)
    (folder / "code" / "score.py").write_text(SCRIPT)
    given = [{"endpoint_name": "mine", "environment_variables": {"GREETING": "hello"}}]
    deployment = load_online_deployment(folder / f"{file}.yml", params_override=given)
    for name, value in more.items():
        setattr(deployment, name, value)
    client.begin_create_or_update(deployment, local=True).result()
    if deployment.code_configuration is not None:
        assert asked(client, 4)["twice"] == 8
    else:
        assert asked(client, NET)["outputs"][0]["data"] == [1.0, 2.0, 3.0]
