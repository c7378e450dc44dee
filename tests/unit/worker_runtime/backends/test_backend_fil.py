"""Forests answer as the libraries that grew them, under the names of Triton's FIL backend."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import datasets, ensemble

from tests.support.backend_instances import check_concurrent, check_no_growth
from tests.support.tensors import load_spec, tensors
from worker_runtime.backends.base import LoadSpec
from worker_runtime.backends.catalog import backend
from worker_runtime.errors import (
    ConfigInvalid,
    InvalidArgument,
    LoadFailed,
    RuntimeFault,
    Unsupported,
)

lightgbm = pytest.importorskip("lightgbm")
treelite = pytest.importorskip("treelite")
xgboost = pytest.importorskip("xgboost")
forest = pytest.importorskip("worker_runtime.backends.fil.forest")

FIXTURES = Path(__file__).parents[3] / "support" / "models"
BINARY = datasets.load_breast_cancer(return_X_y=True)
MULTI = datasets.load_iris(return_X_y=True)
NUMBERS = datasets.load_diabetes(return_X_y=True)
Array = np.ndarray[Any, Any]


def rows_of(data: tuple[Array, Array]) -> Array:
    return np.ascontiguousarray(data[0][::7], np.float32)


def spec(folder: Path, columns: int, width: int, model_type: str, **parameters: str) -> LoadSpec:
    text = 'backend: "fil" max_batch_size: 4096\n'
    text += tensors("input", ("input__0", "FP32", str(columns)))
    text += tensors("output", ("output__0", "FP32", str(width)))
    return load_spec(folder, text, model_type=model_type, **parameters)


def answers(folder: Path, data: tuple[Array, Array], width: int, kind: str, **more: str) -> Array:
    """For every seventh row, once in a batch and once alone."""
    rows = rows_of(data)
    more.setdefault("is_classifier", "true")
    model = backend("fil").load(spec(folder, rows.shape[1], width, kind, **more))
    instance = model.instances[0]
    (batched,) = instance.execute({"input__0": rows}, ["output__0"])
    singles = [instance.execute({"input__0": row[None]}, ["output__0"])[0] for row in rows]
    assert batched.dtype == np.float32
    np.testing.assert_array_equal(np.concatenate(singles), batched)
    model.close()
    return batched


def grown_xgboost(kind: str, data: tuple[Array, Array], **options: Any) -> Any:
    grown = {"classifier": xgboost.XGBClassifier, "regressor": xgboost.XGBRegressor}[kind]
    return grown(n_estimators=12, max_depth=4, random_state=0, **options).fit(*data)


XGBOOST_FILES = [("xgboost_json", "xgboost.json"), ("xgboost_ubj", "xgboost.ubj")]


@pytest.mark.parametrize(("kind", "file"), XGBOOST_FILES)
def test_xgboost_for_two_classes(tmp_path: Path, kind: str, file: str) -> None:
    grown = grown_xgboost("classifier", BINARY)
    grown.save_model(tmp_path / file)
    expected = grown.predict_proba(rows_of(BINARY))
    both = answers(tmp_path, BINARY, 2, kind, predict_proba="true")
    np.testing.assert_allclose(both, expected, rtol=1e-5, atol=1e-6)
    one = answers(tmp_path, BINARY, 1, kind, predict_proba="true")
    assert one.shape == (len(expected),)
    np.testing.assert_allclose(one, expected[:, 1], rtol=1e-5, atol=1e-6)
    classes = answers(tmp_path, BINARY, 1, kind)
    np.testing.assert_array_equal(classes, grown.predict(rows_of(BINARY)))


@pytest.mark.parametrize("threshold", ["0.02", "0.5", "0.97", "1.5"])
def test_thresholds_are_exceeded_not_reached(tmp_path: Path, threshold: str) -> None:
    grown = grown_xgboost("classifier", BINARY)
    grown.save_model(tmp_path / "xgboost.json")
    scores = grown.predict_proba(rows_of(BINARY))[:, 1]
    classes = answers(tmp_path, BINARY, 1, "xgboost_json", threshold=threshold)
    np.testing.assert_array_equal(classes, scores > float(threshold))


@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
@pytest.mark.parametrize(("kind", "file"), XGBOOST_FILES)
def test_xgboost_for_several_classes(tmp_path: Path, kind: str, file: str, objective: str) -> None:
    grown = grown_xgboost("classifier", MULTI)
    margins = grown.predict(rows_of(MULTI), output_margin=True)
    expected = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    booster = grown.get_booster()
    booster.set_param({"objective": objective})
    booster.save_model(tmp_path / file)
    found = answers(tmp_path, MULTI, 3, kind, predict_proba="true")
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    classes = answers(tmp_path, MULTI, 1, kind)
    np.testing.assert_array_equal(classes, expected.argmax(axis=1))


def test_xgboost_regression_also_with_missing_values(tmp_path: Path) -> None:
    features = NUMBERS[0].copy()
    features[::3, 2] = np.nan
    data = (features, NUMBERS[1])
    grown = grown_xgboost("regressor", data)
    grown.save_model(tmp_path / "xgboost.ubj")
    found = answers(tmp_path, data, 1, "xgboost_ubj", is_classifier="false")
    np.testing.assert_allclose(found, grown.predict(rows_of(data)), rtol=1e-5)


def test_the_old_binary_files_of_xgboost(tmp_path: Path) -> None:
    """Written by XGBoost 1.7.6; current ones neither write nor read them any more."""
    shutil.copy(FIXTURES / "xgboost.model", tmp_path)
    same = xgboost.Booster(model_file=FIXTURES / "xgboost.json")
    expected = same.predict(xgboost.DMatrix(rows_of(BINARY)))
    found = answers(tmp_path, BINARY, 1, "xgboost", predict_proba="true")
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("objective", "data", "width"),
    [("binary", BINARY, 2), ("multiclass", MULTI, 3), ("regression", NUMBERS, 1)],
)
def test_lightgbm(tmp_path: Path, objective: str, data: Any, width: int) -> None:
    # LightGBM decides in double precision; its features must survive being FP32.
    data = (data[0].astype(np.float32).astype(np.float64), data[1])
    options = {"num_class": 3} if objective == "multiclass" else {}
    grown = lightgbm.train(
        {"objective": objective, "verbose": -1, "num_threads": 1, **options},
        lightgbm.Dataset(*data),
        10,
    )
    grown.save_model(tmp_path / "model.txt")
    expected = grown.predict(rows_of(data))
    if objective == "binary":
        expected = np.stack((1 - expected, expected), axis=1)
    classifier = str(objective != "regression").lower()
    found = answers(
        tmp_path, data, width, "lightgbm", is_classifier=classifier, predict_proba="true"
    )
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


SKLEARN: list[tuple[Callable[..., Any], Any, int]] = [
    (ensemble.RandomForestClassifier, BINARY, 2),
    (ensemble.RandomForestClassifier, MULTI, 3),
    (ensemble.ExtraTreesClassifier, MULTI, 3),
    (ensemble.GradientBoostingClassifier, BINARY, 2),
    (ensemble.GradientBoostingClassifier, MULTI, 3),
    (ensemble.HistGradientBoostingClassifier, MULTI, 3),
    (ensemble.RandomForestRegressor, NUMBERS, 1),
    (ensemble.ExtraTreesRegressor, NUMBERS, 1),
    (ensemble.GradientBoostingRegressor, NUMBERS, 1),
]


@pytest.mark.parametrize(
    ("kind", "data", "width"), SKLEARN, ids=[f"{k.__name__}-{w}" for k, _, w in SKLEARN]
)
def test_scikit_learn_through_checkpoints(
    tmp_path: Path, kind: Callable[..., Any], data: Any, width: int
) -> None:
    data = (data[0].astype(np.float32).astype(np.float64), data[1])
    size = "max_iter" if "Hist" in kind.__name__ else "n_estimators"
    grown = kind(**{size: 8}, random_state=0).fit(*data)
    treelite.sklearn.import_model(grown).serialize(tmp_path / "checkpoint.tl")
    if width == 1:
        found = answers(tmp_path, data, 1, "treelite_checkpoint", is_classifier="false")
        np.testing.assert_allclose(found, grown.predict(rows_of(data)), rtol=1e-5)
        return
    found = answers(tmp_path, data, width, "treelite_checkpoint", predict_proba="true")
    np.testing.assert_allclose(found, grown.predict_proba(rows_of(data)), rtol=1e-4, atol=1e-6)
    classes = answers(tmp_path, data, 1, "treelite_checkpoint")
    np.testing.assert_array_equal(classes, grown.predict(rows_of(data)))


def test_isolation_forests(tmp_path: Path) -> None:
    grown = ensemble.IsolationForest(n_estimators=20, random_state=0).fit(BINARY[0])
    treelite.sklearn.import_model(grown).serialize(tmp_path / "checkpoint.tl")
    found = answers(tmp_path, BINARY, 1, "treelite_checkpoint", is_classifier="false")
    np.testing.assert_allclose(found, -grown.score_samples(rows_of(BINARY)), rtol=1e-5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fil")
    grown_xgboost("classifier", BINARY).save_model(path / "xgboost.json")
    return path


@pytest.mark.parametrize(
    ("parameters", "width", "error", "text"),
    [
        ({"model_type": "pickle"}, 1, Unsupported, "pickle not recognized as a valid"),
        ({"is_classifier": ""}, 1, ConfigInvalid, "Bad input for parameter is_classifier"),
        ({"is_classifier": "1"}, 1, ConfigInvalid, "Bad input for parameter is_classifier"),
        ({"threshold": "half"}, 1, ConfigInvalid, "Bad input for parameter threshold"),
        ({}, 2, ConfigInvalid, "expects 2 values per row in 'output__0', model provides 1"),
        ({"predict_proba": "true"}, 3, ConfigInvalid, "model provides 1 or 2"),
        ({"model_type": "lightgbm"}, 1, LoadFailed, "unable to find"),
    ],
)
def test_what_cannot_be_served_is_refused(
    folder: Path, parameters: dict[str, str], width: int, error: type[Exception], text: str
) -> None:
    given = {"model_type": "xgboost_json", "is_classifier": "true"} | parameters
    with pytest.raises(error, match=text):
        backend("fil").load(spec(folder, 30, width, given.pop("model_type"), **given))


def test_a_classifier_or_not_must_be_said(folder: Path) -> None:
    with pytest.raises(ConfigInvalid, match="Required parameter is_classifier not found in config"):
        backend("fil").load(spec(folder, 30, 1, "xgboost_json"))


def test_the_number_of_features_must_fit(folder: Path) -> None:
    with pytest.raises(ConfigInvalid, match="expects 29 features, model provides 30"):
        backend("fil").load(spec(folder, 29, 1, "xgboost_json", is_classifier="true"))


@pytest.mark.parametrize("kind", ["xgboost", "xgboost_json", "xgboost_ubj", "lightgbm"])
def test_files_that_hold_something_else_are_refused(tmp_path: Path, kind: str) -> None:
    name = {"xgboost": "xgboost.model", "lightgbm": "model.txt"}.get(
        kind, kind.replace("xgboost_", "xgboost.")
    )
    (tmp_path / name).write_text("no model at all")
    with pytest.raises(LoadFailed, match="Model failed to load into Treelite with error"):
        backend("fil").load(spec(tmp_path, 30, 1, kind, is_classifier="true"))


Damage = Callable[[dict[str, Any]], None]


def far_child(tree: dict[str, Any]) -> None:
    tree["left_children"][0] = 10_000


def circle(tree: dict[str, Any]) -> None:
    tree["left_children"][1] = tree["left_children"][0]


def far_feature(tree: dict[str, Any]) -> None:
    tree["split_indices"][0] = 1_000_000


@pytest.mark.parametrize("damage", [far_child, circle, far_feature])
def test_trees_that_lead_nowhere_never_reach_the_server(
    tmp_path: Path, folder: Path, damage: Damage
) -> None:
    model = json.loads((folder / "xgboost.json").read_text())
    damage(model["learner"]["gradient_booster"]["model"]["trees"][0])
    (tmp_path / "xgboost.json").write_text(json.dumps(model))
    with pytest.raises(LoadFailed, match="Model failed to load into Treelite with error"):
        backend("fil").load(spec(tmp_path, 30, 1, "xgboost_json", is_classifier="true"))


@pytest.mark.parametrize("key", ["left_child", "right_child", "split_feature"])
def test_damaged_lightgbm_files_never_reach_the_server(tmp_path: Path, key: str) -> None:
    data = lightgbm.Dataset(*MULTI)
    grown = lightgbm.train(
        {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1}, data, 3
    )
    text = re.sub(rf"^{key}=\d+", f"{key}=70000", grown.model_to_string(), count=1, flags=re.M)
    (tmp_path / "model.txt").write_text(text)
    with pytest.raises(LoadFailed, match=r"the file is damaged|failed to load into Treelite"):
        backend("fil").load(spec(tmp_path, 4, 1, "lightgbm", is_classifier="true"))


def test_damaged_checkpoints_never_reach_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes changed here and there: each is refused, or gives some answer."""
    monkeypatch.setattr(forest, "PATIENCE_S", 2.0)
    grown = ensemble.RandomForestClassifier(3, max_depth=3, random_state=0).fit(*BINARY)
    treelite.sklearn.import_model(grown).serialize(tmp_path / "checkpoint.tl")
    whole = (tmp_path / "checkpoint.tl").read_bytes()
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(5):
        changed = bytearray(whole)
        for place in random.integers(0, len(whole), 8):
            changed[place] = random.integers(0, 256)
        (tmp_path / "checkpoint.tl").write_bytes(changed)
        try:
            model = backend("fil").load(
                spec(tmp_path, 30, 1, "treelite_checkpoint", is_classifier="true")
            )
        except RuntimeFault:
            refused += 1
        else:
            model.instances[0].execute({"input__0": rows_of(BINARY)}, ["output__0"])
    assert refused


