"""The backends that there are: Triton's, known by file name; those of other packages; shared code.

Nothing of those that are not built in is imported here.
"""

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from msgspec import Struct

GROUP = "shoal.backends"
SHARED_FILE = "model.py"
_INFORMATION = (".dist-info", ".egg-info", "EGG-INFO")


class ModelFormat(Struct, frozen=True):
    """A backend that Triton knows. ``filename`` is what a version directory holds by default.

    A ``family`` is a backend that Triton itself knows: its platform must fit it. Without ``gpu``
    its instances of KIND_AUTO are on the CPU, whatever the machine has.
    """

    backend: str
    platform: str
    filename: str
    served: bool = False
    cpu_instances: int = 1
    family: bool = False
    gpu: bool = True


# In the order in which files are looked for.
FORMATS = (
    ModelFormat(
        "tensorflow",
        "tensorflow_savedmodel",
        "model.savedmodel",
        served=True,
        cpu_instances=2,
        family=True,
    ),
    ModelFormat(
        "tensorflow",
        "tensorflow_graphdef",
        "model.graphdef",
        served=True,
        cpu_instances=2,
        family=True,
    ),
    ModelFormat("tensorrt", "tensorrt_plan", "model.plan", served=True, family=True),
    ModelFormat(
        "onnxruntime",
        "onnxruntime_onnx",
        "model.onnx",
        served=True,
        cpu_instances=2,
        family=True,
    ),
    ModelFormat("openvino", "", "model.xml", served=True, gpu=False),
    ModelFormat("pytorch", "pytorch_libtorch", "model.pt", served=True, family=True),
    ModelFormat("pytorch", "torch_aoti", "model.pt2", served=True, family=True),
    ModelFormat("python", "", "model.py", served=True),
    ModelFormat("fil", "", "", served=True, gpu=False),
    ModelFormat("identity", "", "", served=True),
    ModelFormat("repeat", "", "", served=True),
    ModelFormat("square", "", "", served=True),
)

ENSEMBLE = "ensemble"  # a platform without a backend: the server runs it itself

SERVED = tuple(dict.fromkeys(item.backend for item in FORMATS if item.served))


def by_backend(backend: str) -> ModelFormat | None:
    return next((item for item in FORMATS if item.backend == backend), None)


def by_platform(platform: str) -> ModelFormat | None:
    return next((item for item in FORMATS if item.platform and item.platform == platform), None)


def by_filename(filename: str) -> ModelFormat | None:
    return next((item for item in FORMATS if item.filename and item.filename == filename), None)


def is_family(backend: str) -> bool:
    return any(item.family and item.backend == backend for item in FORMATS)


def family_of_platform(platform: str) -> str:
    """The backend that a platform belongs to, "" when Triton does not know the platform."""
    found = by_platform(platform)
    return found.backend if found is not None and found.family else ""


def third_party() -> dict[str, Any]:
    """Entry points by backend name. Looked up anew: packages may come while the server runs."""
    if not _may_be_there():
        return {}
    from importlib.metadata import entry_points  # noqa: PLC0415 # 20 ms, and few need it

    return {point.name: point for point in entry_points(group=GROUP)}


def _may_be_there() -> bool:
    """Whether the metadata of an installed package speaks of such a backend, or cannot be read."""
    lists = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if lists != [PathFinder]:  # packages that lie elsewhere than in folders
        return True
    return any(_speaks(folder or ".") for folder in sys.path)


def _speaks(folder: str) -> bool:
    try:
        with os.scandir(folder) as found:
            packages = [entry.path for entry in found if entry.name.endswith(_INFORMATION)]
    except FileNotFoundError:
        return False
    except OSError:  # an archive of packages, for instance
        return True
    return any(GROUP.encode() in _entry_points(package) for package in packages)


def _entry_points(package: str) -> bytes:
    """The file as it is: a name of a group cannot be written otherwise."""
    try:
        with open(f"{package}/entry_points.txt", "rb") as file:  # noqa: PTH123 # a hundred of them
            return file.read()
    except OSError:  # most have none; a folder that cannot be read offers nothing either
        return b""


def described(point: Any) -> str:
    """The package that offers a backend, for people. ``point`` is an entry point."""
    package = point.dist
    return f"{package.name} {package.version}" if package is not None else str(point.value)


def shared_backends(directory: Path | None) -> dict[str, Path]:
    """The folders below ``directory`` with a ``model.py`` that serves all models of their name."""
    if directory is None:
        return {}
    return {found.parent.name: found.parent for found in sorted(directory.glob(f"*/{SHARED_FILE}"))}
