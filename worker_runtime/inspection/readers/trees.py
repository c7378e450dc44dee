"""Tree models (XGBoost JSON, LightGBM text): how many features go in and how many numbers out."""

import json
from pathlib import Path

from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.types.signature import GraphTensor, ModelGraph

MAX_BYTES = 512 * 2**20
HEADER_BYTES = 64 * 2**10
ROWS = 4096  # per batch: trees are cheap, and more rows per call cost little
# The tree backend's file names, by its parameter model_type.
TREES = {
    "xgboost_json": "xgboost.json", "xgboost_ubj": "xgboost.ubj", "lightgbm": "model.txt",
    "treelite_checkpoint": "checkpoint.tl", "xgboost": "xgboost.model",
}  # fmt: skip


def read_trees(path: Path, model: str) -> FileMetadata:
    """Raises LoadFailed for a text that is neither; what is binary tells nothing here."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    if head.startswith(b"tree"):
        return _lightgbm(head.decode("utf-8", "replace"), path, model)
    if head.lstrip().startswith(b"{") and path.suffix == ".json":
        return _xgboost(path, model)
    return FileMetadata(producer="trees")


def _xgboost(path: Path, model: str) -> FileMetadata:
    if path.stat().st_size > MAX_BYTES:
        return FileMetadata(producer="xgboost")
    try:
        learner = json.loads(path.read_bytes())["learner"]
        parameters = learner["learner_model_param"]
        features = int(parameters["num_feature"])
        classes = max(1, int(parameters.get("num_class", 0)), int(parameters.get("num_target", 1)))
        objective = str(learner["objective"]["name"])
    except (
        ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError,
    ) as error:  # fmt: skip
        raise _refused(model, f"{path.name} is not a model that XGBoost saved") from error
    return _metadata(features, classes, f"xgboost {objective}")


def _lightgbm(head: str, path: Path, model: str) -> FileMetadata:
    values = dict(
        line.split("=", 1) for line in head.partition("\n\n")[0].splitlines() if "=" in line
    )
    try:
        features = int(values["max_feature_idx"]) + 1
        classes = max(1, int(values.get("num_class", 1)))
    except (KeyError, ValueError) as error:
        raise _refused(model, f"{path.name} is not a model that LightGBM saved") from error
    return _metadata(features, classes, f"lightgbm {values.get('objective', '')}".strip())


def opening(folder: Path, model: str) -> str:
    """The beginning of a config.pbtxt for the tree model in a version folder; "" without one.

    Classifiers answer with a probability per class. Raises LoadFailed.
    """
    for kind, filename in TREES.items():
        path = folder / filename
        if not path.is_file():
            continue
        parameters = [("model_type", kind)]
        classifies = _classifies(read_trees(path, model).producer_said)
        parameters.append(("is_classifier", "true" if classifies else "false"))
        if classifies:
            parameters.append(("predict_proba", "true"))
        rows = [f'  {{ key: "{k}" value: {{ string_value: "{v}" }} }}' for k, v in parameters]
        return (
            f'backend: "fil"\nmax_batch_size: {ROWS}\nparameters [\n' + ",\n".join(rows) + "\n]\n"
        )
    return ""


def _classifies(producer: str) -> bool:
    objective = producer.partition(" ")[2]
    return objective.startswith(("binary:", "multi:", "binary", "multiclass"))


def _metadata(features: int, classes: int, producer: str) -> FileMetadata:
    width = max(2, classes) if _classifies(producer) else classes
    inputs = (GraphTensor("input__0", "FP32", (-1, features)),)
    outputs = (GraphTensor("output__0", "FP32", (-1, width)),)
    return FileMetadata(graph=ModelGraph(inputs, outputs, producer))


def _refused(model: str, message: str) -> LoadFailed:
    hint = "save it with Booster.save_model('model.json') or Booster.save_model('model.txt')"
    return LoadFailed(message, Problem("NotATreeModel", message, model=model, hints=(hint,)))
