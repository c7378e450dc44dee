"""The backends by name, imported on use: a missing library must only hurt who needs it."""

import importlib

from worker_runtime.backends.base import Backend
from worker_runtime.errors import LoadFailed, Problem

CATALOG = {
    "onnxruntime": "worker_runtime.backends.onnxruntime:OnnxRuntimeBackend",
    "python": "worker_runtime.backends.python.backend:PythonBackend",
    "pytorch": "worker_runtime.backends.pytorch.backend:PytorchBackend",
    "identity": "worker_runtime.backends.identity:IdentityBackend",
    "repeat": "worker_runtime.backends.repeat:RepeatBackend",
    "square": "worker_runtime.backends.square:SquareBackend",
}


def backend(name: str) -> Backend:
    """The backend called ``name``. Raises LoadFailed when there is none."""
    target = CATALOG.get(name)
    if target is None:
        message = (
            f"unable to find backend library for backend '{name}': available are "
            + ", ".join(CATALOG)
        )
        raise LoadFailed(message, Problem("BackendUnsupported", message))
    module, _, attribute = target.partition(":")
    try:
        found: Backend = getattr(importlib.import_module(module), attribute)()
    except ImportError as error:
        message = f"backend '{name}' cannot be used: {error}"
        raise LoadFailed(message, Problem("BackendUnsupported", message)) from error
    return found
