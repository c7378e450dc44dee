"""Fresh, tiny ONNX models laid out as a Triton repository, for tests."""

from collections.abc import Sequence
from pathlib import Path

from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

FP32, INT32, STRING, BOOL, FP16 = (
    TensorProto.FLOAT,
    TensorProto.INT32,
    TensorProto.STRING,
    TensorProto.BOOL,
    TensorProto.FLOAT16,
)
Dim = int | str | None


def tensor(name: str, kind: int, *dims: Dim) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, list(dims))


def graph(
    nodes: Sequence[NodeProto], inputs: Sequence[ValueInfoProto], outputs: Sequence[ValueInfoProto]
) -> GraphProto:
    return helper.make_graph(list(nodes), "g", list(inputs), list(outputs))


def model_bytes(body: GraphProto, opset: int = 17) -> bytes:
    model = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=9,
        producer_name="shoal-tests",
    )
    data: bytes = model.SerializeToString()
    return data


def save(
    root: Path, name: str, content: GraphProto | bytes, config: str | None = None, version: int = 1
) -> Path:
    """Write the model (and its configuration) in Triton's layout; returns the model directory."""
    path = root / name / str(version)
    path.mkdir(parents=True, exist_ok=True)
    data = content if isinstance(content, bytes) else model_bytes(content)
    (path / "model.onnx").write_bytes(data)
    if config is not None:
        (root / name / "config.pbtxt").write_text(config)
    return root / name


def add_sub(batch: Dim = "N", kind: int = INT32) -> GraphProto:
    """OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1, 16 columns."""
    names = ("INPUT0", "INPUT1", "OUTPUT0", "OUTPUT1")
    left, right, total, rest = (tensor(name, kind, batch, 16) for name in names)
    return graph(
        [
            helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]),
            helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"]),
        ],
        [left, right],
        [total, rest],
    )


def identity(kind: int, *dims: Dim, source: str = "x", target: str = "y") -> GraphProto:
    return graph(
        [helper.make_node("Identity", [source], [target])],
        [tensor(source, kind, *dims)],
        [tensor(target, kind, *dims)],
    )


def refused() -> bytes:
    """A well-formed ONNX file with an operator that no runtime has."""
    body = graph(
        [helper.make_node("NoSuchOperator", ["x"], ["y"])],
        [tensor("x", FP32, 1)],
        [tensor("y", FP32, 1)],
    )
    return model_bytes(body)
