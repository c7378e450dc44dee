"""The JSON shapes that inspection prints and reads."""

from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.types.signature import GraphTensor, ModelGraph, TensorSpec

# Findings that another text of config.pbtxt can mend; all others are about the files.
CONFIG_CODES = frozenset(
    {
        "ConfigInvalid", "ConfigEncoding", "ConfigNeeded", "NameMismatch", "BackendUnknown",
        "PlatformUnknown", "PlatformConflict", "BatchingUnsupported", "PreferredBatchTooLarge",
        "QueueDelayLong",
        "TensorUnknown", "DatatypeMismatch", "ShapeMismatch", "BatchDimInDims", "TorchNaming",
        "PythonTensorUnknown", "DynamicBatchingOff", "EnsembleStepUnknown", "EnsembleMismatch",
    }
)  # fmt: skip


def problem_json(problem: Problem, model: str = "") -> dict[str, Any]:
    """``scope`` is "config" for what another config.pbtxt can mend, else "files"."""
    return {
        "scope": "config" if problem.code in CONFIG_CODES else "files",
        "fix": _fix(problem),
        "severity": problem.severity,
        "model": problem.model or model,
        "code": problem.code,
        "message": problem.message,
        "plain": problem.plain,
        "detail": problem.detail,
        "hints": list(problem.hints),
        "line": problem.line,
        "column": problem.column,
        "field": problem.field,
    }


def validation_json(problem: Problem) -> dict[str, Any]:
    return {
        "severity": problem.severity,
        "code": problem.code,
        "line": problem.line,
        "column": problem.column,
        "field": problem.field,
        "message": problem.message,
        "plain": problem.plain,
        "hint": problem.hint or problem.detail,
        "fix": _fix(problem),
    }


def _fix(problem: Problem) -> dict[str, str] | None:
    return {"label": problem.fix_label, "text": problem.fix} if problem.fix else None


def tensor_json(spec: TensorSpec, *, output: bool = False) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": spec.name,
        "datatype": spec.datatype.name,
        "shape": list(spec.dims),
        "optional": spec.optional,
    }
    if output:
        row["labels"] = list(spec.labels) or None
    return row


def metadata_json(metadata: FileMetadata, backend: str) -> dict[str, Any]:
    """``complete`` says whether inputs and outputs are all there is to know about tensors."""

    def tensors(items: tuple[GraphTensor, ...]) -> list[dict[str, Any]]:
        return [
            {"name": t.name, "datatype": t.datatype, "shape": list(t.shape or ())} for t in items
        ]

    graph = metadata.graph
    return {
        "backend": backend,
        "complete": graph is not None,
        "inputs": tensors(graph.inputs) if graph else [],
        "outputs": tensors(graph.outputs) if graph else [],
        "initializers": tensors(graph.initializers) if graph else [],
        "producer": metadata.producer_said,
        "opset": graph.opset if graph else None,
        "arguments": [{"name": name, "type": kind} for name, kind in metadata.arguments],
        "results": list(metadata.results),
        "reads": list(metadata.reads),
        "writes": list(metadata.writes),
        "fills_itself": metadata.fills_itself,
    }


def metadata_from_json(data: dict[str, Any]) -> FileMetadata:
    """What ``metadata_json`` printed. Raises KeyError or TypeError for other data."""

    def tensors(items: list[dict[str, Any]]) -> tuple[GraphTensor, ...]:
        return tuple(GraphTensor(t["name"], t["datatype"], tuple(t["shape"])) for t in items)

    producer = data.get("producer") or ""
    graph = None
    if data.get("complete", True):
        graph = ModelGraph(
            tensors(data["inputs"]),
            tensors(data["outputs"]),
            producer,
            data.get("opset"),
            initializers=tensors(data.get("initializers", [])),
        )
    return FileMetadata(
        graph=graph,
        arguments=tuple((a["name"], a["type"]) for a in data.get("arguments", [])),
        results=tuple(data.get("results", [])),
        reads=tuple(data.get("reads", [])),
        writes=tuple(data.get("writes", [])),
        fills_itself=bool(data.get("fills_itself")),
        producer=producer,
    )
