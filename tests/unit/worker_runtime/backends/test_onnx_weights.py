"""Weights that are mapped from the model's file give the answers of a file that is read whole."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from msgspec.structs import replace
from onnx import TensorProto, helper, numpy_helper

from tests.unit.worker_runtime.backends.onnx_sums import spec
from worker_runtime.backends.catalog import backend
from worker_runtime.backends.onnxruntime import sessions
from worker_runtime.backends.onnxruntime.weights import graph_beside
from worker_runtime.errors import LoadFailed

SIDE = 1024
BESIDE = "session.model_external_initializers_file_folder_path"
RNG = np.random.default_rng(0)
SQUARE = RNG.standard_normal((SIDE, SIDE), dtype=np.float32) / SIDE
# Shift of the file's bytes -> what of it lies at a multiple of four bytes is told by the file.
SHIFTS = range(4)


def written(path: Path, nodes: list[Any], weights: dict[str, Any], shift: int = 0) -> Path:
    """A model from x to y, its weights ``shift`` bytes further back in the file."""
    body = helper.make_graph(
        nodes,
        "g" + "_" * shift,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, SIDE])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    model = helper.make_model(body, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 9
    # why first: a graph's name is written before its weights
    path.write_bytes(model.SerializeToString())
    return path


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), [output], **attributes)


LAYERS = [
    node("MatMul", "x w1", "a"),
    node("Add", "a b", "c"),
    node("Relu", "c", "d"),
    node("Gemm", "d w2 b", "e", transB=1),
    node("Mul", "e w3", "f"),
    node("Cast", "half", "wide", to=TensorProto.FLOAT),
    node("MatMul", "f wide", "y"),
]
WEIGHTS = {
    "w1": SQUARE,
    "b": SQUARE[0].copy(),
    "w2": SQUARE.T.copy(),
    "w3": np.concatenate([SQUARE[:1]] * 64),
    "half": SQUARE.astype(np.float16),
}


def answer(model: Any, rows: Any) -> Any:
    return model.run(None, {"x": rows})[0]


def opened(path: Path, graph: bytes | None) -> Any:
    options = ort.SessionOptions()
    if graph is None:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    options.add_session_config_entry(BESIDE, str(path.parent))
    return ort.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("shift", SHIFTS)
def test_the_answers_are_those_of_the_file_read_whole(tmp_path: Path, shift: int) -> None:
    path = written(tmp_path / "model.onnx", LAYERS, WEIGHTS, shift)
    graph = graph_beside(path)
    assert graph is not None
    assert len(graph) < path.stat().st_size / 2
    beside = {
        one.name: {entry.key: entry.value for entry in one.external_data}
        for one in onnx.load_from_string(graph).graph.initializer
        if one.data_location == TensorProto.EXTERNAL
    }
    content = path.read_bytes()
    for name, said in beside.items():
        offset, length = int(said["offset"]), int(said["length"])
        assert said["location"] == path.name
        assert content[offset : offset + length] == WEIGHTS[name].tobytes()
        # only what is brought into an order of its own may lie anywhere
        assert name in {"w1", "w2"} or offset % WEIGHTS[name].itemsize == 0, name
    assert {"w1", "w2"} <= set(beside)
    assert "b" not in beside, "small ones stay where they are"
    rows = RNG.standard_normal((64, SIDE), dtype=np.float32)
    np.testing.assert_array_equal(
        answer(opened(path, graph), rows), answer(opened(path, None), rows)
    )


def test_each_alignment_was_met(tmp_path: Path) -> None:
    places = {
        path.read_bytes().index(SQUARE.tobytes()) % 4
        for shift in SHIFTS
        for path in [written(tmp_path / f"{shift}.onnx", LAYERS, WEIGHTS, shift)]
    }
    assert places == {0, 1, 2, 3}


INNER = helper.make_graph(
    [node("MatMul", "x w1", "inner")],
    "inner",
    [],
    [helper.make_tensor_value_info("inner", TensorProto.FLOAT, None)],
)
TRUE = {"yes": np.array(True)}
STAY = {
    "also read as it is": ([node("MatMul", "x w1", "a"), node("Gather", "w1 i", "r"),
                            node("Add", "a r", "y")], {"i": np.array([0])}),
    "multiplied from the left": ([node("MatMul", "w1 x2", "y"), node("Transpose", "x", "x2")], {}),
    "graphs in the graph": ([node("MatMul", "x w1", "a"), node("If", "yes", "b", then_branch=INNER,
                             else_branch=INNER), node("Add", "a b", "y")], TRUE),
    "another domain's": ([node("MatMul", "x w1", "y", domain="com.example")], {}),
}  # fmt: skip


@pytest.mark.parametrize("nodes, more", STAY.values(), ids=list(STAY))
def test_what_lies_anywhere_stays_where_kernels_may_read_it(
    tmp_path: Path, nodes: list[Any], more: dict[str, Any]
) -> None:
    mapped = []
    for shift in SHIFTS:
        path = written(tmp_path / f"{shift}.onnx", nodes, {"w1": SQUARE, **more}, shift)
        aligned = path.read_bytes().index(SQUARE.tobytes()) % 4 == 0
        assert (graph_beside(path) is not None) == aligned
        mapped.append(aligned)
    assert mapped.count(True) == 1


def test_there_is_nothing_to_gain(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    written(path, [node("MatMul", "x w1", "y")], {"w1": SQUARE[:, :100].copy()})
    assert graph_beside(path) is None, "small"
    path.write_bytes(b"\x3a\xff" * (4 << 20))
    assert graph_beside(path) is None, "no protobuf"
    whole = written(path, LAYERS, WEIGHTS).read_bytes()
    path.write_bytes(whole[:-1000])
    assert graph_beside(path) is None, "torn"
    path.write_bytes(bytes(5 << 20))
    assert graph_beside(path) is None, "zeros"


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each session, whether its file was read whole."""
    seen: list[bool] = []
    real = ort.InferenceSession

    def session(source: Any, *arguments: Any, **more: Any) -> Any:
        seen.append(isinstance(source, str))
        return real(source, *arguments, **more)

    monkeypatch.setattr(sessions.ort, "InferenceSession", session)
    return seen


