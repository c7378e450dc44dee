"""Python models: what ``model.py`` says of its tensors, read from its syntax tree alone."""

import ast
import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.inspection.readers.metadata import FileMetadata
from worker_runtime.types.signature import GraphTensor, ModelGraph

MAX_BYTES = 8 * 2**20
CLASS = "TritonPythonModel"


def read_python(path: Path, model: str) -> FileMetadata:
    """Raises LoadFailed for a file that Python cannot read, or that lacks what Triton calls."""
    shown = f"{path.parent.name}/{path.name}"
    try:
        tree = ast.parse(path.read_bytes()[:MAX_BYTES], filename=shown)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 0
        at = f", line {line}" if line else ""
        text = getattr(error, "msg", None) or str(error) or "nested too deeply"
        raise _refused(model, "PythonSyntaxError", f"{shown}{at}: {text}") from error
    found = next(
        (item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == CLASS), None
    )
    if found is None:
        raise _class_missing(tree, model, shown)
    methods = {item.name: item for item in found.body if isinstance(item, ast.FunctionDef)}
    asynchronous = {item.name for item in found.body if isinstance(item, ast.AsyncFunctionDef)}
    if "execute" not in methods and "execute" not in asynchronous and not found.bases:
        raise _refused(
            model,
            "PythonModelIncomplete",
            f"{CLASS} in {shown} has no method execute",
            f"add `def execute(self, requests):` to {CLASS}",
        )
    completes = methods.get("auto_complete_config")
    inputs, outputs, batch = _completed(completes) if completes else ([], [], None)
    reads, writes = _names(tree)
    graph = ModelGraph(tuple(inputs), tuple(outputs), "model.py") if inputs and outputs else None
    return FileMetadata(
        graph=graph,
        reads=tuple(dict.fromkeys(reads)),
        writes=tuple(dict.fromkeys(writes)),
        fills_itself=completes is not None,
        max_batch_size=batch,
        producer="model.py",
    )


def _class_missing(tree: ast.Module, model: str, shown: str) -> LoadFailed:
    classes = [item.name for item in tree.body if isinstance(item, ast.ClassDef)]
    close = difflib.get_close_matches(CLASS, classes, n=1, cutoff=0.4)
    hint = f"rename {close[0]} to {CLASS}" if close else f"define `class {CLASS}:` with execute"
    return _refused(
        model,
        "PythonModelMissing",
        f"{shown} has no class {CLASS}",
        hint,
        detail=f"classes there: {', '.join(classes) or 'none'}",
    )


def _refused(model: str, code: str, message: str, *hints: str, detail: str = "") -> LoadFailed:
    return LoadFailed(message, Problem(code, message, model=model, detail=detail, hints=hints))


def _completed(method: ast.FunctionDef) -> tuple[list[GraphTensor], list[GraphTensor], int | None]:
    """The tensors that ``auto_complete_config`` adds, where they are written out as literals."""
    literals = _literals(method)
    inputs: list[GraphTensor] = []
    outputs: list[GraphTensor] = []
    batch: int | None = None
    for call in _calls(method):
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if not call.args:
            continue
        if name == "set_max_batch_size":
            value = _value(call.args[0], literals)
            batch = value if isinstance(value, int) else batch
        target = {"add_input": inputs, "add_output": outputs}.get(name)
        if target is None:
            continue
        values = _value(call.args[0], literals)
        for value in values if isinstance(values, list) else [values]:
            tensor = _tensor(value)
            if tensor is not None:
                target.append(tensor)
    return inputs, outputs, batch


def _literals(method: ast.FunctionDef) -> dict[str, Any]:
    """Names with a literal value; a loop variable stands for the whole list that it walks."""
    found: dict[str, Any] = {}
    for node in ast.walk(method):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.For):
            target, value = node.target, node.iter
        else:
            continue
        if isinstance(target, ast.Name):
            literal = _value(value, found)
            if literal is not None:
                found[target.id] = literal
    return found


def _value(node: ast.expr, literals: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return literals.get(node.id)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _tensor(value: Any) -> GraphTensor | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    kind, dims = value.get("data_type"), value.get("dims")
    whole = isinstance(dims, list | tuple) and all(isinstance(dim, int) for dim in dims)
    if not isinstance(kind, str) or not whole:
        return None
    return GraphTensor(value["name"], _wire_name(kind), tuple(dims or ()))


def _wire_name(config_name: str) -> str:
    name = config_name.removeprefix("TYPE_")
    return "BYTES" if name == "STRING" else name


def _names(tree: ast.Module) -> tuple[list[str], list[str]]:
    """Names of tensors as they stand in the code: asked for, and made."""
    reads, writes = [], []
    calls_others = False
    for call in _calls(tree):
        name = _called(call)
        if name == "get_input_tensor_by_name" and len(call.args) > 1:
            reads += _text(call.args[1])
        elif name == "Tensor" and isinstance(call.func, ast.Attribute) and len(call.args) > 1:
            writes += _text(call.args[0])
        elif name == "InferenceRequest":
            calls_others = True
    # why none then: what it makes may be what it asks other models with.
    return reads, [] if calls_others else writes


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _text(node: ast.expr) -> list[str]:
    value = node.value if isinstance(node, ast.Constant) else None
    return [value] if isinstance(value, str) else []


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))
