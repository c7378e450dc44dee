"""What an ONNX model says of itself, once ONNX Runtime has opened it."""

from pathlib import Path
from typing import Any

import onnxruntime as ort

from worker_runtime.backends.onnxruntime.sessions import open_session
from worker_runtime.types.graph import GraphTensor, ModelGraph

_TYPES = {
    "tensor(bool)": "BOOL",
    "tensor(uint8)": "UINT8",
    "tensor(uint16)": "UINT16",
    "tensor(uint32)": "UINT32",
    "tensor(uint64)": "UINT64",
    "tensor(int8)": "INT8",
    "tensor(int16)": "INT16",
    "tensor(int32)": "INT32",
    "tensor(int64)": "INT64",
    "tensor(float16)": "FP16",
    "tensor(float)": "FP32",
    "tensor(double)": "FP64",
    "tensor(string)": "BYTES",
}


def inspect_graph(path: Path, name: str) -> ModelGraph:
    """Load once, without optimisation, only to learn inputs and outputs. Raises LoadFailed."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return graph_of(open_session(path, options, [("CPUExecutionProvider", {})], name))


def graph_of(session: Any) -> ModelGraph:
    return ModelGraph(
        inputs=tuple(_tensor(item) for item in session.get_inputs()),
        outputs=tuple(_tensor(item) for item in session.get_outputs()),
        producer=session.get_modelmeta().producer_name,
        initializers=tuple(_tensor(item) for item in session.get_overridable_initializers()),
    )


def _tensor(item: Any) -> GraphTensor:
    shape = tuple(d if isinstance(d, int | str) and d != "" else -1 for d in item.shape)
    return GraphTensor(item.name, _TYPES.get(item.type, item.type), shape)
