"""Configurations of ONNX models through a running server: what is completed, served and refused."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from onnx import helper, numpy_helper

from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime, wait_until

IN = 'input { name: "x" data_type: TYPE_FP32 dims: [%s] }\n'
OUT = 'output { name: "y" data_type: TYPE_FP32 dims: [%s] }\n'
PAIR = (
    "input [{ name: 'INPUT0' data_type: TYPE_INT32 dims: 16 }, "
    "{ name: 'INPUT1' data_type: TYPE_INT32 dims: 16 }]\n"
    "output { name: 'OUTPUT0' data_type: TYPE_INT32 dims: 16 }\n"
)
VECTOR = om.identity(om.FP32, "N", 3)
FIXED = om.identity(om.FP32, 2, 3)

REFUSED: list[tuple[str, Any, str, str]] = [
    (
        "does_not_batch",
        FIXED,
        "max_batch_size: 4",
        "autofill failed for model 'does_not_batch': model does not support batching while "
        "non-zero max_batch_size is specified",
    ),
    (
        "fixed_first",
        FIXED,
        "max_batch_size: 4 " + IN % 3 + OUT % 3,
        "model 'fixed_first', tensor 'x': for the model to support batching the shape should have "
        "at least 1 dimension and the first dimension must be -1; but shape expected by the model "
        "is [2,3]",
    ),
    (
        "too_few",
        om.add_sub(),
        "max_batch_size: 4 input { name: 'INPUT0' data_type: TYPE_INT32 dims: 16 } "
        "output { name: 'OUTPUT0' data_type: TYPE_INT32 dims: 16 }",
        "unable to load model 'too_few', configuration expects 1 inputs, model provides 2",
    ),
    (
        "unknown_input",
        om.add_sub(),
        "max_batch_size: 4 " + PAIR.replace("INPUT1", "OTHER"),
        "unexpected inference input 'OTHER', allowed inputs are: INPUT0, INPUT1",
    ),
    (
        "unknown_output",
        om.add_sub(),
        "max_batch_size: 4 " + PAIR.replace("OUTPUT0", "OTHER"),
        "unexpected inference output 'OTHER', allowed outputs are: OUTPUT0, OUTPUT1",
    ),
    (
        "wrong_type",
        VECTOR,
        "max_batch_size: 4 " + IN.replace("FP32", "INT8") % 3 + OUT % 3,
        "unable to load model 'wrong_type', configuration expects datatype TYPE_INT8 for input "
        "'x', model provides TYPE_FP32",
    ),
    (
        "wrong_dims",
        VECTOR,
        "max_batch_size: 4 " + IN % 4 + OUT % 3,
        "model 'wrong_dims', tensor 'x': the model expects 2 dimensions (shape [-1,3]) but the "
        "model configuration specifies 2 dimensions (an initial batch dimension because "
        "max_batch_size > 0 followed by the explicit tensor shape, making complete shape [-1,4])",
    ),
    (
        "no_dims",
        VECTOR,
        "max_batch_size: 4 input { name: 'x' data_type: TYPE_FP32 } " + OUT % 3,
        "model input 'x' must specify 'dims' for no_dims",
    ),
    (
        "bf16",
        VECTOR,
        "max_batch_size: 4 " + IN.replace("FP32", "BF16") % 3 + OUT % 3,
        "unsupported datatype TYPE_BF16 for input 'x' for model 'bf16'",
    ),
    (
        "no_file",
        VECTOR,
        "backend: 'onnxruntime' default_model_filename: 'other.onnx'",
        "1/other.onnx' for model instance 'no_file'",
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("configs") / "models"
    for name, graph, text, _ in REFUSED:
        om.save(root, name, graph, text)
    om.save(root, "plain", VECTOR)
    om.save(root, "zero", VECTOR, "max_batch_size: 0")
    om.save(root, "given", VECTOR, IN % "-1, 3" + OUT % "-1, 3")
    om.save(root, "sized", VECTOR, "max_batch_size: 16")
    om.save(root, "merged", om.add_sub(), "input { name: 'INPUT1' dims: 16 }")
    om.save(root, "scalar", om.identity(om.FP32))
    om.save(root, "one", om.identity(om.FP32, "N"))
    reshaped = IN.replace("[%s]", "[3, 1] reshape { shape: [3] }")
    om.save(
        root,
        "reshaped",
        VECTOR,
        "max_batch_size: 4 " + reshaped + reshaped.replace("input", "output").replace('"x"', '"y"'),
    )
    labelled = "max_batch_size: 4 output { name: 'y' label_filename: 'labels.txt' }"
    om.save(root, "labelled", VECTOR, labelled)
    (root / "labelled" / "labels.txt").write_text("cat\n\nfish\n")
    weighted = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [om.tensor("x", om.FP32, 2), om.tensor("w", om.FP32, 2)],
        [om.tensor("y", om.FP32, 2)],
        [numpy_helper.from_array(np.array([10, 20], np.float32), "w")],
    )
    optional = IN.replace("}", "optional: true }").replace('"x"', '"w"')
    om.save(root, "weighted", weighted, IN % 2 + optional % 2 + OUT % 2)
    wide = om.graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        [om.tensor("x", 7, 4)],
        [om.tensor("y", 7, 4)],
    )
    om.save(root, "wide", wide)
    flags = ("--model-control-mode=explicit", "--load-model=plain")
    with runtime(root, *flags) as found:
        yield found


def load(server: Runtime, name: str) -> tuple[int, str]:
    status, answer = server.json(f"v2/repository/models/{name}/load", {})
    return status, (answer or {}).get("error", "")


def config_of(server: Runtime, name: str) -> dict[str, Any]:
    assert load(server, name) == (200, "")
    data: dict[str, Any] = server.json(f"v2/models/{name}/config")[1]
    return data


@pytest.mark.parametrize(("name", "message"), [(row[0], row[3]) for row in REFUSED])
def test_refused_in_the_words_of_tritons_backend(server: Runtime, name: str, message: str) -> None:
    status, error = load(server, name)
    assert status == 400
    assert error.startswith(f"load failed for model '{name}': version 1 is at UNAVAILABLE state: ")
    assert message in error


def test_completed_from_the_graph(server: Runtime) -> None:
    data = config_of(server, "plain")
    assert data["max_batch_size"] == 4
    assert data["dynamic_batching"] == {
        "preferred_batch_size": [4],
        "max_queue_delay_microseconds": 0,
        "preserve_ordering": False,
        "priority_levels": 0,
        "default_priority_level": 0,
        "priority_queue_policy": {},
    }
    assert data["input"] == [
        {
            "name": "x",
            "data_type": "TYPE_FP32",
            "format": "FORMAT_NONE",
            "dims": [3],
            "is_shape_tensor": False,
            "allow_ragged_batch": False,
            "optional": False,
            "is_non_linear_format_io": False,
        }
    ]
    assert data["output"][0]["label_filename"] == ""
    assert data["optimization"] == {
        "priority": "PRIORITY_DEFAULT",
        "input_pinned_memory": {"enable": True},
        "output_pinned_memory": {"enable": True},
        "gather_kernel_buffer_threshold": 0,
        "eager_batching": False,
    }
    assert (data["platform"], data["backend"]) == ("onnxruntime_onnx", "onnxruntime")
    assert data["default_model_filename"] == "model.onnx"
    assert data["version_policy"] == {"latest": {"num_versions": 1}}
    (group,) = data["instance_group"]
    assert (group["name"], group["kind"]) == ("plain", "KIND_CPU")


@pytest.mark.parametrize(
    ("name", "size", "dims", "dynamic"),
    [
        ("zero", 0, [-1, 3], False),
        ("given", 0, [-1, 3], False),
        ("sized", 16, [3], True),
        ("merged", 4, [16], True),
        ("scalar", 0, [1], False),
        ("one", 4, [1], True),
    ],
)
def test_batching_and_dims(
    server: Runtime, name: str, size: int, dims: list[int], dynamic: bool
) -> None:
    data = config_of(server, name)
    assert data["max_batch_size"] == size
    assert ("dynamic_batching" in data) == dynamic
    assert all(item["dims"] == dims for item in data["input"])
    assert ("reshape" in data["input"][0]) == (name == "one")


@pytest.fixture(params=["http", "grpc"])
def ask(request: pytest.FixtureRequest, server: Runtime) -> Iterator[Any]:
    module = {"http": http_client, "grpc": grpc_client}[request.param]
    address = server.http if request.param == "http" else server.grpc
    with module.InferenceServerClient(address) as client:

        def call(name: str, array: Any, datatype: str, classes: int = 0) -> Any:
            assert load(server, name) == (200, "")
            item = module.InferInput("x", list(array.shape), datatype)
            item.set_data_from_numpy(array)
            output = module.InferRequestedOutput("y", class_count=classes)
            return client.infer(name, [item], outputs=[output]).as_numpy("y")

        yield call


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("scalar", (1,)),
        ("one", (3, 1)),
        ("reshaped", (2, 3, 1)),
        ("zero", (0, 3)),
        ("zero", (5, 3)),
    ],
)
def test_shapes_come_back_as_they_went(ask: Any, name: str, shape: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    answer = ask(name, array, "FP32")
    assert answer.shape == shape
    assert (answer == array).all()


def test_an_optional_input_overrides_a_value_of_the_graph(server: Runtime) -> None:
    assert load(server, "weighted") == (200, "")
    x = {"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}
    for inputs, expected in (([x], [11, 22]), ([x, x | {"name": "w"}], [2, 4])):
        status, answer = server.json("v2/models/weighted/infer", {"inputs": inputs})
        assert (status, answer["outputs"][0]["data"]) == (200, expected)


def test_classes_are_value_index_and_label(ask: Any) -> None:
    array = np.array([[0.1, 2, 1], [3, 3, 1e9]], dtype=np.float32)
    assert ask("labelled", array, "FP32", classes=2).tolist() == [
        [b"2.000000:1", b"1.000000:2:fish"],
        [b"1000000000.000000:2:fish", b"3.000000:0:cat"],
    ]


def test_wide_integers_are_ordered_exactly(ask: Any) -> None:
    top = 2**63 - 1
    array = np.array([top - 1, top, -top - 1, 0], dtype=np.int64)
    answer = ask("wide", array, "INT64", classes=9)
    assert answer.tolist() == [b"%d:1" % top, b"%d:0" % (top - 1), b"0:3", b"%d:2" % (-top - 1)]


def test_without_auto_complete_the_configuration_must_be_there(tmp_path: Path) -> None:
    root = tmp_path / "models"
    om.save(root, "nothing", VECTOR)
    om.save(root, "partial", VECTOR, "max_batch_size: 4")
    om.save(root, "whole", VECTOR, "max_batch_size: 4 " + IN % 3 + OUT % 3)
    flags = ("--disable-auto-complete-config", "--exit-on-error=false")
    with runtime(root, *flags, ready=False) as server:

        def rows() -> Any:
            found = {row["name"]: row for row in server.json("v2/repository/index", {})[1]}
            return found if found["whole"].get("state") == "READY" else None

        found = wait_until(rows, "the complete model to serve")
        wait_until(lambda: rows()["partial"].get("reason"), "the other to fail")
        assert server.json("v2/models/whole/config")[1]["max_batch_size"] == 4
        assert "configuration expects 0 inputs, model provides 1" in rows()["partial"]["reason"]
        assert found["nothing"].get("state") != "READY"
        log = server.log.read_text()
        assert "failed to open text file for read" in log