@pytest.mark.parametrize(
    "setting, text, expected",
    [
        ({"map-weights": "true"}, "", [False]),
        ({"map-weights": "false"}, "", [True]),
        ({}, "", [True]),
        # who says how weights are treated is left alone
        ({"map-weights": "true"}, "session.disable_prepacking", [True]),
    ],
)
def test_only_files_that_nobody_changes_are_mapped(
    tmp_path: Path, whole: list[bool], setting: dict[str, str], text: str, expected: list[bool]
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "1").mkdir()
    # as a node's agent lays it out
    blob = written(tmp_path / "cache" / "5f3a", [node("MatMul", "x w1", "y")], {"w1": SQUARE})
    (tmp_path / "1" / "model.onnx").symlink_to(blob)
    parameters = {text: "1"} if text else {}
    wanted = replace(spec(tmp_path / "1", **parameters), backend_settings=setting, cores=1)
    made = backend("onnxruntime").load(wanted)
    assert whole == expected
    rows = RNG.standard_normal((3, SIDE), dtype=np.float32)
    (found,) = made.instances[0].execute({"x": rows}, ["y"])
    np.testing.assert_allclose(found, rows @ SQUARE, atol=1e-5)


def test_what_is_wrong_with_a_model_is_said_of_its_file(tmp_path: Path, whole: list[bool]) -> None:
    written(
        tmp_path / "model.onnx", [node("MatMul", "x w1", "y")], {"w1": SQUARE.reshape(SIDE * 2, -1)}
    )
    wanted = replace(spec(tmp_path), backend_settings={"map-weights": "true"}, cores=1)
    with pytest.raises(LoadFailed, match=re.escape(f"Load model from {tmp_path}")):
        backend("onnxruntime").load(wanted)
    assert whole == [False, True]
