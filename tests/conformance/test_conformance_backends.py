"""Every backend behind the server, called by the stock clients and held against its framework.

One server has them all. TensorFlow's model is left out where TensorFlow is not installed.
"""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import psutil
import pytest
import torch
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http
from sklearn import datasets, ensemble
from tritonclient.utils import InferenceServerException

from tests.support import onnx_models as om
from tests.support.runtime_process import Runtime, runtime
from tests.support.tensors import tensors

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_backend"
Array = np.ndarray[Any, Any]

IRIS, KINDS = datasets.load_iris(return_X_y=True)
ROWS = np.ascontiguousarray(IRIS[::10], np.float32)
PYTHON_MODEL = """
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        answers = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
            answers.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", x * 2)]))
        return answers
"""


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x).softmax(dim=1)


def trained() -> Net:
    """A network that tells the kinds of iris apart, so that its answers mean something."""
    net = Net()
    rows, kinds = torch.from_numpy(IRIS.astype(np.float32)), torch.from_numpy(KINDS)
    optimiser = torch.optim.Adam(net.parameters(), 0.1)
    for _ in range(150):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net.layer(rows), kinds).backward()
        optimiser.step()
    with torch.no_grad():
        right = (net(rows).argmax(dim=1) == kinds).float().mean()
    assert right > 0.95, right
    return net.eval()


