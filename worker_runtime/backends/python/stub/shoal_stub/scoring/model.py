"""The Python model around a scoring script.

Parameters of its configuration: AZUREML_ENTRY_SCRIPT, the place of the script, or of an MLflow
model's MLmodel, in the version's folder;
SCORING_TIMEOUT_MS, how long one ``run`` may take (else the variable of that name says). A folder
``azureml-models`` beside ``model.py`` is AZUREML_MODEL_DIR.

Inputs are REQUEST (the body) and REQUEST_HEAD (JSON: method, path, query, headers; without it a
POST of JSON), outputs RESPONSE and RESPONSE_HEAD (JSON: status, headers); all BYTES of shape [1],
or [1, 1] where the configuration has a batch (``@batched``).
A model of MLflow may have the tensors of its signature beside them, which stand for a REQUEST.
"""

import json
import logging
import os
import sys
import traceback
from typing import Any, Optional

import numpy as np

from ..api import get_input_tensor_by_name
from ..faults import Misuse, described
from ..responses import InferenceResponse
from ..tensors import Tensor
from ..values import TritonError
from . import imports, mlflow_model
from .http import AMLRequest, AMLResponse, Refused
from .mlflow_tensors import Tensors
from .script import Script

ENTRY_SCRIPT = "AZUREML_ENTRY_SCRIPT"
TIMEOUT_MS = "SCORING_TIMEOUT_MS"
MODELS = "azureml-models"
_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class ScoringScript:
    def initialize(self, args: "dict[str, str]") -> None:
        """Raises Misuse for a configuration or a script that cannot be, and what these raise."""
        version = os.path.join(args["model_repository"], args["model_version"])
        config = json.loads(args["model_config"])
        parameters = config["parameters"]
        script = _script(version, _parameter(parameters, ENTRY_SCRIPT))
        timeout = _parameter(parameters, TIMEOUT_MS) or os.environ.get(TIMEOUT_MS, "0")
        if not timeout.isdecimal():
            raise Misuse(f"{TIMEOUT_MS} is {timeout!r}, expected a whole number of milliseconds")
        _prepare(version, script)
        mlflow = mlflow_model if os.path.basename(script) == mlflow_model.MLMODEL else None
        self._script = Script(script, int(timeout), mlflow)
        self._tensors = Tensors(config) if mlflow is not None else None
        self._shape = (1, 1) if config["max_batch_size"] > 0 else (1,)
        self._script.init()

    def execute(self, requests: "list[Any]") -> "list[InferenceResponse]":
        if self._script.batched:
            return self._together(requests)
        return [self._one(request) for request in requests]

    def _one(self, request: Any) -> InferenceResponse:
        try:
            if self._tensors is not None and _bytes(request, "REQUEST") is None:
                return self._of_tensors(self._tensors, request)
            return self._response(self._script.answer(_request(request)))
        except Exception as error:  # of the script: its request has failed, and no other
            return self._failed(error)

    def _together(self, requests: "list[Any]") -> "list[InferenceResponse]":
        read: list[Any] = []
        for request in requests:
            try:
                read.append(_request(request))
            except Exception as error:  # no request for the script: it has failed, and no other
                read.append(error)
        asked = [one for one in read if not isinstance(one, Exception)]
        answers = iter(self._script.answer_together(asked) if asked else ())
        found = [one if isinstance(one, Exception) else next(answers) for one in read]
        return [
            self._failed(one) if isinstance(one, Exception) else self._sent(one) for one in found
        ]

    def _sent(self, answer: Any) -> InferenceResponse:
        try:
            return self._response(answer)
        except Exception as error:  # of an answer that is none
            return self._failed(error)

    def _failed(self, error: Exception) -> InferenceResponse:
        if isinstance(error, Refused):
            answer = AMLResponse({"message": str(error)}, error.status, json_str=True)
            return self._response(answer)
        traceback.print_exception(type(error), error, error.__traceback__)
        return InferenceResponse(error=TritonError(described(error)))

    def _of_tensors(self, tensors: Tensors, request: Any) -> InferenceResponse:
        given = {tensor.name(): tensor.as_numpy() for tensor in request.inputs()}
        wanted = request.requested_output_names()
        try:
            found = self._script.bounded(lambda: tensors.predict(given))
        except Refused as error:
            text = TritonError(str(error), TritonError.INVALID_ARG)
            return InferenceResponse(error=text)
        arrays = tensors.arrays(found)
        answers = [Tensor(name, array) for name, array in arrays.items() if name in wanted]
        if answers:
            return InferenceResponse(answers)
        return self._response(AMLResponse(mlflow_model.as_json(found), json_str=True))

    def _response(self, answer: Any) -> InferenceResponse:
        headers = answer.headers
        pairs = headers.pairs() if hasattr(headers, "pairs") else list(headers.items())
        head = {"status": answer.status_code, "headers": pairs}
        return InferenceResponse(
            [
                _tensor("RESPONSE", answer.get_data(), self._shape),
                _tensor("RESPONSE_HEAD", json.dumps(head), self._shape),
            ]
        )


def _prepare(version: str, script: str) -> None:
    """What a script finds around it: its folder, variables, names to import, a logger."""
    folder = os.path.dirname(script)
    models = os.path.join(version, MODELS)
    if os.path.isdir(models):
        os.environ["AZUREML_MODEL_DIR"] = models
    os.environ["AML_APP_ROOT"] = folder
    os.environ[ENTRY_SCRIPT] = os.path.basename(script)
    sys.path.insert(0, folder)
    os.chdir(folder)
    imports.offer()
    logging.basicConfig(level=logging.INFO, format=_LOG_FORMAT, stream=sys.stdout)


def _script(version: str, name: str) -> str:
    """Where the script lies. Raises Misuse unless that is a file below the version's folder."""
    if not name:
        raise Misuse(
            "this model is files for a scoring script: deploy it with code_configuration "
            "(docs/from-azure-ml.md)"
        )
    path = os.path.normpath(os.path.join(version, name))
    if not path.startswith(version + os.sep):
        raise Misuse(
            f"parameter {ENTRY_SCRIPT} is {name!r}, expected a file of the model's version"
        )
    if not os.path.isfile(path):
        raise Misuse(f"parameter {ENTRY_SCRIPT} is {name!r}, and there is no such file")
    return path


def _parameter(parameters: "dict[str, Any]", name: str) -> str:
    return str(parameters.get(name, {}).get("string_value", ""))


def _request(request: Any) -> AMLRequest:
    head = json.loads(_bytes(request, "REQUEST_HEAD") or b"{}")
    return AMLRequest(
        method=head.get("method", "POST"),
        path=head.get("path", "/score"),
        query=head.get("query", ""),
        headers=head.get("headers", [["Content-Type", "application/json"]]),
        body=_bytes(request, "REQUEST") or b"",
    )


def _bytes(request: Any, name: str) -> "Optional[bytes]":
    tensor = get_input_tensor_by_name(request, name)
    if tensor is None:
        return None
    array = tensor.as_numpy()
    if array.size != 1:
        raise Refused(400, f"{name} has {array.size} elements, expected 1")
    return bytes(array.reshape(-1)[0])


def _tensor(name: str, value: Any, shape: "tuple[int, ...]") -> Tensor:
    array = np.empty(shape, np.object_)
    array.reshape(-1)[0] = value.encode() if isinstance(value, str) else bytes(value)
    return Tensor(name, array)
