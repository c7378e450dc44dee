"""`--local` before anything runs: whose endpoint is meant, and what is refused."""

import json
from pathlib import Path

import pytest

from shoal import MLClient
from shoal.cli.main import main
from shoal.client import InstallationNotFound, ShoalError
from shoal.entities import ManagedOnlineDeployment, ManagedOnlineEndpoint, Model
from shoal.sdk.local_endpoints import LocalNotFound
from tests.support.shoal_server import FakeServer


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MLClient:
    """A client on a machine that knows no installation."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "SHOAL_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("SHOAL_URL", raising=False)
    monkeypatch.chdir(tmp_path)
    return MLClient()


def test_nothing_but_what_is_local_needs_an_installation(alone: MLClient) -> None:
    endpoint = ManagedOnlineEndpoint(name="mine", tags={"a": "b"}, description="here")
    assert alone.begin_create_or_update(endpoint, local=True).result().name == "mine"
    found = alone.online_endpoints.get("mine", local=True)
    assert (found.tags, found.description) == ({"a": "b"}, "here")
    assert (found.provisioning_state, found.scoring_uri) == ("Succeeded", None)
    assert [item.name for item in alone.online_endpoints.list(local=True)] == ["mine"]
    with pytest.raises(InstallationNotFound, match="SHOAL_URL"):
        alone.online_endpoints.get("mine")
    with pytest.raises(InstallationNotFound):
        alone.begin_create_or_update(endpoint)
    alone.online_endpoints.begin_delete("mine", local=True).result()
    assert list(alone.online_endpoints.list(local=True)) == []


def test_what_is_not_there_is_named(alone: MLClient, tmp_path: Path) -> None:
    deployment = ManagedOnlineDeployment(name="blue", endpoint_name="mine", model=Model(path="m"))
    for call in (
        lambda: alone.online_endpoints.get("mine", local=True),
        lambda: alone.online_endpoints.begin_delete("mine", local=True),
        lambda: alone.online_endpoints.invoke("mine", input_data={}, local=True),
        lambda: alone.online_deployments.list("mine", local=True),
        lambda: alone.begin_create_or_update(deployment, local=True),
        lambda: alone.online_endpoints.get("../../etc", local=True),
    ):
        with pytest.raises(LocalNotFound, match="no local endpoint"):
            call()
    alone.begin_create_or_update(ManagedOnlineEndpoint(name="mine"), local=True)
    with pytest.raises(LocalNotFound, match="mine has no deployment blue: it has none"):
        alone.online_deployments.get("blue", "mine", local=True)
    with pytest.raises(LocalNotFound, match=r"no deployment \.\./x"):
        alone.online_deployments.get_logs("../x", "mine", 5, local=True)
    with pytest.raises(ShoalError, match="local endpoint mine has no deployment"):
        alone.online_endpoints.invoke("mine", input_data={}, local=True)
    with pytest.raises(ShoalError, match=r"traffic names deployments.*blue"):
        alone.begin_create_or_update(
            ManagedOnlineEndpoint(name="mine", traffic={"blue": 100}), local=True
        )
    with pytest.raises(ShoalError, match="cannot be a name"):
        alone.begin_create_or_update(ManagedOnlineEndpoint(name="a/../b"), local=True)


def test_what_cannot_be_served_leaves_nothing(alone: MLClient, tmp_path: Path) -> None:
    alone.begin_create_or_update(ManagedOnlineEndpoint(name="mine"), local=True)
    (tmp_path / "weights.pkl").write_bytes(b"weights")
    for model, words in (
        (None, "blue has no model"),
        (Model(path="weights.pkl"), "Nothing in the model is served by itself"),
        (Model(path="nowhere"), "nowhere"),
        ("azureml:net:1", "No Shoal installation found"),
    ):
        deployment = ManagedOnlineDeployment(name="blue", endpoint_name="mine", model=model)
        with pytest.raises(ShoalError, match=words):
            alone.begin_create_or_update(deployment, local=True)
        assert list(alone.online_deployments.list("mine", local=True)) == []
        assert not list(tmp_path.glob("XDG_STATE_HOME/**/run-*"))


def test_an_endpoint_of_both_is_the_local_one(
    installed: FakeServer, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["online-endpoint", "create", "-n", "both", "-o", "none"]) == 0
    assert main(["online-endpoint", "create", "-n", "both", "--local", "-o", "none"]) == 0
    assert main(["online-endpoint", "create", "-n", "theirs", "-o", "none"]) == 0
    capsys.readouterr()

    def uri(name: str, *more: str) -> str | None:
        assert main(["online-endpoint", "show", "-n", name, "-o", "json", *more]) == 0
        found: str | None = json.loads(capsys.readouterr().out)["scoring_uri"]
        return found

    assert uri("both") == "https://gateway.test/endpoints/both/"
    assert uri("both", "--local") is None
    assert uri("theirs", "--local") == "https://gateway.test/endpoints/theirs/"
    assert main(["online-endpoint", "list", "--local", "-o", "tsv"]) == 0
    assert "theirs" not in capsys.readouterr().out
    assert main(["online-endpoint", "update", "-n", "theirs", "--local", "--set", "tags.a=b"]) == 0
    assert installed.endpoints["theirs"]["tags"] == {"a": "b"}
    assert main(["online-endpoint", "delete", "-n", "both", "--local", "-y"]) == 0
    assert set(installed.endpoints) == {"both", "theirs"}


def test_replicas_take_no_debugger(
    installed: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "blue.yml").write_text("name: blue\nendpoint_name: mine\n")
    assert main(["online-deployment", "create", "-f", "blue.yml", "--vscode-debug"]) == 2
    assert "replicas take no debugger; give --local" in capsys.readouterr().err
