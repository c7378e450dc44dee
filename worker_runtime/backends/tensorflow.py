"""TensorFlow models, read from SavedModels and frozen graphs, and batches run on them."""

import contextlib
import gc
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from msgspec import Struct

from worker_runtime.backends.base import Array, Instance, LoadSpec
from worker_runtime.backends.capabilities import ALL_TYPES, Capabilities
from worker_runtime.backends.configuration import as_integer
from worker_runtime.errors import BackendFailed, LoadFailed, Problem, Unavailable
from worker_runtime.files.graphs import kinds_of_graph
from worker_runtime.types.code import CodeReason
from worker_runtime.types.signature import GraphTensor, ModelGraph

logger = logging.getLogger(__name__)
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


class TensorflowInstance:
    """All instances on one device share the model: its functions may run at the same time."""

    def __init__(self, function: Function, device: str) -> None:
        self._function: Function | None = function
        self._device = device

    def execute(self, inputs: dict[str, Array], outputs: Sequence[str]) -> list[Array]:
        function = self._function
        if function is None:
            raise Unavailable("the model was unloaded")
        try:
            with tf.device(self._device):
                given = {
                    name: tf.constant(array, function.inputs[name].dtype)
                    for name, array in inputs.items()
                }
                found = function.call(**given)
                return [_array(found[name]) for name in outputs]
        except tf.errors.ResourceExhaustedError as error:
            raise BackendFailed(f"TensorFlow: out of memory: {error.message}") from error
        except tf.errors.OpError as error:
            raise BackendFailed(f"TensorFlow: {error.message}") from error

    def close(self) -> None:
        self._function = None


class TensorflowModel:
    """``inline`` is None: TensorFlow works in threads of its own."""

    inline: Instance | None = None

    def __init__(self, graph: ModelGraph | None, instances: Sequence[TensorflowInstance]) -> None:
        self.graph = graph
        self.instances = instances

    def close(self) -> None:
        for instance in self.instances:
            instance.close()
        self.instances = ()
        gc.collect()  # why: functions and their graphs are full of cycles


class TensorflowBackend:
    capabilities = Capabilities(datatypes=ALL_TYPES - {"BF16"})

    def load(self, spec: LoadSpec) -> TensorflowModel:
        """Raises LoadFailed or ConfigInvalid."""
        _set_threads(spec)
        for gpu in tf.config.list_physical_devices("GPU"):
            with contextlib.suppress(RuntimeError):  # it is in use already
                tf.config.experimental.set_memory_growth(gpu, True)
        functions: dict[str, Function] = {}
        instances = []
        for place in spec.placements:
            device = "/CPU:0" if place.gpu is None else f"/GPU:{place.gpu}"
            if device not in functions:
                with tf.device(device):
                    functions[device] = read_function(spec)
            instances.append(TensorflowInstance(functions[device], device))
        return TensorflowModel(next(iter(functions.values())).graph, instances)


def _set_threads(spec: LoadSpec) -> None:
    """TensorFlow has one pool for the whole process, so the first model decides."""
    for key, change in (
        ("TF_NUM_INTRA_THREADS", tf.config.threading.set_intra_op_parallelism_threads),
        ("TF_NUM_INTER_THREADS", tf.config.threading.set_inter_op_parallelism_threads),
    ):
        if key in spec.parameters:
            try:
                change(max(0, as_integer(spec.parameters[key])))
            except RuntimeError:
                logger.warning(
                    "model '%s': '%s' comes too late, TensorFlow has its threads already",
                    spec.name,
                    key,
                )


def _array(tensor: Any) -> Array:
    found = tensor.numpy()
    if isinstance(found, bytes):  # a scalar text
        scalar: Array = np.array(found, dtype=object)
        return scalar
    return np.asarray(found)
