"""Tensors and models of every data type, for tests/gpu."""

from typing import Any

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

from tests.support import onnx_models as om

ONNX = {
    "FP16": TensorProto.FLOAT16,
    "FP32": TensorProto.FLOAT,
    "FP64": TensorProto.DOUBLE,
    "INT8": TensorProto.INT8,
    "INT16": TensorProto.INT16,
    "INT32": TensorProto.INT32,
    "INT64": TensorProto.INT64,
    "UINT8": TensorProto.UINT8,
    "UINT16": TensorProto.UINT16,
    "UINT32": TensorProto.UINT32,
    "UINT64": TensorProto.UINT64,
    "BOOL": TensorProto.BOOL,
}
# PyTorch has few operators for unsigned numbers of more than 8 bits.
TORCH = ("FP16", "FP32", "FP64", "INT8", "INT16", "INT32", "INT64", "UINT8", "BOOL", "BF16")


def values(kind: str, shape: tuple[int, ...]) -> Any:
    """Whole numbers that each type has."""
    found = np.arange(int(np.prod(shape))).reshape(shape) % 100
    if kind == "BF16":
        return found.astype(ml_dtypes.bfloat16)
    dtype = kind.lower().replace("fp", "float")
    return (found % 2 if kind == "BOOL" else found).astype(dtype)


def onnx_of_all_types() -> Any:
    """An Identity for each type; x_FP32 also transposed."""
    nodes = [helper.make_node("Identity", [f"x_{kind}"], [f"y_{kind}"]) for kind in ONNX]
    nodes.append(helper.make_node("Transpose", ["x_FP32"], ["turned"], perm=[1, 0]))
    inputs = [om.tensor(f"x_{kind}", number, "N", "M") for kind, number in ONNX.items()]
    outputs = [om.tensor(f"y_{kind}", number, "N", "M") for kind, number in ONNX.items()]
    return om.graph(nodes, inputs, [*outputs, om.tensor("turned", om.FP32, "M", "N")])
