"""The backends that Triton knows by file name, and the ones that run here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelFormat:
    """``filename`` is what a version directory holds by default."""

    backend: str
    platform: str
    filename: str
    served: bool = False
    cpu_instances: int = 1


FORMATS = (
    ModelFormat("onnxruntime", "onnxruntime_onnx", "model.onnx", served=True, cpu_instances=2),
    ModelFormat("identity", "", "", served=True),
    ModelFormat("repeat", "", "", served=True),
    ModelFormat("square", "", "", served=True),
    ModelFormat("pytorch", "pytorch_libtorch", "model.pt"),
    ModelFormat("pytorch", "torch_aoti", "model.pt2"),
    ModelFormat("tensorrt", "tensorrt_plan", "model.plan"),
    ModelFormat("tensorflow", "tensorflow_savedmodel", "model.savedmodel"),
    ModelFormat("tensorflow", "tensorflow_graphdef", "model.graphdef"),
    ModelFormat("openvino", "", "model.xml"),
    ModelFormat("python", "", "model.py"),
)

ENSEMBLE = "ensemble"  # a platform without a backend: the server runs it itself

SERVED = tuple(item.backend for item in FORMATS if item.served)


def by_backend(backend: str) -> ModelFormat | None:
    return next((item for item in FORMATS if item.backend == backend), None)


def by_platform(platform: str) -> ModelFormat | None:
    return next((item for item in FORMATS if item.platform and item.platform == platform), None)


def by_filename(filename: str) -> ModelFormat | None:
    return next((item for item in FORMATS if item.filename and item.filename == filename), None)
