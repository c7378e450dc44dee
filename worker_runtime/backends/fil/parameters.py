"""The parameters of Triton's FIL backend, its newer names and the older ones that they replaced.

Those that only tune GPUs there are known and do nothing here.
"""

import logging
import math
from collections.abc import Mapping

from msgspec import Struct

from worker_runtime.backends.configuration import bad_value
from worker_runtime.errors import Unsupported

logger = logging.getLogger(__name__)

# By model_type: the file that a version directory holds by default.
FILENAMES = {
    "xgboost": "xgboost.model",
    "xgboost_json": "xgboost.json",
    "xgboost_ubj": "xgboost.ubj",
    "lightgbm": "model.txt",
    "treelite_checkpoint": "checkpoint.tl",
}
_RENAMED = {"algo": "layout", "threads_per_tree": "chunk_size", "output_class": "is_classifier"}
_REMOVED = ("storage_type", "blocks_per_sm")
_DEFAULT_THRESHOLD = 0.5


class ForestOptions(Struct, frozen=True):
    """``threads`` -1: as many as the instance may have."""

    model_type: str
    classifier: bool
    probabilities: bool
    threshold: float
    allow_unknown_field: bool
    threads: int


def forest_options(parameters: Mapping[str, str], model: str) -> ForestOptions:
    """Raises ConfigInvalid or Unsupported, in Triton's words."""
    for old, new in _RENAMED.items():
        if parameters.get(old):
            logger.warning(
                "model '%s': Triton has removed the parameter '%s'; use '%s' instead",
                model,
                old,
                new,
            )
    for old in _REMOVED:
        if parameters.get(old):
            logger.warning("model '%s': Triton has removed the parameter '%s'", model, old)
    model_type = parameters.get("model_type") or "xgboost"
    if model_type not in FILENAMES:
        raise Unsupported(f"{model_type} not recognized as a valid serialization format.")
    return ForestOptions(
        model_type=model_type,
        classifier=_classifier(parameters),
        probabilities=_flag(parameters, "predict_proba"),
        threshold=_threshold(parameters),
        allow_unknown_field=_flag(parameters, "xgboost_allow_unknown_field"),
        threads=_threads(parameters),
    )


def _classifier(parameters: Mapping[str, str]) -> bool:
    # why the old name first: so Triton does while it still reads it.
    old = parameters.get("output_class", "").strip()
    if old in ("true", "false"):
        return old == "true"
    if "is_classifier" not in parameters:
        raise bad_value("Required parameter is_classifier not found in config")
    text = parameters["is_classifier"].strip()
    if text not in ("true", "false"):
        raise bad_value("Bad input for parameter is_classifier")
    return text == "true"


def _flag(parameters: Mapping[str, str], key: str) -> bool:
    """Only the very word is true, as in Triton."""
    return parameters.get(key, "").strip() == "true"


def _threshold(parameters: Mapping[str, str]) -> float:
    if "threshold" not in parameters:
        return _DEFAULT_THRESHOLD
    try:
        value = float(parameters["threshold"])
    except ValueError:
        raise bad_value("Bad input for parameter threshold") from None
    if math.isnan(value):
        raise bad_value("Bad input for parameter threshold")
    return value


def _threads(parameters: Mapping[str, str]) -> int:
    text = parameters.get("cpu_nthread", "").strip()
    try:
        return int(text) if text else -1
    except ValueError:
        return -1  # as in Triton, which takes its default then
