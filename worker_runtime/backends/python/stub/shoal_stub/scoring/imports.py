"""The names by which scripts import what Azure's server gives them."""

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, Optional

from . import batching, http, schema

_REQUEST = {"AMLRequest": http.AMLRequest, "rawhttp": http.rawhttp}
_RESPONSE = {"AMLResponse": http.AMLResponse}
# Always ours: a package of that name talks to a server that does not run here.
OURS: "Mapping[str, Mapping[str, Any]]" = {
    "azureml.contrib.services": {},
    "azureml.contrib.services.aml_request": _REQUEST,
    "azureml.contrib.services.aml_response": _RESPONSE,
    "azureml_inference_server_http.api": {},
    "azureml_inference_server_http.api.aml_request": _REQUEST,
    "azureml_inference_server_http.api.aml_response": _RESPONSE,
    "shoal.scoring": {"batched": batching.batched},
}
# Ours unless the model's environment has them.
ELSE: "Mapping[str, Mapping[str, Any]]" = {
    "shoal": {},
    "azureml": {},
    "azureml.contrib": {},
    "azureml_inference_server_http": {},
    "inference_schema": {},
    "inference_schema.schema_decorators": {
        "input_schema": schema.input_schema,
        "output_schema": schema.output_schema,
    },
    "inference_schema.schema_util": {
        "is_schema_decorated": schema.is_schema_decorated,
        "get_input_schema": schema.get_input_schema,
        "get_output_schema": schema.get_output_schema,
    },
    "inference_schema.parameter_types": {},
    "inference_schema.parameter_types.abstract_parameter_type": {
        "AbstractParameterType": schema.ParameterType
    },
    "inference_schema.parameter_types.numpy_parameter_type": {
        "NumpyParameterType": schema.NumpyParameterType
    },
    "inference_schema.parameter_types.pandas_parameter_type": {
        "PandasParameterType": schema.PandasParameterType
    },
    "inference_schema.parameter_types.standard_py_parameter_type": {
        "StandardPythonParameterType": schema.StandardPythonParameterType
    },
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives modules that hold what a table says; all of them may have others below them."""

    def __init__(self, modules: "Mapping[str, Mapping[str, Any]]") -> None:
        self._modules = modules

    def find_spec(
        self, name: str, path: "Optional[Sequence[str]]" = None, target: Any = None
    ) -> "Optional[importlib.machinery.ModuleSpec]":
        del path, target
        if name not in self._modules:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        del spec  # the usual module will do

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(self._modules[module.__name__])


def offer() -> None:
    """Let scripts import these names from now on."""
    sys.meta_path.insert(0, _Finder(OURS))
    sys.meta_path.append(_Finder(ELSE))
