"""OpenVINO models answer as ONNX Runtime does on the same model, alone and in batches."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import torch
from msgspec.structs import replace
from sklearn import datasets

from tests.support import onnx_models as om
from tests.support.backend_instances import check_concurrent, check_no_growth
from tests.support.tensors import load_spec, tensors
from worker_runtime.backends.base import LoadSpec
from worker_runtime.backends.catalog import backend
from worker_runtime.errors import BackendFailed, ConfigInvalid, LoadFailed
from worker_runtime.repository.complete import check_graph

ov = pytest.importorskip("openvino")
Array = np.ndarray[Any, Any]

DIGITS = datasets.load_digits().images[::40, None].astype(np.float32) / 16
NET = tensors("input", ("image", "FP32", "1, 8, 8")) + tensors("output", ("scores", "FP32", "10"))


class Net(torch.nn.Module):
    """A small network with convolutions for the digits."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Linear(72, 10),
        )

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        return self.layers(image).softmax(dim=1)


def trained() -> Net:
    """Some steps on the real digits, so that its answers mean something."""
    data = datasets.load_digits()
    images = torch.from_numpy(data.images[:, None].astype(np.float32) / 16)
    labels = torch.from_numpy(data.target)
    net = Net()
    optimiser = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(30):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net.layers(images), labels).backward()
        optimiser.step()
    return net.eval()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """model.onnx, and as model.xml with and without the layouts that tell the batch axis."""
    path = tmp_path_factory.mktemp("openvino")
    buffer = io.BytesIO()
    torch.onnx.export(
        trained(),
        (torch.zeros(1, 1, 8, 8),),
        buffer,
        input_names=["image"],
        output_names=["scores"],
        dynamic_axes={"image": {0: "N"}, "scores": {0: "N"}},
        dynamo=False,
    )
    (path / "model.onnx").write_bytes(buffer.getvalue())
    model = ov.Core().read_model(path / "model.onnx")
    ov.save_model(model, path / "model.xml", compress_to_fp16=False)
    model.inputs[0].get_node().layout = ov.Layout("NCHW")
    model.outputs[0].get_node().layout = ov.Layout("NC")
    ov.save_model(model, path / "layout.xml", compress_to_fp16=False)
    model.reshape([1, 1, 8, 8])
    ov.save_model(model, path / "one.xml", compress_to_fp16=False)
    return path


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def reference(folder: Path, images: Array = DIGITS) -> Array:
    session = ort.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    found: Array = session.run(None, {"image": images})[0]
    return found


def spec(folder: Path, text: str, file: str = "model.xml", **parameters: str) -> LoadSpec:
    return load_spec(folder, 'backend: "openvino"\n' + text, file, **parameters)


@pytest.mark.parametrize("file", ["model.xml", "model.onnx", "one.xml"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"NUM_STREAMS": "1", "INFERENCE_NUM_THREADS": "1"},
        {"PERFORMANCE_HINT": "THROUGHPUT", "COMPILATION_NUM_THREADS": "1"},
        {"NUM_STREAMS": "AUTO", "RESHAPE_IO_LAYERS": "YES"},
    ],
)
def test_answers_equal_onnx_runtimes(folder: Path, file: str, parameters: dict[str, str]) -> None:
    model = backend("openvino").load(spec(folder, "max_batch_size: 64\n" + NET, file, **parameters))
    instance = model.instances[0]
    (batched,) = instance.execute({"image": DIGITS}, ["scores"])
    np.testing.assert_allclose(batched, reference(folder), rtol=1e-4, atol=1e-6)
    singles = [instance.execute({"image": image[None]}, ["scores"])[0] for image in DIGITS]
    np.testing.assert_allclose(np.concatenate(singles), batched, rtol=1e-4, atol=1e-6)
    model.close()


def test_half_of_bf16_is_only_a_hint(folder: Path) -> None:
    model = backend("openvino").load(spec(folder, "max_batch_size: 64\n" + NET, HINT_BF16="YES"))
    (found,) = model.instances[0].execute({"image": DIGITS}, ["scores"])
    np.testing.assert_allclose(found, reference(folder), atol=0.05)


def test_answers_outlive_the_next_ones(folder: Path) -> None:
    instance = backend("openvino").load(spec(folder, "max_batch_size: 64\n" + NET)).instances[0]
    (first,) = instance.execute({"image": DIGITS[:1]}, ["scores"])
    kept = first.copy()
    instance.execute({"image": DIGITS[1:2]}, ["scores"])
    np.testing.assert_array_equal(first, kept)


