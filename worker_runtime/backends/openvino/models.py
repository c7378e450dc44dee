"""OpenVINO models as files and graphs, shaped as a configuration wants them, or completing it."""

from pathlib import Path
from typing import Any

import openvino as ov

from worker_runtime.backends.base import LoadSpec
from worker_runtime.backends.openvino.parameters import OpenvinoOptions
from worker_runtime.errors import LoadFailed, Problem
from worker_runtime.types.signature import GraphTensor, ModelGraph
from worker_runtime.types.tensor import BY_NAME, BY_NUMBER

_TYPES: dict[str, Any] = {
    "BOOL": ov.Type.boolean,
    "UINT8": ov.Type.u8,
    "UINT16": ov.Type.u16,
    "UINT32": ov.Type.u32,
    "UINT64": ov.Type.u64,
    "INT8": ov.Type.i8,
    "INT16": ov.Type.i16,
    "INT32": ov.Type.i32,
    "INT64": ov.Type.i64,
    "FP16": ov.Type.f16,
    "FP32": ov.Type.f32,
    "FP64": ov.Type.f64,
}
_NAMES = {kind.get_type_name(): name for name, kind in _TYPES.items()}


def read_model(core: Any, spec: LoadSpec) -> Any:
    """Raises LoadFailed with OpenVINO's own words."""
    path = spec.path / (spec.filename or "model.xml")
    if not path.exists():
        message = f"unable to find '{path}' for model '{spec.name}'"
        raise LoadFailed(message, Problem("ModelLoadFailed", message, model=spec.name))
    return attempt(lambda: core.read_model(str(_inner(path))), "reading model", spec.name)


def _inner(path: Path) -> Path:
    """A directory may hold an ONNX model with its external data; others are models themselves."""
    inner = path / "model.onnx"
    return inner if inner.is_file() else path


def graph_of(model: Any) -> ModelGraph:
    """Inputs and outputs under their first names; unnamed outputs are called after their node."""
    return ModelGraph(
        inputs=tuple(_tensor(port) for port in model.inputs),
        outputs=tuple(_tensor(port) for port in model.outputs),
    )


def has_batch_layout(model: Any) -> bool:
    """Every tensor's layout tells which axis is the batch: what Triton asks for to complete it."""
    ports = (*model.inputs, *model.outputs)
    layouts = [ov.layout_helpers.get_layout(port) for port in ports]
    return bool(ports) and all(
        ov.layout_helpers.has_batch(layout) and ov.layout_helpers.batch_idx(layout) == 0
        for layout in layouts
    )


def shaped(model: Any, spec: LoadSpec, options: OpenvinoOptions) -> Any:
    """The model with the types, the dims and the batch axis that the configuration asks for.

    Raises LoadFailed. Tensors that only one of them knows stay as they are: told elsewhere.
    """
    config, name = spec.config, spec.name
    ports = {port_name(port): port for port in model.inputs}
    inputs = {item.name: item for item in config.input if item.name in ports}
    shapes = {key: ports[key].get_partial_shape() for key in inputs}
    if config.max_batch_size > 0:
        batch = config.max_batch_size if options.fixed_batch else -1
        shapes = {key: _with_batch(shape, batch) for key, shape in shapes.items()}
    if options.reshape:
        for key, item in inputs.items():
            dims = list(item.reshape.shape) if item.HasField("reshape") else list(item.dims)
            lead = list(shapes[key])[:1] if config.max_batch_size > 0 else []
            shapes[key] = ov.PartialShape([*lead, *dims])
    if shapes and (options.reshape or config.max_batch_size > 0):
        by_port = {ports[key]: shape for key, shape in shapes.items()}
        attempt(lambda: model.reshape(by_port), "setting shapes", name)
    return attempt(lambda: _typed(model, config), "apply model preprocessing", name)


def _with_batch(shape: Any, batch: int) -> Any:
    if shape.rank.is_dynamic or shape.rank.get_length() < 1:
        return shape
    return ov.PartialShape([batch, *list(shape)[1:]])


def _typed(model: Any, config: Any) -> Any:
    """Conversions where the configuration has other types than the model."""
    steps = ov.preprocess.PrePostProcessor(model)
    changed = False
    for number, port in enumerate(model.inputs):
        wanted = _wanted(config.input, port)
        if wanted is not None:
            steps.input(number).tensor().set_element_type(wanted)
            changed = True
    for number, port in enumerate(model.outputs):
        wanted = _wanted(config.output, port)
        if wanted is not None:
            steps.output(number).tensor().set_element_type(wanted)
            changed = True
    return steps.build() if changed else model


def _wanted(items: Any, port: Any) -> Any:
    for item in items:
        if item.name == port_name(port):
            wanted = _TYPES.get(BY_NUMBER[item.data_type].name) if item.data_type else None
            return wanted if wanted != port.get_element_type() else None
    return None


def port_name(port: Any) -> str:
    """What an input or output is called outside."""
    names = port.get_names()
    if names:
        return str(port.get_any_name())
    node = port.get_node()
    source = node.input_value(0).get_node() if node.get_type_name() == "Result" else node
    return str(source.get_friendly_name())


def _tensor(port: Any) -> GraphTensor:
    shape = port.get_partial_shape()
    kind = port.get_element_type().get_type_name()
    if shape.rank.is_dynamic:
        return GraphTensor(port_name(port), _NAMES.get(kind, kind), None)
    dims = tuple(-1 if dim.is_dynamic else dim.get_length() for dim in shape)
    return GraphTensor(port_name(port), _NAMES.get(kind, kind), dims)


def attempt(action: Any, what: str, model: str) -> Any:
    """Raises LoadFailed with OpenVINO's own words."""
    try:
        return action()
    except Exception as error:  # why so wide: OpenVINO raises plain RuntimeErrors and others
        text = " ".join(str(error).split())
        message = f"openvino error in {what}: {text}"
        problem = Problem(
            "ModelLoadFailed",
            f"OpenVINO {ov.__version__} cannot load this model",
            model=model,
            detail=text,
        )
        raise LoadFailed(message, problem, "Internal") from error


def fill(spec: LoadSpec, graph: ModelGraph, *, batches: bool) -> None:
    """What a model tells about its configuration: as much as Triton's backend takes.

    Fill lists of inputs and outputs that are empty, max_batch_size and dynamic_batching.

    ``batches``: the model's layouts say so. A list that is given is left as it is.
    """
    config = spec.config
    if batches:
        if config.max_batch_size == 0 and not spec.max_batch_given:
            config.max_batch_size = max(1, spec.default_max_batch_size)
        if config.max_batch_size > 1 and not config.WhichOneof("scheduling_choice"):
            config.dynamic_batching.SetInParent()
    for field, tensors in ((config.input, graph.inputs), (config.output, graph.outputs)):
        if not len(field):
            for tensor in tensors:
                _add(field, tensor, batched=config.max_batch_size > 0)


def _add(field: Any, tensor: GraphTensor, *, batched: bool) -> None:
    datatype = BY_NAME.get(tensor.datatype)
    dims = tensor.dims[1:] if batched else tensor.dims
    added = field.add(name=tensor.name, dims=dims)
    if datatype is not None:
        added.data_type = datatype.number
