"""SavedModels and frozen graphs from files, each as a function of named tensors."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf
from msgspec import Struct

from worker_runtime.backends.base import LoadSpec
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.files.graphs import kinds_of_graph
from worker_runtime.types.code import CodeReason
from worker_runtime.types.graph import GraphTensor, ModelGraph

SAVED, FROZEN = "model.savedmodel", "model.graphdef"
_TYPES = {
    tf.bool: "BOOL",
    tf.uint8: "UINT8",
    tf.uint16: "UINT16",
    tf.uint32: "UINT32",
    tf.uint64: "UINT64",
    tf.int8: "INT8",
    tf.int16: "INT16",
    tf.int32: "INT32",
    tf.int64: "INT64",
    tf.float16: "FP16",
    tf.float32: "FP32",
    tf.float64: "FP64",
    tf.string: "BYTES",
}


class Function(Struct, frozen=True):
    """``call`` takes and gives tensors by name; ``owner`` holds what must live as long."""

    call: Any
    inputs: Mapping[str, Any]  # TensorSpec by name
    graph: ModelGraph | None
    owner: Any


def read_function(spec: LoadSpec) -> Function:
    """Raises LoadFailed with TensorFlow's own words."""
    frozen = spec.config.platform == "tensorflow_graphdef"
    path = spec.path / (spec.filename or (FROZEN if frozen else SAVED))
    if not path.exists():
        message = f"unable to find '{path}' for model '{spec.name}'"
        raise LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name))
    _check_operators(path, spec)
    try:
        return _frozen(path, spec) if frozen else _saved(path, spec)
    except LoadFailed:
        raise
    except Exception as error:  # why so wide: TensorFlow raises its own, Python's and protobuf's
        raise _refused(spec, f"failed to load model '{spec.name}': {error}", str(error)) from error


def _check_operators(path: Path, spec: LoadSpec) -> None:
    """Raises LoadFailed for operators that read or write files, where they may not."""
    if not spec.code.limited:
        return
    graphs = [path] if path.is_file() else sorted(path.glob("saved_model.*"))
    for graph in graphs:
        name = f"{spec.name}/{spec.version}/{graph.relative_to(spec.path).as_posix()}"
        for kind, description in kinds_of_graph(graph):
            spec.code.check(CodeReason(name, kind, "", f"{name} {description}."), spec.name)


def _saved(path: Path, spec: LoadSpec) -> Function:
    tag = spec.parameters.get("TF_GRAPH_TAG", "")
    owner = tf.saved_model.load(str(path), tags=[tag] if tag else None)
    wanted = spec.parameters.get("TF_SIGNATURE_DEF") or _default(owner.signatures)
    if wanted not in owner.signatures:
        known = ", ".join(owner.signatures) or "none"
        raise _refused(
            spec,
            f"unable to load model '{spec.name}': it has no signature '{wanted}', but {known}",
            hints=("parameter TF_SIGNATURE_DEF chooses one",),
        )
    call = owner.signatures[wanted]
    inputs = dict(call.structured_input_signature[1])
    graph = ModelGraph(_tensors(inputs), _tensors(dict(call.structured_outputs)), "tensorflow")
    return Function(call, inputs, graph, owner)


def _default(signatures: Mapping[str, Any]) -> str:
    """The usual name, or the only signature there is."""
    usual = "serving_default"
    return next(iter(signatures)) if len(signatures) == 1 else usual


def _frozen(path: Path, spec: LoadSpec) -> Function:
    """A frozen graph does not say which of its tensors are meant: the configuration does."""
    definition = tf.compat.v1.GraphDef()
    definition.ParseFromString(path.read_bytes())

    def imported() -> None:
        tf.import_graph_def(definition, name="")

    owner = tf.compat.v1.wrap_function(imported, [])
    names = [item.name for item in spec.config.input]
    outputs = [item.name for item in spec.config.output]
    feeds = [_node(owner.graph, name, "input", spec) for name in names]
    fetches = [_node(owner.graph, name, "output", spec) for name in outputs]
    pruned = owner.prune(feeds, fetches)

    def call(**given: Any) -> dict[str, Any]:
        found = pruned(*[given[name] for name in names])
        return dict(zip(outputs, found, strict=True))

    inputs = {
        name: tf.TensorSpec(feed.shape, feed.dtype, name)
        for name, feed in zip(names, feeds, strict=True)
    }
    given = {
        name: tf.TensorSpec(t.shape, t.dtype) for name, t in zip(outputs, fetches, strict=True)
    }
    return Function(call, inputs, ModelGraph(_tensors(inputs), _tensors(given)), owner)


def _node(graph: Any, name: str, kind: str, spec: LoadSpec) -> Any:
    try:
        return graph.get_tensor_by_name(name if ":" in name else f"{name}:0")
    except (KeyError, ValueError) as error:
        message = f"unexpected inference {kind} '{name}', the graph has no such tensor"
        raise _refused(spec, message, str(error)) from None


def _tensors(specs: Mapping[str, Any]) -> tuple[GraphTensor, ...]:
    return tuple(_tensor(name, specs[name]) for name in sorted(specs))


def _tensor(name: str, spec: Any) -> GraphTensor:
    datatype = _TYPES.get(spec.dtype, spec.dtype.name)
    if spec.shape.rank is None:
        return GraphTensor(name, datatype, None)
    return GraphTensor(name, datatype, tuple(-1 if d is None else d for d in spec.shape.as_list()))


def _refused(
    spec: LoadSpec, message: str, detail: str = "", hints: Sequence[str] = ()
) -> LoadFailed:
    problem = Problem(
        "ModelLoadFailed", message, model=spec.name, detail=detail, hints=tuple(hints)
    )
    return LoadFailed(message, problem, "Internal")
