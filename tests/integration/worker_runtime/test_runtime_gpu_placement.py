"""Instance groups on GPUs, over a driver made of files: where instances are said to be.

Nothing runs on a device here: a Python model tells what it was given, and ONNX Runtime has no GPU
to start on.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.http as http_client

from tests.support import onnx_models as om
from tests.support import python_models as pm
from tests.support.cuda_driver import cuda_driver, needs_compiler
from tests.support.runtime_process import Runtime, runtime, wait_until

pytestmark = [pytest.mark.integration, needs_compiler]
WHERE = """
class TritonPythonModel:
    def initialize(self, args):
        kind, device = args["model_instance_kind"], args["model_instance_device_id"]
        self.text = f"{args['model_instance_name']} {kind} {device}"
        print("placed: " + self.text, flush=True)

    def execute(self, requests):
        found = np.array([self.text], np.object_)
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT0", found)]) for _ in requests]
"""
TENSORS = (
    'input { name: "INPUT0" data_type: TYPE_FP32 dims: [-1] }\n'
    'output { name: "OUTPUT0" data_type: TYPE_STRING dims: [1] }\n'
)
GROUPS: dict[str, tuple[str, set[str]]] = {
    "auto": ("", {"auto_0 GPU 0", "auto_0 GPU 1"}),
    "one": ("instance_group { kind: KIND_GPU gpus: [ 1 ] }", {"one_0_0 GPU 1"}),
    "pair": (
        "instance_group { kind: KIND_GPU gpus: [ 0 ] count: 2 }",
        {"pair_0_0 GPU 0", "pair_0_1 GPU 0"},
    ),
    "cpu": ("instance_group { kind: KIND_CPU }", {"cpu_0_0 CPU 0"}),
}


def add(root: Path, name: str, groups: str) -> None:
    pm.add(root, name, WHERE, outputs="OUTPUT0:STRING:1", write_config=False)
    text = 'backend: "python"\n' + TENSORS + groups
    (root / name / "config.pbtxt").write_text(text)


def placed(server: Runtime, name: str) -> set[str]:
    lines = server.log.read_text().splitlines()
    found = {line.partition("placed: ")[2] for line in lines if "placed: " in line}
    return {text for text in found if text.startswith(f"{name}_")}


def test_instances_go_where_their_groups_say(tmp_path: Path) -> None:
    root = tmp_path / "models"
    for name, (groups, _) in GROUPS.items():
        add(root, name, groups)
    with cuda_driver(tmp_path, devices=2), runtime(root) as server:
        assert "2 GPUs" in server.log.read_text()
        for name, (_, expected) in GROUPS.items():
            wait_until(lambda name=name: placed(server, name), name)
            assert placed(server, name) == expected
        given = http_client.InferInput("INPUT0", [1], "FP32")
        given.set_data_from_numpy(np.zeros(1, np.float32))
        with http_client.InferenceServerClient(server.http) as client:
            answer = client.infer("one", [given]).as_numpy("OUTPUT0")
        assert answer.tolist() == [b"one_0_0 GPU 1"]


def test_models_that_cannot_go_there_leave_the_others_alone(tmp_path: Path) -> None:
    root = tmp_path / "models"
    add(root, "good", GROUPS["one"][0].replace("1", "0"))
    add(root, "absent", "instance_group { kind: KIND_GPU gpus: [ 3 ] }")
    om.save(root, "onnx", om.add_sub(), "instance_group { kind: KIND_GPU }\n")
    with (
        cuda_driver(tmp_path),
        runtime(root, "--exit-on-error=false", "--strict-readiness=false", ready=False) as server,
    ):
        wait_until(lambda: server.call("v2/health/ready")[0] == 200, server.log.read_text())
        reasons = {row["name"]: row for row in _index(server)}
        assert reasons["good"]["state"] == "READY"
        assert "CUDAExecutionProvider" in reasons["onnx"]["reason"]
        text = "specifies invalid or unsupported gpu id 3"
        assert text in server.log.read_text()


def _index(server: Runtime) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = server.json("v2/repository/index", {})[1]
    return rows