def test_batches_of_one_size_only(folder: Path) -> None:
    fixed = {"SKIP_OV_DYNAMIC_BATCHSIZE": "YES"}
    text = "max_batch_size: 4\n" + NET
    exact = backend("openvino").load(spec(folder, text, **fixed)).instances[0]
    (found,) = exact.execute({"image": DIGITS[:4]}, ["scores"])
    np.testing.assert_allclose(found, reference(folder)[:4], rtol=1e-4, atol=1e-6)
    with pytest.raises(BackendFailed, match=r"batch size '4', got '3'\.\.\. this error can be avo"):
        exact.execute({"image": DIGITS[:3]}, ["scores"])
    padded = backend("openvino").load(spec(folder, text, ENABLE_BATCH_PADDING="YES", **fixed))
    (found,) = padded.instances[0].execute({"image": DIGITS[:3]}, ["scores"])
    assert found.shape == (3, 10)
    np.testing.assert_allclose(found, reference(folder)[:3], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("file", "text", "given", "batch", "dims"),
    [
        ("layout.xml", "", False, 4, [1, 8, 8]),
        ("one.xml", "", False, 4, [1, 8, 8]),
        ("layout.xml", "max_batch_size: 9", True, 9, [1, 8, 8]),
        ("layout.xml", "max_batch_size: 0", True, 0, [-1, 1, 8, 8]),
        ("model.xml", "", False, 0, [-1, 1, 8, 8]),
        ("model.xml", "max_batch_size: 3", True, 3, [1, 8, 8]),
    ],
)
def test_completion_goes_as_far_as_the_layouts(
    folder: Path, file: str, text: str, given: bool, batch: int, dims: list[int]
) -> None:
    wanted = replace(spec(folder, text, file), max_batch_given=given)
    chosen: Any = backend("openvino")
    chosen.auto_complete(wanted)
    config = wanted.config
    assert config.max_batch_size == batch
    assert list(config.input[0].dims) == dims
    assert list(config.output[0].dims) == ([10] if batch else [-1, 10])
    assert (config.input[0].name, config.output[0].name) == ("image", "scores")
    assert config.HasField("dynamic_batching") == (batch > 1 and file != "model.xml")
    model = chosen.load(wanted)
    check_graph(config, model.graph)
    images = DIGITS[: batch or 2]
    np.testing.assert_allclose(
        model.instances[0].execute({"image": images}, ["scores"])[0],
        reference(folder, images),
        rtol=1e-4,
        atol=1e-6,
    )


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            NET.replace("1, 8, 8", "1, 9, 8"),
            r"the model expects 4 dimensions \(shape \[-1,1,8,8\]\) but the model configuration",
        ),
        (NET.replace("image", "picture"), "unexpected inference input 'picture', allowed inputs"),
        (NET.replace("scores", "marks"), "unexpected inference output 'marks', allowed outputs"),
        (NET + tensors("input", ("x", "FP32", "1")), "expects 2 inputs, model provides 1"),
    ],
)
def test_wrong_tensors_are_told_as_triton_does(folder: Path, text: str, error: str) -> None:
    wanted = spec(folder, "max_batch_size: 2\n" + text)
    model = backend("openvino").load(wanted)
    with pytest.raises(ConfigInvalid, match=error):
        check_graph(wanted.config, model.graph)


def test_other_types_are_converted(folder: Path) -> None:
    text = "max_batch_size: 64\n" + NET.replace("FP32", "FP64")
    wanted = spec(folder, text)
    model = backend("openvino").load(wanted)
    check_graph(wanted.config, model.graph)
    (found,) = model.instances[0].execute({"image": DIGITS.astype(np.float64)}, ["scores"])
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, reference(folder), rtol=1e-4, atol=1e-6)


def test_wrong_data_fails_its_request_only(folder: Path) -> None:
    instance = backend("openvino").load(spec(folder, "max_batch_size: 64\n" + NET)).instances[0]
    with pytest.raises(BackendFailed, match="openvino error in running inference"):
        instance.execute({"image": np.zeros((1, 2, 3, 4), np.float32)}, ["scores"])
    (found,) = instance.execute({"image": DIGITS}, ["scores"])
    np.testing.assert_allclose(found, reference(folder), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "text"),
    [
        ({"INFERENCE_NUM_THREADS": "many"}, "to be a non-negative number, got many"),
        ({"COMPILATION_NUM_THREADS": "-1"}, "to be a non-negative number, got -1"),
        ({"HINT_BF16": "no"}, "to be YES, got no"),
        ({"NUM_STREAMS": "some"}, "to be either AUTO/NUMA/<int_value>, got some"),
        ({"PERFORMANCE_HINT": "fast"}, "to be LATENCY/THROUGHPUT/CUMULATIVE_THROUGHPUT, got fast"),
    ],
)
def test_parameters_are_checked(folder: Path, parameters: dict[str, str], text: str) -> None:
    with pytest.raises(ConfigInvalid, match=text):
        backend("openvino").load(spec(folder, "max_batch_size: 2\n" + NET, **parameters))


@pytest.mark.parametrize(
    ("write", "parameters", "text"),
    [
        (None, {}, "unable to find"),
        (b"<net", {}, "openvino error in reading model"),
        (om.refused(), {"file": "model.onnx"}, "openvino error in"),
        (b"", {"CPU_EXTENSION_PATH": "/nowhere.so"}, "openvino error in loading custom CPU"),
    ],
)
def test_files_that_cannot_be_loaded(
    tmp_path: Path, write: bytes | None, parameters: dict[str, str], text: str
) -> None:
    file = parameters.pop("file", "model.xml")
    if write is not None:
        (tmp_path / file).write_bytes(write)
    with pytest.raises(LoadFailed, match=text):
        backend("openvino").load(spec(tmp_path, NET, file, **parameters))


def test_a_device_that_is_not_there(folder: Path) -> None:
    with pytest.raises(LoadFailed, match="openvino error in loading model"):
        backend("openvino").load(spec(folder, NET, TARGET_DEVICE="NPU"))


def test_instances_answer_at_the_same_time(folder: Path) -> None:
    model = backend("openvino").load(spec(folder, "max_batch_size: 64\n" + NET))
    check_concurrent(model, {"image": DIGITS}, "scores", reference(folder))


def test_loading_again_and_again_does_not_grow(folder: Path) -> None:
    wanted = spec(folder, "max_batch_size: 64\n" + NET)
    check_no_growth(lambda: backend("openvino").load(wanted), {"image": DIGITS}, "scores")
