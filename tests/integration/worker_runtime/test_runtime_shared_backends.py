"""Backends made of shared Python code: one ``model.py`` in --backend-directory for many models."""

from pathlib import Path

import numpy as np
import pytest
import tritonclient.http as http_client

from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = pytest.mark.integration
# Multiplies by the number in the model's own file; the constant comes from a module beside it.
SCALE = """
import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

from constants import OFFSET


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [-1]})
        config.add_output({"name": "y", "data_type": "TYPE_FP32", "dims": [-1]})
        config.set_max_batch_size(4)
        return config

    def initialize(self, args):
        config = json.loads(args["model_config"])
        assert config["backend"] == "scale", config["backend"]
        file = config["default_model_filename"] or "factor.json"
        place = Path(args["model_repository"], args["model_version"], file)
        self.factor = np.float32(json.loads(place.read_text()))

    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
            tensor = pb_utils.Tensor("y", x * self.factor + np.float32(OFFSET))
            answers.append(pb_utils.InferenceResponse([tensor]))
        return answers
"""


@pytest.fixture
def backends(tmp_path: Path) -> Path:
    folder = tmp_path / "backends" / "scale"
    folder.mkdir(parents=True)
    (folder / "model.py").write_text(SCALE)
    (folder / "constants.py").write_text("OFFSET = 1\n")
    (tmp_path / "backends" / "compiled").mkdir()  # of a Triton: no model.py in it
    return tmp_path / "backends"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "models"
    for name, file, config in (
        ("double", "factor.json", 'backend: "scale"'),
        ("triple", "three.json", 'backend: "scale" default_model_filename: "three.json"'),
        ("four.scale", "model.scale", ""),  # the name says which backend
    ):
        version = root / name / "1"
        version.mkdir(parents=True)
        (version / file).write_text({"double": "2", "triple": "3"}.get(name, "4"))
        if config:
            (root / name / "config.pbtxt").write_text(config)
    return root


def ask(server: Runtime, model: str) -> list[float]:
    given = http_client.InferInput("x", [1, 2], "FP32")
    given.set_data_from_numpy(np.array([[1, 2]], np.float32))
    with http_client.InferenceServerClient(server.http) as client:
        answer = client.infer(model, [given]).as_numpy("y")
    return [float(value) for value in answer[0]]


def test_one_file_serves_many_models(repository: Path, backends: Path) -> None:
    with runtime(repository, f"--backend-directory={backends}") as server:
        assert ask(server, "double") == [3, 5]
        assert ask(server, "triple") == [4, 7]
        assert ask(server, "four.scale") == [5, 9]
        _, config = server.json("v2/models/double/config")
        assert (config["backend"], config["max_batch_size"]) == ("scale", 4)
        assert f"| scale       | {backends}/scale/model.py" in server.log.read_text()


def test_without_the_directory_the_backend_is_unknown(repository: Path, tmp_path: Path) -> None:
    flags = ("--exit-on-error=false", f"--backend-directory={tmp_path / 'nowhere'}")
    with runtime(repository, *flags, ready=False) as server:
        text = "unable to find backend library for backend 'scale'"
        wait_until(lambda: text in server.log.read_text(), text)
        assert server.call("v2/models/double/ready")[0] != 200


def test_what_is_built_in_is_not_replaced(repository: Path, backends: Path) -> None:
    (backends / "identity").mkdir()
    (backends / "identity" / "model.py").write_text("raise RuntimeError('not me')\n")
    (repository / "same" / "1").mkdir(parents=True)
    (repository / "same" / "config.pbtxt").write_text(
        'backend: "identity" '
        'input { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] } '
        'output { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] }'
    )
    with runtime(repository, f"--backend-directory={backends}") as server:
        assert server.json("v2/models/same")[1]["platform"] == "identity"
