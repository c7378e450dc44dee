"""SavedModels and frozen graphs answer as TensorFlow itself does.

Skipped where TensorFlow is not installed: it is too large to be one of the development packages.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import datasets

from tests.support.backend_instances import check_concurrent, check_no_growth
from tests.support.tensors import load_spec, tensors
from worker_runtime.backends.base import LoadSpec
from worker_runtime.backends.catalog import backend
from worker_runtime.errors import BackendFailed, ConfigInvalid, LoadFailed
from worker_runtime.repository.complete import check_graph, complete

tf = pytest.importorskip(
    "tensorflow", reason="TensorFlow is not installed (pip install tensorflow-cpu)"
)

DIGITS = (datasets.load_digits().data / 16).astype(np.float32)
SOME = np.ascontiguousarray(DIGITS[::40])


class Model(tf.Module):
    """Two layers trained on the digits, under several signatures."""

    def __init__(self) -> None:
        super().__init__()
        random = np.random.default_rng(0)
        self.first = tf.Variable(random.normal(0, 0.1, (64, 32)).astype(np.float32))
        self.second = tf.Variable(random.normal(0, 0.1, (32, 10)).astype(np.float32))
        labels = tf.one_hot(datasets.load_digits().target, 10)
        for _ in range(60):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(
                    tf.nn.softmax_cross_entropy_with_logits(labels, self.margins(DIGITS))
                )
            for variable, slope in zip(
                self.variables, tape.gradient(loss, self.variables), strict=True
            ):
                variable.assign_sub(2.0 * slope)

    def margins(self, pixels: Any) -> Any:
        return tf.nn.relu(pixels @ self.first) @ self.second

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, "pixels")])
    def scores(self, pixels: Any) -> dict[str, Any]:
        return {"scores": tf.nn.softmax(self.margins(pixels))}

    @tf.function(input_signature=[tf.TensorSpec([None, 64], tf.float32, "pixels")])
    def labels(self, pixels: Any) -> dict[str, Any]:
        best = tf.argmax(self.margins(pixels), axis=1)
        return {"digit": best[:, None], "word": tf.strings.as_string(best)[:, None]}

    @tf.function(input_signature=[tf.TensorSpec([None, 1], tf.string, "text")])
    def loud(self, text: Any) -> dict[str, Any]:
        return {"out": tf.strings.join([text, "!"])}


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, model: Model) -> Path:
    path = tmp_path_factory.mktemp("tensorflow")
    signatures = {"serving_default": model.scores, "labels": model.labels, "loud": model.loud}
    tf.saved_model.save(model, str(path / "model.savedmodel"), signatures)
    tf.saved_model.save(model, str(path / "only.savedmodel"), {"other": model.scores})
    first, second = model.first.numpy(), model.second.numpy()
    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [None, 64], "x")
        tf.nn.softmax(
            tf.matmul(tf.nn.relu(tf.matmul(x, first)), second),
            name="y",
        )
    (path / "model.graphdef").write_bytes(graph.as_graph_def().SerializeToString())
    return path


def spec(folder: Path, text: str = "", file: str = "", **parameters: str) -> LoadSpec:
    kind = "graphdef" if file.endswith("graphdef") else "savedmodel"
    head = f'backend: "tensorflow" platform: "tensorflow_{kind}"\n'
    return load_spec(folder, head + text, file, **parameters)


FROZEN = "max_batch_size: 64\n" + tensors("input", ("x", "FP32", "64"))
FROZEN += tensors("output", ("y", "FP32", "10"))


@pytest.mark.parametrize(
    ("text", "file", "source", "target", "parameters"),
    [
        ("", "", "pixels", "scores", {}),
        ("", "", "pixels", "scores", {"TF_GRAPH_TAG": "serve"}),
        ("", "only.savedmodel", "pixels", "scores", {}),
        ("", "only.savedmodel", "pixels", "scores", {"TF_SIGNATURE_DEF": "other"}),
        (FROZEN, "model.graphdef", "x", "y", {}),
    ],
)
def test_answers_equal_tensorflows_alone_and_in_batches(
    folder: Path,
    model: Model,
    text: str,
    file: str,
    source: str,
    target: str,
    parameters: dict[str, str],
) -> None:
    loaded = backend("tensorflow").load(spec(folder, text, file, **parameters))
    instance = loaded.instances[0]
    (batched,) = instance.execute({source: SOME}, [target])
    np.testing.assert_allclose(batched, model.scores(SOME)["scores"].numpy(), rtol=1e-5, atol=1e-7)
    singles = [instance.execute({source: row[None]}, [target])[0] for row in SOME]
    np.testing.assert_allclose(np.concatenate(singles), batched, rtol=1e-4, atol=1e-7)
    loaded.close()


def test_a_signature_is_chosen(folder: Path, model: Model) -> None:
    loaded = backend("tensorflow").load(spec(folder, TF_SIGNATURE_DEF="labels"))
    word, digit = loaded.instances[0].execute({"pixels": SOME}, ["word", "digit"])
    expected = model.labels(SOME)["digit"].numpy()
    np.testing.assert_array_equal(digit, expected)
    assert word.tolist() == [[str(value).encode()] for value in expected[:, 0]]


def test_texts_are_bytes(folder: Path) -> None:
    instance = backend("tensorflow").load(spec(folder, TF_SIGNATURE_DEF="loud")).instances[0]
    given = np.array([[b"\xff\x00"], ["ü".encode()]], dtype=object)
    assert instance.execute({"text": given}, ["out"])[0].tolist() == [
        [b"\xff\x00!"],
        ["ü!".encode()],
    ]


def test_the_signature_completes_the_configuration(folder: Path) -> None:
    wanted = spec(folder, TF_SIGNATURE_DEF="labels")
    graph = backend("tensorflow").load(wanted).graph
    assert graph is not None
    complete(wanted.config, graph, max_batch_given=False)
    config = wanted.config
    assert config.max_batch_size == 4
    assert [(item.name, list(item.dims)) for item in config.output] == [
        ("digit", [1]),
        ("word", [1]),
    ]
    assert [item.data_type for item in config.output] == [9, 13]
    check_graph(config, graph)


@pytest.mark.parametrize(
    ("text", "file", "parameters", "error"),
    [
        ("", "", {"TF_SIGNATURE_DEF": "nope"}, "no signature 'nope', but serving_default, labels"),
        ("", "", {"TF_GRAPH_TAG": "train"}, "failed to load model 'm'"),
        ("", "missing", {}, "unable to find"),
        (FROZEN.replace('"y"', '"z"'), "model.graphdef", {}, "unexpected inference output 'z'"),
    ],
)
def test_what_cannot_be_loaded(
    folder: Path, text: str, file: str, parameters: dict[str, str], error: str
) -> None:
    with pytest.raises(LoadFailed, match=error):
        backend("tensorflow").load(spec(folder, text, file, **parameters))


def test_a_file_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "model.savedmodel").mkdir()
    (tmp_path / "model.savedmodel" / "saved_model.pb").write_text("nothing")
    with pytest.raises(LoadFailed, match="failed to load model 'm'"):
        backend("tensorflow").load(spec(tmp_path))


def test_wrong_tensors_are_told(folder: Path) -> None:
    text = "max_batch_size: 2\n" + tensors("input", ("pixels", "FP32", "63"))
    wanted = spec(folder, text + tensors("output", ("scores", "FP32", "10")))
    graph = backend("tensorflow").load(wanted).graph
    assert graph is not None
    with pytest.raises(ConfigInvalid, match=r"the model expects 2 dimensions \(shape \[-1,64\]\)"):
        check_graph(wanted.config, graph)


def test_wrong_data_fails_its_request_only(folder: Path) -> None:
    instance = backend("tensorflow").load(spec(folder)).instances[0]
    with pytest.raises(BackendFailed, match="TensorFlow: "):
        instance.execute({"pixels": np.zeros((2, 3), np.float32)}, ["scores"])
    assert instance.execute({"pixels": SOME}, ["scores"])[0].shape == (len(SOME), 10)


def test_instances_answer_at_the_same_time(folder: Path, model: Model) -> None:
    expected = model.scores(SOME)["scores"].numpy()
    check_concurrent(backend("tensorflow").load(spec(folder)), {"pixels": SOME}, "scores", expected)


def test_loading_again_and_again_does_not_grow(folder: Path) -> None:
    check_no_growth(lambda: backend("tensorflow").load(spec(folder)), {"pixels": SOME}, "scores")
