"""A deployment with a scoring script: what is registered for it, and when nothing is."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from shoal.client import Client, UnusableSource
from shoal.entities import (
    CodeConfiguration,
    Environment,
    ManagedOnlineDeployment,
    ManagedOnlineEndpoint,
    Model,
)
from shoal.entities.loading import load_online_deployment
from shoal.sdk import MLClient
from shoal.sdk.scoring_code import ScriptUnusable
from tests.support.shoal_server import FakeServer

Files = dict[str, str]


@pytest.fixture
def ml(client: Client) -> MLClient:
    found = MLClient(client=client, show_progress=False)
    found.online_endpoints.begin_create_or_update(ManagedOnlineEndpoint(name="ep-1")).result()
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for path, text in {
        "onlinescoring/score.py": "def init(): pass\n\n\ndef run(data): return data\n",
        "onlinescoring/helpers/shapes.py": "SIDES = 4\n",
        "onlinescoring/__pycache__/score.pyc": "left over",
        "model/sklearn_regression_model.pkl": "pickled",
        "environment/conda.yaml": "dependencies:\n  - python=3.9\n  - scikit-learn=1.2\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def blue(project: Path, **more: Any) -> ManagedOnlineDeployment:
    values = {
        "name": "blue",
        "endpoint_name": "ep-1",
        "model": {"path": "model"},
        "code_configuration": {"code": "onlinescoring", "scoring_script": "score.py"},
        "environment": {"conda_file": "environment/conda.yaml", "image": "mcr/base:1"},
        **more,
    }
    (project / "deployment.yml").write_text(yaml.safe_dump(values))
    found = load_online_deployment(project / "deployment.yml")
    assert isinstance(found, ManagedOnlineDeployment)
    return found


def put(ml: MLClient, deployment: ManagedOnlineDeployment) -> Any:
    return ml.online_deployments.begin_create_or_update(deployment).result()


def manifest(server: FakeServer, name: str = "ep-1-blue", at: int = -1) -> Files:
    rows = server.models[name][at]["manifest"]
    return {
        row["path"].removeprefix(f"{name}/"): server.blobs[row["sha256"]].decode() for row in rows
    }


def test_script_model_and_packages_are_one_version(
    ml: MLClient, server: FakeServer, project: Path
) -> None:
    made = put(ml, blue(project))
    found = manifest(server)
    assert set(found) == {
        "config.pbtxt",
        "1/model.py",
        "1/requirements.txt",
        "1/azureml-app/score.py",
        "1/azureml-app/helpers/shapes.py",
        "1/azureml-models/model/sklearn_regression_model.pkl",
    }
    assert 'string_value: "azureml-app/score.py"' in found["config.pbtxt"]
    assert found["1/requirements.txt"] == "scikit-learn==1.2.*\n"
    assert made.model == "azureml:ep-1-blue:1"
    assert made.code_configuration == CodeConfiguration("azureml:ep-1-blue:1", "score.py")
    assert made.environment.conda_file["dependencies"] == ["python=3.9", "scikit-learn=1.2"]


def test_the_same_again_is_the_same_version_and_a_change_the_next(
    ml: MLClient, server: FakeServer, project: Path
) -> None:
    put(ml, blue(project))
    put(ml, blue(project))
    assert len(server.models["ep-1-blue"]) == 1
    (project / "onlinescoring" / "score.py").write_text("def init(): pass\ndef run(x): return 1\n")
    assert put(ml, blue(project)).model == "azureml:ep-1-blue:2"
    assert put(ml, blue(project, environment=None)).model == "azureml:ep-1-blue:3"
    assert "1/requirements.txt" not in manifest(server)


def test_what_was_read_back_is_deployed_without_its_folders(
    ml: MLClient, server: FakeServer, project: Path
) -> None:
    put(ml, blue(project))
    for folder in ("onlinescoring", "model", "environment"):
        for path in sorted((project / folder).rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    shown = ml.online_deployments.get("blue", "ep-1")
    shown.tags = {"a": "b"}
    assert put(ml, shown).model == "azureml:ep-1-blue:1"
    assert len(server.uploads) == 1
    shown.environment = Environment(conda_file={"dependencies": ["numpy"]})
    assert put(ml, shown).model == "azureml:ep-1-blue:2"
    found = manifest(server)
    assert found["1/requirements.txt"] == "numpy\n"
    assert found["1/azureml-app/helpers/shapes.py"] == "SIDES = 4\n"
    assert found["1/azureml-models/model/sklearn_regression_model.pkl"] == "pickled"


def test_workers_are_processes_of_each_replica(
    ml: MLClient, server: FakeServer, project: Path
) -> None:
    put(ml, blue(project))
    assert "instance_group" not in manifest(server)["config.pbtxt"]
    shown = ml.online_deployments.get("blue", "ep-1")
    shown.environment_variables = {"WORKER_COUNT": 3}
    assert put(ml, shown).model == "azureml:ep-1-blue:2"
    assert "instance_group { count: 3 kind: KIND_AUTO }" in manifest(server)["config.pbtxt"]
    shown = ml.online_deployments.get("blue", "ep-1")
    assert put(ml, shown).model == "azureml:ep-1-blue:2"
    shown.environment_variables = {"WORKER_COUNT": "many"}
    with pytest.raises(ScriptUnusable, match=r"environment_variables\.WORKER_COUNT: 'many'"):
        put(ml, shown)


BATCHED = """from shoal.scoring import batched
def init(): pass
@batched(16)
def run(x): return x
"""


def test_a_batched_script_has_a_configuration_with_a_batch(
    ml: MLClient, server: FakeServer, project: Path
) -> None:
    (project / "onlinescoring" / "score.py").write_text(BATCHED)
    put(ml, blue(project))
    assert "max_batch_size: 16\n" in manifest(server)["config.pbtxt"]
    shown = ml.online_deployments.get("blue", "ep-1")
    shown.environment = Environment(conda_file={"dependencies": ["numpy"]})
    assert put(ml, shown).model == "azureml:ep-1-blue:2"
    assert "max_batch_size: 16\n" in manifest(server)["config.pbtxt"], "its code is registered"
    (project / "onlinescoring" / "score.py").write_text(BATCHED.replace("16", "SIZE"))
    with pytest.raises(ScriptUnusable, match=r"score\.py: @batched: max_batch_size is SIZE"):
        put(ml, blue(project))


def test_a_registered_model_is_taken_without_sending_it(
    ml: MLClient, server: FakeServer, project: Path
) -> None:
    net = project / "net" / "1" / "model.onnx"
    net.parent.mkdir(parents=True)
    net.write_bytes(b"graph")
    ml.models.create_or_update(Model(name="net", path=project / "net"))
    sent = len(server.blobs)
    put(ml, blue(project, model="azureml:net:1", environment=None))
    found = manifest(server)
    assert found["1/azureml-models/net/1/model.onnx"] == "graph"
    # config.pbtxt, model.py, score.py, shapes.py
    assert len(server.blobs) == sent + 4


@pytest.mark.parametrize("path", ["model", "model/sklearn_regression_model.pkl"])
def test_files_that_nothing_serves_wait_for_a_script(
    ml: MLClient, server: FakeServer, project: Path, path: str
) -> None:
    kept = ml.models.create_or_update(Model(name="regression", path=project / path))
    assert kept.version == "1"
    place = f"1/azureml-models/{path.partition('/')[2] or 'model/sklearn_regression_model.pkl'}"
    found = manifest(server, "regression")
    assert set(found) == {"config.pbtxt", "1/model.py", place}
    assert "AZUREML_ENTRY_SCRIPT" not in found["config.pbtxt"]
    put(ml, blue(project, model="azureml:regression@latest"))
    assert manifest(server)[place] == "pickled"
    assert len([name for name in manifest(server) if "azureml-models" in name]) == 1


@pytest.mark.parametrize("lists", [("requirements.txt",), ("conda.yaml",), ()])
def test_a_folder_of_mlflow_is_a_model_with_its_packages(
    ml: MLClient, server: FakeServer, project: Path, lists: tuple[str, ...]
) -> None:
    flow = project / "flow"
    (flow / "code").mkdir(parents=True)
    (flow / "code" / "more.py").write_text("SIDES = 4\n")
    (flow / "MLmodel").write_text("flavors: {python_function: {}}\n")
    texts = {"requirements.txt": "mlflow==3\n", "conda.yaml": "dependencies: [{pip: [mlflow==3]}]"}
    for name in lists:
        (flow / name).write_text(texts[name])
    deployment = blue(
        project, code_configuration=None, environment=None,
        model={"name": "flow", "path": "flow", "type": "mlflow_model"},
    )  # fmt: skip
    assert put(ml, deployment).model == "azureml:flow:1"
    found = manifest(server, "flow")
    assert 'string_value: "azureml-models/flow/MLmodel"' in found["config.pbtxt"]
    assert found.get("1/requirements.txt", "") == ("mlflow==3\n" if lists else "")
    assert "1/azureml-models/flow/code/more.py" in found


def test_a_graph_that_mlflow_saved_is_served_by_itself(
    ml: MLClient, server: FakeServer, project: Path
) -> None:
    (project / "flow").mkdir()
    for name in ("MLmodel", "model.onnx"):
        (project / "flow" / name).write_text(name)
    ml.models.create_or_update(Model(name="flow", path=project / "flow"))
    assert set(manifest(server, "flow")) == {"1/MLmodel", "1/model.onnx"}


def test_a_model_for_triton_has_to_be_one(ml: MLClient, project: Path) -> None:
    with pytest.raises(UnusableSource, match="looks like a model"):
        ml.models.create_or_update(Model(path=project / "model", type="triton_model"))


def test_a_single_file_and_no_model_at_all(ml: MLClient, server: FakeServer, project: Path) -> None:
    file = "model/sklearn_regression_model.pkl"
    put(ml, blue(project, model={"path": file}))
    assert "1/azureml-models/sklearn_regression_model.pkl" in manifest(server)
    put(ml, blue(project, name="green", model=None))
    assert not any("azureml-models" in path for path in manifest(server, "ep-1-green"))
    # a file without a model keeps the one that runs
    put(ml, blue(project, model=None, environment=None))
    assert "1/azureml-models/sklearn_regression_model.pkl" in manifest(server)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ({"code": "nowhere", "scoring_script": "score.py"}, "code_configuration.code: .*nowhere"),
        ({"code": "onlinescoring", "scoring_script": "no.py"}, "scoring_script: no.py is no file"),
        ({"code": "onlinescoring"}, "code_configuration.scoring_script: ''"),
        ({"code": ".", "scoring_script": "../score.py"}, "scoring_script: '../score.py'"),
        ({"code": ".", "scoring_script": "/score.py"}, "scoring_script: '/score.py'"),
        ({"code": ".", "scoring_script": "score.sh"}, "expected a .py file"),
        ({"code": ".", "scoring_script": 'a".py'}, "quotes or backslashes"),
    ],
)
def test_a_script_that_is_not_there_is_refused_before_anything_is_sent(
    ml: MLClient, server: FakeServer, project: Path, code: Files, words: str
) -> None:
    deployment = blue(project, code_configuration=code)
    with pytest.raises(ScriptUnusable, match=words):
        put(ml, deployment)
    with pytest.raises(ScriptUnusable, match=words):
        ml.online_deployments.check(deployment, None, new_endpoint=False)
    assert server.uploads == {}


def test_what_amlignore_leaves_out_is_not_sent(
    ml: MLClient, server: FakeServer, project: Path
) -> None:
    folder = project / "onlinescoring"
    (folder / "data").mkdir()
    for name in ("data/huge.csv", "secret.env"):
        (folder / name).write_text("private")
    (folder / ".gitignore").write_text("data/\n*.env\n")
    put(ml, blue(project))
    assert not any(name.endswith((".csv", ".env")) for name in manifest(server))
    (folder / ".amlignore").write_text("*.env\n")
    put(ml, blue(project))
    assert "1/azureml-app/data/huge.csv" in manifest(server)
    (folder / ".amlignore").write_text("*.py\n")
    with pytest.raises(ScriptUnusable, match=r"score\.py matches a line of .*\.amlignore"):
        put(ml, blue(project))


def test_paths_of_the_sdk_are_relative_to_where_it_runs(
    ml: MLClient, server: FakeServer, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "environment")
    deployment = ManagedOnlineDeployment(
        name="blue",
        endpoint_name="ep-1",
        model=Model(path="../model/"),
        code_configuration=CodeConfiguration(code="../onlinescoring", scoring_script="score.py"),
        environment=Environment(conda_file="conda.yaml"),
    )
    put(ml, deployment)
    assert "1/azureml-models/model/sklearn_regression_model.pkl" in manifest(server)
