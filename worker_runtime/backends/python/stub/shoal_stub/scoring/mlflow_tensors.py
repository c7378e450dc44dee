"""A model of MLflow behind KServe's tensors: those that its configuration has beside REQUEST.

They stand in the order of the model's signature, which knows the names of its columns.
"""

import importlib
from typing import Any

import numpy as np

from ..faults import Misuse
from ..tensors import DTYPES
from . import mlflow_model
from .http import Refused

_OURS = ("REQUEST", "REQUEST_HEAD", "RESPONSE", "RESPONSE_HEAD")


class Tensors:
    """``config`` is the model's, as JSON has it."""

    def __init__(self, config: "dict[str, Any]") -> None:
        self._inputs = [item["name"] for item in config["input"] if item["name"] not in _OURS]
        self._outputs = [item for item in config["output"] if item["name"] not in _OURS]

    def predict(self, given: "dict[str, np.ndarray[Any, Any]]") -> Any:
        """What the model says of the arrays, each by its tensor's name. Raises Misuse, Refused."""
        if not given:
            known = f", or {', '.join(self._inputs)}" if self._inputs else ""
            raise Refused(400, f"no inputs: expected REQUEST{known}")
        model = mlflow_model.loaded()
        schema = model.metadata.get_input_schema()
        if len(schema.inputs) != len(self._inputs):
            raise Misuse("the configuration has other inputs than the model's signature")
        columns = list(zip(self._inputs, schema.inputs))
        needed = [name for name, spec in columns if getattr(spec, "required", True)]
        missing = [name for name in needed if name not in given]
        if missing:
            raise Refused(400, f"inputs are missing: {', '.join(missing)}")
        if schema.is_tensor_spec():
            data: Any = {spec.name: given[name] for name, spec in columns if name in given}
            if list(data) == [None]:
                data = data[None]
        else:
            data = _frame(columns, given)
        return model.predict(mlflow_model.cast(data, schema))

    def arrays(self, found: Any) -> "dict[str, np.ndarray[Any, Any]]":
        """What the model said, by the names of the configuration; none where it has none."""
        schema = mlflow_model.loaded().metadata.get_output_schema()
        specs = schema.inputs if schema is not None else []
        answers = {}
        for place, (item, spec) in enumerate(zip(self._outputs, specs)):
            part = _part(found, place, spec.name, len(self._outputs))
            array = np.asarray(part)
            if len(item["dims"]) == 1 and array.ndim != 1:
                array = array.reshape(-1)
            answers[item["name"]] = array.astype(_dtype(item["data_type"]))
        return answers


def _frame(columns: "list[tuple[str, Any]]", given: "dict[str, np.ndarray[Any, Any]]") -> Any:
    """Columns that have no names are called by their places, as MLflow does."""
    found = {}
    rows = {name: len(array) for name, array in given.items()}
    if len(set(rows.values())) > 1:
        told = ", ".join(f"{name} has {count}" for name, count in rows.items())
        raise Refused(400, f"the columns have different numbers of rows: {told}")
    for place, (name, spec) in enumerate(columns):
        if name not in given:
            continue
        array = given[name]
        if array.dtype == np.object_ and str(getattr(spec.type, "name", "")) != "binary":
            array = np.array([text.decode() for text in array.reshape(-1)], np.object_).reshape(
                array.shape
            )
        key = place if spec.name is None else spec.name
        found[key] = list(array) if array.ndim > 1 else array
    return importlib.import_module("pandas").DataFrame(found)


def _part(found: Any, place: int, name: Any, count: int) -> Any:
    """One output: a column or a member by its name, else by its place."""
    if isinstance(found, dict):
        return found[name] if name in found else list(found.values())[place]
    if hasattr(found, "columns"):
        return found[name] if name in found.columns else found.iloc[:, place]
    return found if count == 1 else np.asarray(found)[:, place]


def _dtype(data_type: str) -> Any:
    kind = data_type[len("TYPE_") :]
    return DTYPES["BYTES" if kind == "STRING" else kind]
