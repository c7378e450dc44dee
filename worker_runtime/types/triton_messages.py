"""Triton's protobuf messages: the modules of its client's package, without the client."""

import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_PACKAGE = "tritonclient.grpc"


def _modules(*names: str) -> list[Any]:
    """The named modules of the package, which are the same that a client in this process has.

    why not ``from tritonclient.grpc import``: the package imports the client, gRPC and more in its
    ``__init__``, a tenth of the time that a server takes to start and a tenth of its memory.
    """
    found = find_spec("tritonclient")
    if _PACKAGE in sys.modules or found is None or not found.submodule_search_locations:
        return [import_module(f"{_PACKAGE}.{name}") for name in names]
    bare = ModuleType(_PACKAGE)
    bare.__path__ = [f"{folder}/grpc" for folder in found.submodule_search_locations]
    sys.modules[_PACKAGE] = bare
    try:
        return [import_module(f"{_PACKAGE}.{name}") for name in names]
    finally:
        del sys.modules[_PACKAGE]  # who asks for the client gets it whole


model_config_pb2, service_pb2 = _modules("model_config_pb2", "service_pb2")
