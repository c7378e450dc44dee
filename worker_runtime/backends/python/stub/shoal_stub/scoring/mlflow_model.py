"""A model of MLflow behind the two functions of a scoring script.

A request says its data in Azure's keys (``input_data``) or in MLflow's (``dataframe_split``,
``dataframe_records``, ``instances``, ``inputs``), as JSON, or as CSV. Answers follow the question:
a list, or ``{"predictions": ...}``.
"""

import importlib
import io
import os
from typing import Any, Optional

import numpy as np

from ..faults import Misuse
from .http import AMLRequest, Refused, rawhttp

MLMODEL = "MLmodel"
_AZURES = "input_data"
_KEYS = (_AZURES, "dataframe_split", "dataframe_records", "instances", "inputs")
_MODEL: "list[Any]" = []


def init() -> None:
    """Load the model that lies where the process is. Raises Misuse where MLflow is missing."""
    try:
        pyfunc = importlib.import_module("mlflow.pyfunc")
    except ImportError as error:
        raise Misuse(
            f"the model's environment has no MLflow ({error}): name mlflow in the "
            "requirements.txt beside MLmodel"
        ) from None
    _MODEL[:] = [pyfunc.load_model(os.getcwd())]


def loaded() -> Any:
    (model,) = _MODEL
    return model


@rawhttp
def run(request: AMLRequest) -> Any:
    """Raises Refused for data that says nothing to the model."""
    if request.method != "POST":
        raise Refused(405, "Method not allowed")
    model = loaded()
    schema = model.metadata.get_input_schema()
    parameters: Optional[dict[str, Any]] = None
    if request.mimetype == "text/csv":
        word, data = "csv", _frames().read_csv(io.BytesIO(request.data))
    else:
        word, given, parameters = _said(request.get_json(force=True))
        data = _data(word, given, schema)
    data = cast(data, schema)
    found = model.predict(data, params=parameters) if parameters else model.predict(data)
    plain = as_json(found)
    return plain if word == _AZURES else {"predictions": plain}


def _said(document: Any) -> "tuple[str, Any, Optional[dict[str, Any]]]":
    keys = [word for word in _KEYS if isinstance(document, dict) and word in document]
    if len(keys) != 1:
        raise Refused(400, f"Expected a JSON object with one of {', '.join(_KEYS)}")
    return keys[0], document[keys[0]], document.get("params")


def _data(word: str, given: Any, schema: Any) -> Any:
    """A data frame, an array, or arrays by name, as the words mean it."""
    tensors = schema is not None and schema.is_tensor_spec()
    try:
        if word == "dataframe_split" or (isinstance(given, dict) and "data" in given):
            parts = {key: given[key] for key in ("data", "columns", "index") if key in given}
            return _frames().DataFrame(**parts)
        if word == "dataframe_records":
            return _frames().DataFrame(given)
        if isinstance(given, dict):
            return {name: np.array(value) for name, value in given.items()}
        rows = isinstance(given, list) and given and isinstance(given[0], dict)
        if rows and tensors:
            return {name: np.array([row[name] for row in given]) for name in given[0]}
        if rows or (word == _AZURES and not tensors):
            return _frames().DataFrame(given)
        return np.array(given)
    except (KeyError, TypeError, ValueError) as error:
        raise Refused(400, f"{word} is no data for the model: {error}") from None


def cast(data: Any, schema: Any) -> Any:
    """JSON knows one kind of numbers: of the types that the signature names, where it names any."""
    if schema is None:
        return data
    try:
        if schema.is_tensor_spec():
            kinds = dict(zip(schema.input_names(), schema.numpy_types()))
            if isinstance(data, dict):
                return {name: value.astype(kinds.get(name, value.dtype))
                        for name, value in data.items()}  # fmt: skip
            kind = schema.numpy_types()[0]
            return data.astype(kind) if hasattr(data, "astype") else data
        for name, spec in zip(schema.input_names(), schema.inputs):
            # lists and objects, whose values are as JSON has them, have no such type
            kind = getattr(spec.type, "to_pandas", None)
            if kind is not None and name in data:
                data[name] = data[name].astype(kind())
    except (TypeError, ValueError) as error:
        raise Refused(
            400, f"The data has not the types of the model's signature: {error}"
        ) from None
    return data


def as_json(found: Any) -> Any:
    """What ``predict`` gave, as JSON has it."""
    if hasattr(found, "to_dict") and hasattr(found, "columns"):
        return found.to_dict(orient="records")
    if isinstance(found, dict):
        return {name: as_json(value) for name, value in found.items()}
    return found.tolist() if hasattr(found, "tolist") else found


def _frames() -> Any:
    return importlib.import_module("pandas")
