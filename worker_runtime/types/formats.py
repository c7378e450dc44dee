"""The backends that Triton knows by file name, and the ones that run here."""

from msgspec import Struct


class ModelFormat(Struct, frozen=True):
    """``filename`` is what a version directory holds by default.

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
