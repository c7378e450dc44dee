"""The reader for a backend, and the file of a version that it reads."""

from pathlib import Path
from typing import Any

from worker_runtime.backends.catalog import backend
from worker_runtime.core.loading import ModelPlan
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.inspection.readers.openvino_ir import read_openvino
from worker_runtime.inspection.readers.python_source import read_python
from worker_runtime.inspection.readers.savedmodel import read_savedmodel
from worker_runtime.inspection.readers.torchscript import read_torch
from worker_runtime.inspection.readers.trees import TREES, read_trees
from worker_runtime.repository.onnx_file import NotOnnx, read_header
from worker_runtime.types.signature import ModelGraph

READ = ("onnxruntime", "pytorch", "python", "tensorflow", "openvino", "fil")


def read_metadata(plan: ModelPlan) -> FileMetadata | None:
    """What the first version's file tells, after a look at all of them; None: nothing can be told.

    Raises LoadFailed for a file that is missing, or not what its backend takes.
    """
    if plan.config.backend not in READ:
        return None
    found = [_read_version(plan, version) for version in plan.versions]
    return found[0]


def _read_version(plan: ModelPlan, version: int) -> FileMetadata | None:
    path = plan.directory.version_path(version) / _filename(plan.config)
    try:
        metadata = _read(plan, path)
    except OSError as error:
        shown = path.relative_to(plan.directory.path).as_posix()
        raise _unusable(plan, f"{shown} cannot be read: {error.strerror}") from error
    unusable = metadata.unusable() if metadata is not None else ""
    if unusable:
        raise _unusable(plan, f"the file of version {version} says {unusable}")
    return metadata


def _unusable(plan: ModelPlan, message: str) -> LoadFailed:
    return LoadFailed(message, Problem("ModelLoadFailed", message, model=plan.config.name))


def _read(plan: ModelPlan, path: Path) -> FileMetadata | None:
    config = plan.config
    if config.backend == "onnxruntime":
        path = path / "model.onnx" if path.is_dir() else path
    if not path.exists() or path.is_dir() != (config.backend == "tensorflow" and path.is_dir()):
        raise _missing(plan, path)
    match config.backend:
        case "onnxruntime":
            return _onnx(plan, path)
        case "pytorch" if path.suffix != ".py":
            return read_torch(path, config.name)
        case "python":
            return read_python(path, config.name)
        case "tensorflow" if path.is_dir():
            return read_savedmodel(path, config.name)
        case "openvino" if path.suffix == ".xml":
            return read_openvino(path, config.name)
        case "fil":
            return read_trees(path, config.name)
    return None


def _filename(config: Any) -> str:
    if config.default_model_filename:
        return str(config.default_model_filename)
    if config.backend == "fil":
        return TREES.get(config.parameters["model_type"].string_value or "xgboost", "xgboost.model")
    return {"onnxruntime": "model.onnx", "pytorch": "model.pt", "python": "model.py"}.get(
        config.backend, "model.xml"
    )


def _missing(plan: ModelPlan, path: Path) -> LoadFailed:
    shown = path.relative_to(plan.directory.path).as_posix()
    there = sorted(item.name for item in path.parent.iterdir())[:10] if path.parent.is_dir() else []
    return LoadFailed(
        "",
        Problem(
            "ModelLoadFailed",
            f"{shown} does not exist",
            model=plan.config.name,
            detail=f"there: {', '.join(there) or 'nothing'}",
            hints=("rename the file, or set default_model_filename",) if there else (),
        ),
    )


def _onnx(plan: ModelPlan, path: Path) -> FileMetadata:
    name = plan.config.name
    try:
        header = read_header(path)
    except NotOnnx as error:
        message = f"{path.relative_to(plan.directory.path).as_posix()} is not an ONNX file: {error}"
        hints = ("export the model with torch.onnx.export, tf2onnx or skl2onnx",)
        raise LoadFailed(
            message, Problem("NotAnOnnxFile", message, detail=str(error), hints=hints)
        ) from error
    backend("onnxruntime")  # tells what to install where the library is missing
    from worker_runtime.backends.onnxruntime.sessions import inspect_graph  # noqa: PLC0415 # on use

    graph = inspect_graph(path, name)
    return FileMetadata(
        graph=ModelGraph(
            graph.inputs,
            graph.outputs,
            header.producer,
            header.opset,
            initializers=graph.initializers,
        )
    )