class Doubled(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


@dataclass
class Served:
    """A model on the server: its tensors, and what its framework answers itself."""

    name: str
    source: str
    target: str
    expected: Callable[[Array], Array]
    tolerance: float = 1e-5


NET = trained()
MODELS: dict[str, Served] = {}


def place(root: Path, name: str, config: str = "") -> Path:
    folder = root / name / "1"
    folder.mkdir(parents=True)
    if config:
        (root / name / "config.pbtxt").write_text(config)
    return folder


def io_of(source: str, target: str, width: int = 3) -> str:
    return (
        "max_batch_size: 16\ndynamic_batching {}\ninstance_group { count: 2 kind: KIND_CPU }\n"
        + tensors("input", (source, "FP32", "4"))
        + tensors("output", (target, "FP32", str(width)))
    )


def softmax(x: Array) -> Array:
    with torch.no_grad():
        found: Array = NET(torch.from_numpy(x)).numpy()
    return found


def save_torch(root: Path) -> None:
    folder = place(root, "pytorch", 'backend: "pytorch"\n' + io_of("x", "y__0"))
    torch.jit.save(torch.jit.script(NET), str(folder / "model.pt"))
    MODELS["pytorch"] = Served("pytorch", "x", "y__0", softmax)
    config = 'backend: "pytorch" default_model_filename: "model.pt2"\n' + io_of("x", "y__0")
    batch = {"x": {0: torch.export.Dim("batch")}}
    program = torch.export.export(NET, (torch.zeros(2, 4),), dynamic_shapes=batch)
    torch.export.save(program, place(root, "exported", config) / "model.pt2")
    MODELS["exported"] = Served("exported", "x", "y__0", softmax)


def save_onnx(root: Path) -> None:
    for name, file in (("onnxruntime", "model.onnx"), ("openvino_onnx", "model.onnx")):
        engine = name.partition("_")[0]
        text = f'backend: "{engine}"\ndefault_model_filename: "{file}"\n'
        torch.onnx.export(
            NET,
            (torch.zeros(1, 4),),
            place(root, name, text + io_of("x", "y")) / file,
            input_names=["x"],
            output_names=["y"],
            dynamic_axes={"x": {0: "N"}, "y": {0: "N"}},
            dynamo=False,
        )
        MODELS[name] = Served(name, "x", "y", softmax, 1e-4)


def save_openvino(root: Path) -> None:
    import openvino as ov

    model = ov.Core().read_model(root / "openvino_onnx" / "1" / "model.onnx")
    ov.save_model(model, place(root, "openvino", io_of("x", "y")) / "model.xml", False)
    MODELS["openvino"] = Served("openvino", "x", "y", softmax, 1e-4)


def save_forests(root: Path) -> None:
    import lightgbm
    import treelite
    import xgboost

    def config(kind: str) -> str:
        parameters = {"model_type": kind, "is_classifier": "true", "predict_proba": "true"}
        return (
            'backend: "fil"\n'
            + io_of("input__0", "output__0")
            + "".join(
                f'parameters {{ key: "{key}" value {{ string_value: "{value}" }} }}\n'
                for key, value in parameters.items()
            )
        )

    grown = xgboost.XGBClassifier(n_estimators=8, random_state=0).fit(IRIS, KINDS)
    for kind, file in (("xgboost_json", "xgboost.json"), ("xgboost_ubj", "xgboost.ubj")):
        grown.save_model(place(root, kind, config(kind)) / file)
        MODELS[kind] = Served(kind, "input__0", "output__0", grown.predict_proba)
    data = lightgbm.Dataset(IRIS.astype(np.float32).astype(np.float64), KINDS)
    options = {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1}
    leaves = lightgbm.train(options, data, 8)
    leaves.save_model(place(root, "lightgbm", config("lightgbm")) / "model.txt")
    MODELS["lightgbm"] = Served("lightgbm", "input__0", "output__0", leaves.predict)
    trees = ensemble.RandomForestClassifier(8, random_state=0).fit(IRIS.astype(np.float32), KINDS)
    folder = place(root, "sklearn", config("treelite_checkpoint"))
    treelite.sklearn.import_model(trees).serialize(folder / "checkpoint.tl")
    MODELS["sklearn"] = Served("sklearn", "input__0", "output__0", trees.predict_proba)


def save_tensorflow(root: Path) -> None:
    """By a program of its own: TensorFlow in this process would slow down every other test."""
    folder = place(root, "tensorflow", 'platform: "tensorflow_savedmodel"\n' + io_of("x", "y"))
    code = (
        "import sys, numpy as np, tensorflow as tf\n"
        "class M(tf.Module):\n"
        "    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, 'x')])\n"
        "    def run(self, x): return {'y': tf.nn.softmax(x[:, :3] * 2.0)}\n"
        "m = M(); tf.saved_model.save(m, sys.argv[1], {'serving_default': m.run})\n"
    )
    target = str(folder / "model.savedmodel")
    subprocess.run([sys.executable, "-c", code, target], check=True, capture_output=True)

    def expected(x: Array) -> Array:
        powers = np.exp(2 * x[:, :3])
        found: Array = powers / powers.sum(axis=1, keepdims=True)
        return found

    MODELS["tensorflow"] = Served("tensorflow", "x", "y", expected)


def save_python(root: Path) -> None:
    config = 'backend: "python"\n' + io_of("x", "y", 4).replace("count: 2", "count: 1")
    (place(root, "python", config) / "model.py").write_text(PYTHON_MODEL)
    MODELS["python"] = Served("python", "x", "y", lambda x: x * 2)


def save_custom(root: Path) -> None:
    weights, bias = np.arange(12.0).reshape(4, 3), np.array([1.0, 2.0, 3.0])
    folder = place(root, "linear", 'backend: "linear"\nmax_batch_size: 16')
    np.savez(folder / "model.npz", weights=weights, bias=bias)
    MODELS["linear"] = Served("linear", "x", "y", lambda x: x @ weights + bias)


def save_bfloat16(root: Path) -> None:
    """Two models of BF16: one that hands it on, and one that calculates with it."""
    text = tensors("input", ("INPUT0", "BF16", "-1")) + tensors("output", ("OUTPUT0", "BF16", "-1"))
    place(root, "bits", 'backend: "identity"\nmax_batch_size: 8\n' + text)
    text = "max_batch_size: 8\ndynamic_batching {}\n"
    text += tensors("input", ("x", "BF16", "-1")) + tensors("output", ("y__0", "BF16", "-1"))
    folder = place(root, "brain", 'backend: "pytorch"\n' + text)
    torch.jit.save(torch.jit.script(Doubled()), str(folder / "model.pt"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    work = tmp_path_factory.mktemp("backends")
    root = work / "models"
    save_torch(root)
    save_onnx(root)
    save_openvino(root)
    save_forests(root)
    save_python(root)
    save_custom(root)
    save_bfloat16(root)
    if importlib.util.find_spec("tensorflow") is not None:
        save_tensorflow(root)
    om.save(root, "engine", b"plan", 'backend: "tensorrt"')
    shutil.copytree(EXAMPLE, work / "source")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    pip += ["--no-build-isolation", "--disable-pip-version-check"]
    installed = work / "installed"
    subprocess.run([*pip, "--target", str(installed), str(work / "source")], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(installed))
        # why by name: a server ends when a model that it starts with cannot be loaded.
        wanted = [f"--load-model={name}" for name in (*MODELS, "bits", "brain")]
        with runtime(root, "--model-control-mode=explicit", *wanted) as found:
            yield found


@pytest.fixture(scope="module")
def http(server: Runtime) -> Iterator[Any]:
    with over_http.InferenceServerClient(server.http, concurrency=4) as client:
        yield client


@pytest.fixture(scope="module")
def grpc(server: Runtime) -> Iterator[Any]:
    with over_grpc.InferenceServerClient(server.grpc) as client:
        yield client


def ask(client: Any, module: Any, served: Served, rows: Array) -> Array:
    given = module.InferInput(served.source, list(rows.shape), "FP32")
    given.set_data_from_numpy(rows)
    found: Array = client.infer(served.name, [given]).as_numpy(served.target)
    return found


NAMES = (
    "onnxruntime",
    "pytorch",
    "exported",
    "python",
    "openvino",
    "openvino_onnx",
    "xgboost_json",
    "xgboost_ubj",
    "lightgbm",
    "sklearn",
    "linear",
    "tensorflow",
)


def served_as(name: str) -> Served:
    if name not in MODELS:
        pytest.skip(f"{name} is not installed")
    return MODELS[name]


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_the_frameworks_own(http: Any, grpc: Any, name: str) -> None:
    served = served_as(name)
    expected = served.expected(ROWS)
    for client, module in ((http, over_http), (grpc, over_grpc)):
        batched = ask(client, module, served, ROWS)
        np.testing.assert_allclose(batched, expected, rtol=served.tolerance, atol=1e-6)
        singles = [ask(client, module, served, row[None]) for row in ROWS[:4]]
        np.testing.assert_allclose(
            np.concatenate(singles), batched[:4], rtol=served.tolerance, atol=1e-6
        )


@pytest.mark.parametrize("name", NAMES)
def test_many_at_once_get_their_own_answers(grpc: Any, name: str) -> None:
    served = served_as(name)
    expected = served.expected(ROWS)

    def one(index: int) -> bool:
        row = index % len(ROWS)
        found = ask(grpc, over_grpc, served, ROWS[row : row + 1])
        return np.allclose(found, expected[row : row + 1], rtol=1e-4, atol=1e-6)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(60)))


@pytest.mark.parametrize("name", NAMES)
def test_wrong_types_and_shapes_are_refused(http: Any, name: str) -> None:
    served = served_as(name)
    given = over_http.InferInput(served.source, [1, 4], "FP64")
    given.set_data_from_numpy(np.zeros((1, 4)))
    with pytest.raises(InferenceServerException, match="data-type is 'FP64', but model"):
        http.infer(name, [given])
    with pytest.raises(
        InferenceServerException, match=r"unexpected shape for input .* got \[1,5\]"
    ):
        ask(http, over_http, served, np.zeros((1, 5), np.float32))
    assert ask(http, over_http, served, ROWS[:1]) is not None


@pytest.mark.parametrize("name", NAMES)
def test_metadata_and_configuration(http: Any, grpc: Any, name: str) -> None:
    served = served_as(name)
    metadata = http.get_model_metadata(name)
    assert metadata["inputs"] == [{"name": served.source, "datatype": "FP32", "shape": [-1, 4]}]
    config = grpc.get_model_config(name, as_json=True)["config"]
    assert config["backend"] == metadata["platform"] or config["platform"] == metadata["platform"]


@pytest.mark.parametrize("name", [name for name in NAMES if name != "python"])
def test_loading_again_and_again_does_not_grow(server: Runtime, http: Any, name: str) -> None:
    served = served_as(name)

    def cycle() -> None:
        http.unload_model(name)
        http.load_model(name)
        ask(http, over_http, served, ROWS[:1])

    process = psutil.Process(server.process.pid)
    for _ in range(5):
        cycle()
    before = process.memory_info().rss
    for _ in range(15):
        cycle()
    assert process.memory_info().rss - before < 24 << 20


def test_an_engine_says_what_it_misses(http: Any) -> None:
    with pytest.raises(InferenceServerException) as told:
        http.load_model("engine")
    text = str(told.value)
    assert "pip install tensorrt" in text or "GPU" in text


BRAIN = np.array([[1.5, -2.25, 3e37, 0.0078125]], ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    ("model", "source", "target", "factor"),
    [("bits", "INPUT0", "OUTPUT0", 1), ("brain", "x", "y__0", 2)],
)
def test_bfloat16_end_to_end(
    http: Any, grpc: Any, model: str, source: str, target: str, factor: int
) -> None:
    for client, module in ((http, over_http), (grpc, over_grpc)):
        given = module.InferInput(source, list(BRAIN.shape), "BF16")
        given.set_data_from_numpy(BRAIN)
        result = client.infer(model, [given])
        output = result.get_output(target)
        assert (output["datatype"] if module is over_http else output.datatype) == "BF16"
        np.testing.assert_array_equal(result.as_numpy(target), BRAIN * factor)


def test_bfloat16_of_many_requests_in_one_batch(grpc: Any) -> None:
    def one(number: int) -> bool:
        rows = np.full((1, 3), number, ml_dtypes.bfloat16)
        given = over_grpc.InferInput("x", [1, 3], "BF16")
        given.set_data_from_numpy(rows)
        found = grpc.infer("brain", [given]).as_numpy("y__0")
        return np.array_equal(found, rows * 2)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(60)))


def test_bfloat16_do_not_travel_as_json(server: Runtime) -> None:
    body = {"inputs": [{"name": "x", "shape": [1, 1], "datatype": "BF16", "data": [1.0]}]}
    status, answer = server.json("v2/models/brain/infer", body)
    assert status == 400
    assert "receiving BF16 data via JSON is not supported" in answer["error"]