def test_a_reader_that_crashes_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forest.tried.cache_clear()
    ended = subprocess.CompletedProcess([], -11, b"", b"")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    with pytest.raises(LoadFailed, match="the process that read it ended by signal 11"):
        backend("fil").load(spec(folder, 30, 1, "xgboost_json", is_classifier="true"))
    forest.tried.cache_clear()


def test_other_numbers_of_features_are_refused(folder: Path) -> None:
    text = 'backend: "fil" max_batch_size: 8\n' + tensors("input", ("input__0", "FP32", "-1"))
    text += tensors("output", ("output__0", "FP32", "1"))
    wanted = load_spec(folder, text, model_type="xgboost_json", is_classifier="true")
    instance = backend("fil").load(wanted).instances[0]
    with pytest.raises(InvalidArgument, match="number of features: expected 30, got 29"):
        instance.execute({"input__0": np.zeros((1, 29), np.float32)}, ["output__0"])


def test_unknown_fields_are_refused_unless_allowed(tmp_path: Path, folder: Path) -> None:
    model = json.loads((folder / "xgboost.json").read_text())
    model["learner"]["surprise"] = 1
    (tmp_path / "xgboost.json").write_text(json.dumps(model))
    given = {"is_classifier": "true", "xgboost_allow_unknown_field": "false"}
    with pytest.raises(LoadFailed, match="surprise"):
        backend("fil").load(spec(tmp_path, 30, 1, "xgboost_json", **given))
    given["xgboost_allow_unknown_field"] = "true"
    backend("fil").load(spec(tmp_path, 30, 1, "xgboost_json", **given)).close()


def test_the_older_names_of_parameters(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    given = {"output_class": "true", "algo": "ALGO_AUTO", "storage_type": "AUTO"}
    backend("fil").load(spec(folder, 30, 1, "xgboost_json", **given)).close()
    assert "use 'is_classifier' instead" in caplog.text
    assert "'storage_type'" in caplog.text


def test_instances_answer_at_the_same_time(folder: Path) -> None:
    model = backend("fil").load(spec(folder, 30, 1, "xgboost_json", is_classifier="true"))
    rows = {"input__0": rows_of(BINARY)}
    (expected,) = model.instances[0].execute(rows, ["output__0"])
    check_concurrent(model, rows, "output__0", expected)


def test_loading_again_and_again_does_not_grow(folder: Path) -> None:
    wanted = spec(folder, 30, 1, "xgboost_json", is_classifier="true")
    rows = {"input__0": rows_of(BINARY)}
    check_no_growth(lambda: backend("fil").load(wanted), rows, "output__0", mib=8)
