"""Environments as assets: from a conda file to a version that deployments name."""

import json
from pathlib import Path

import pytest
import yaml

from shoal import load_environment
from shoal.cli.main import main
from shoal.client import Client, Problem, ShoalError
from shoal.entities import Environment, ManagedOnlineDeployment, ManagedOnlineEndpoint
from shoal.entities.errors import EntityInvalid
from shoal.entities.loading import load_online_deployment
from shoal.sdk import MLClient
from shoal.sdk.requirements import NotMapped
from tests.support.shoal_server import FakeServer

CONDA = {"name": "x", "dependencies": ["python=3.10", "numpy=2.4", {"pip": ["inference-schema"]}]}


@pytest.fixture
def ml(client: Client) -> MLClient:
    return MLClient(client=client, show_progress=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "conda.yaml").write_text(yaml.safe_dump(CONDA))
    path = tmp_path / "environment.yml"
    values = {"name": "scoring", "image": "mcr/base:1", "conda_file": "conda.yaml",
              "tags": {"team": "vision"}, "os_type": "linux"}  # fmt: skip
    path.write_text(yaml.safe_dump(values))
    return path


def test_a_file_is_registered_and_comes_back(ml: MLClient, file: Path) -> None:
    made = ml.create_or_update(load_environment(file))
    assert (made.name, made.version, made.tags) == ("scoring", "1", {"team": "vision"})
    assert (made.conda_file, made.image, made.os_type) == (CONDA, "mcr/base:1", "linux")
    assert made.shown["requirements"] == "numpy==2.4.*\ninference-schema\n"
    assert made.id is not None and made.id.endswith("/environments/scoring/versions/1")
    assert ml.environments.get("scoring", label="latest")._to_dict() == made._to_dict()
    assert ml.create_or_update(made).version == "1"  # as it came back, it is the same


def test_other_packages_are_the_next_version(ml: MLClient, file: Path) -> None:
    first = ml.environments.create_or_update(load_environment(file))
    first.conda_file = {"dependencies": ["scipy"]}
    first.version = None
    assert ml.environments.create_or_update(first).version == "2"
    assert [one.version for one in ml.environments.list()] == ["2"]
    assert [one.version for one in ml.environments.list("scoring")] == ["2", "1"]
    ml.environments.archive("scoring", version=2)
    assert [one.version for one in ml.environments.list("scoring")] == ["1"]
    found = ml.environments.list("scoring", list_view_type="ArchivedOnly")
    assert [one.version for one in found] == ["2"]
    ml.environments.restore("scoring", version=2)
    assert [one.version for one in ml.environments.list()] == ["2"]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        (Environment(conda_file=CONDA), "has no name"),
        (Environment(name="x", version="blue", conda_file=CONDA), "'blue' is no version"),
        (Environment(name="x", image="img:1"), "An image alone"),
        (Environment(name="x", conda_file={"dependencies": ["cudatoolkit"]}), "cudatoolkit"),
    ],
)
def test_what_cannot_be_installed_is_refused_before_it_is_kept(
    ml: MLClient, server: FakeServer, environment: Environment, words: str
) -> None:
    with pytest.raises(ShoalError, match=words):
        ml.environments.create_or_update(environment)
    assert server.environments.kept == {}


def test_a_file_without_a_name_or_with_a_wrong_key(tmp_path: Path) -> None:
    (tmp_path / "e.yml").write_text("conda_fil: conda.yaml\n")
    with pytest.raises(EntityInvalid) as refused:
        load_environment(tmp_path / "e.yml")
    assert "conda_fil" in refused.value.detail and "name" in refused.value.detail


@pytest.mark.parametrize("reference", ["azureml:scoring:1", "azureml:scoring@latest"])
def test_a_deployment_names_one(
    ml: MLClient, server: FakeServer, file: Path, tmp_path: Path, reference: str
) -> None:
    ml.environments.create_or_update(load_environment(file))
    ml.online_endpoints.begin_create_or_update(ManagedOnlineEndpoint(name="ep-1")).result()
    (tmp_path / "score.py").write_text("def init(): pass\n\n\ndef run(data): return data\n")
    values = {"name": "blue", "endpoint_name": "ep-1", "environment": reference,
              "code_configuration": {"code": ".", "scoring_script": "score.py"}}  # fmt: skip
    (tmp_path / "deployment.yml").write_text(yaml.safe_dump(values))
    entity = load_online_deployment(tmp_path / "deployment.yml")
    assert isinstance(entity, ManagedOnlineDeployment)
    made = ml.online_deployments.begin_create_or_update(entity).result()
    (version,) = server.models["ep-1-blue"]
    assert version["declared"] == {"environment": "azureml:scoring:1"}
    rows = {row["path"]: row["sha256"] for row in version["manifest"]}
    listed = server.blobs[rows["ep-1-blue/1/requirements.txt"]]
    assert listed == b"numpy==2.4.*\ninference-schema\n"
    assert made.environment == "azureml:scoring:1"


@pytest.mark.parametrize(
    ("reference", "kind", "words"),
    [
        ("azureml:nobody:1", Problem, "No such environment"),
        ("azureml://registries/azureml/environments/x/versions/1", NotMapped, "is not kept here"),
    ],
)
def test_one_that_is_not_there(
    ml: MLClient, reference: str, kind: type[ShoalError], words: str
) -> None:
    with pytest.raises(kind, match=words):
        ml.environments.referred(reference)


def test_the_command(file: Path, capsys: pytest.CaptureFixture[str], installed: FakeServer) -> None:
    def run(*words: str) -> str:
        assert main(["environment", *words]) == 0
        return capsys.readouterr().out

    conda = str(file.parent / "conda.yaml")
    shown = json.loads(run("create", "-n", "mine", "-c", conda, "--tags", "a=1", "-o", "json"))
    assert (shown["name"], shown["version"], shown["tags"]) == ("mine", "1", {"a": "1"})
    assert "azureml:scoring:1" in run("create", "-f", str(file))
    assert "numpy==2.4.*" in run("show", "-n", "mine", "-l", "latest")
    assert "numpy==2.4.*, inference-schema " in run("list")
    names = [row["name"] for row in json.loads(run("list", "-o", "json"))]
    assert names == ["mine", "scoring"]
    run("archive", "-n", "mine")
    assert "mine" not in run("list")
    assert "mine" in run("list", "--include-archived")
    run("restore", "-n", "mine", "-v", "1")
    assert not installed.environments.kept["mine"][0]["archived"]
    assert main(["environment", "create", "-n", "mine"]) == 2
