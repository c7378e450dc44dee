"""A replica that doubles what it is given, as a node agent is told to run it."""

import httpx
import onnx
from onnx import TensorProto, helper

from tests.support.agent_node import DEADLINE_S
from tests.support.fake_control_plane import FakeControlPlane
from wire.messages import DesiredReplica, ObservedReplica


def doubling_model() -> bytes:
    """y = x + x, FP32, open batch."""
    tensors = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 2]) for name in ("x", "y")
    ]
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["y"])], "double", [tensors[0]], [tensors[1]]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def replica(
    control_plane: FakeControlPlane, replica_id: str = "r1", generation: int = 1
) -> DesiredReplica:
    return DesiredReplica(
        replica_id=replica_id,
        generation=generation,
        endpoint="double",
        deployment="blue",
        files=(control_plane.file("double/1/model.onnx", doubling_model()),),
        models=("double",),
        load_timeout_s=DEADLINE_S,
    )


def double(seen: ObservedReplica, **headers: str) -> list[float]:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1.5, 4]}
    url = f"http://127.0.0.1:{seen.http_port}/v2/models/double/infer"
    answer = httpx.post(url, json={"inputs": [tensor]}, headers=headers).raise_for_status().json()
    return list(answer["outputs"][0]["data"])
