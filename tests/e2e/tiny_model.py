"""A small classifier whose tensor names are as exporters write them, and its truth in numpy."""

from pathlib import Path

import numpy
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

INPUT = "scale_0.tmp_1"
OUTPUT = "a/b:0"
FEATURES = 4
CLASSES = 3
WEIGHTS = numpy.array([[2, -1, 0], [0, 1, -2], [-1, 0, 1], [1, 1, 1]], dtype=numpy.float32)


def write(path: Path) -> Path:
    """softmax(x @ WEIGHTS) over FP32 [batch, 4], with a named batch axis."""
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", [INPUT, "weights"], ["scores"]),
            helper.make_node("Softmax", ["scores"], [OUTPUT], axis=-1),
        ],
        "tiny",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["batch", FEATURES])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["batch", CLASSES])],
        [numpy_helper.from_array(WEIGHTS, "weights")],
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9, producer_name="shoal-e2e"
    )
    onnx.checker.check_model(model)
    path.write_bytes(model.SerializeToString())
    return path


def expected(values: NDArray[numpy.float32]) -> NDArray[numpy.float32]:
    scores = numpy.exp(values @ WEIGHTS)
    result: NDArray[numpy.float32] = scores / scores.sum(axis=-1, keepdims=True)
    return result
