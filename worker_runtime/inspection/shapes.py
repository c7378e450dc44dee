"""The JSON shapes that inspection prints and reads."""

from typing import Any

from worker_runtime.errors import Problem
from worker_runtime.types.graph import GraphTensor, ModelGraph
from worker_runtime.types.signature import TensorSpec


def problem_json(problem: Problem, model: str = "") -> dict[str, Any]:
    return {
        "severity": problem.severity,
        "model": problem.model or model,
        "code": problem.code,
        "message": problem.message,
        "detail": problem.detail,
        "hints": list(problem.hints),
        "line": problem.line,
        "column": problem.column,
        "field": problem.field,
    }


def validation_json(problem: Problem) -> dict[str, Any]:
    fix = {"label": problem.fix_label, "text": problem.fix} if problem.fix else None
    return {
        "severity": problem.severity,
        "code": problem.code,
        "line": problem.line,
        "column": problem.column,
        "field": problem.field,
        "message": problem.message,
        "hint": problem.hint or problem.detail,
        "fix": fix,
    }


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


def graph_json(graph: ModelGraph) -> dict[str, Any]:
    def tensors(items: tuple[GraphTensor, ...]) -> list[dict[str, Any]]:
        return [
            {"name": t.name, "datatype": t.datatype, "shape": list(t.shape or ())} for t in items
        ]

    return {
        "inputs": tensors(graph.inputs),
        "outputs": tensors(graph.outputs),
        "producer": graph.producer,
        "opset": graph.opset,
    }


def graph_from_json(data: dict[str, Any]) -> ModelGraph:
    """The graph that ``graph_json`` printed. Raises KeyError or TypeError for other data."""

    def tensors(items: list[dict[str, Any]]) -> tuple[GraphTensor, ...]:
        return tuple(GraphTensor(t["name"], t["datatype"], tuple(t["shape"])) for t in items)

    return ModelGraph(
        tensors(data["inputs"]),
        tensors(data["outputs"]),
        data.get("producer") or "",
        data.get("opset"),
    )
