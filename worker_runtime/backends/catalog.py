"""The backends by name, imported on use: a missing library must only hurt who needs it.

Those of other packages come by entry points of the group ``shoal.backends``; they cannot take the
name of a built-in one.
"""

import importlib
from collections.abc import Callable

from worker_runtime.backends.base import Backend
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.types.backends import described, third_party

CATALOG = {
    "onnxruntime": "worker_runtime.backends.onnxruntime.backend:OnnxRuntimeBackend",
    "python": "worker_runtime.backends.python.backend:PythonBackend",
    "pytorch": "worker_runtime.backends.pytorch.backend:PytorchBackend",
    "openvino": "worker_runtime.backends.openvino.backend:OpenvinoBackend",
    "tensorflow": "worker_runtime.backends.tensorflow:TensorflowBackend",
    "tensorrt": "worker_runtime.backends.tensorrt.backend:TensorrtBackend",
    "fil": "worker_runtime.backends.fil.backend:FilBackend",
    "identity": "worker_runtime.backends.identity:IdentityBackend",
    "repeat": "worker_runtime.backends.repeat:RepeatBackend",
    "square": "worker_runtime.backends.square:SquareBackend",
}
# What pip calls the library that a backend needs; Shoal's extra of the backend's name has it too.
PACKAGES = {
    "onnxruntime": "onnxruntime-gpu",
    "pytorch": "torch",
    "openvino": "openvino",
    "tensorflow": "tensorflow",
    "tensorrt": "tensorrt",
    "fil": "treelite",
}


def backend(name: str) -> Backend:
    """The backend called ``name``. Raises LoadFailed when there is none, or it has no library."""
    target = CATALOG.get(name)
    if target is not None:
        return _made(name, lambda: _attribute(target))
    points = third_party()
    point = points.get(name)
    if point is None:
        raise _unusable(
            f"unable to find backend library for backend '{name}': available are "
            + ", ".join((*CATALOG, *points))
        )
    return _made(name, point.load, described(point))


def _attribute(target: str) -> Callable[[], Backend]:
    module, _, attribute = target.partition(":")
    found: Callable[[], Backend] = getattr(importlib.import_module(module), attribute)
    return found


def _made(name: str, load: Callable[[], Callable[[], Backend]], origin: str = "") -> Backend:
    """Import and make a backend; ``origin`` is the package of somebody else that has it."""
    try:
        return load()()
    except ImportError as error:
        raise _unusable(f"backend '{name}' cannot be used: {error}", _install(name)) from error
    except Exception as error:  # why so wide: somebody else's code, and only this model needs it
        if not origin:
            raise
        raise _unusable(f"backend '{name}' of package {origin} cannot be used: {error}") from error


def _install(name: str) -> str:
    package = PACKAGES.get(name)
    return f"pip install {package} (extra '{name}' of Shoal)" if package else ""


def _unusable(message: str, hint: str = "") -> LoadFailed:
    problem = Problem("BackendUnsupported", message, hints=(hint,) if hint else ())
    return LoadFailed(f"{message}. Install it with: {hint}" if hint else message, problem)
