"""Complete a configuration from the model's own graph, as Triton's ONNX Runtime backend does.

Two deviations, on purpose: an explicit ``max_batch_size: 0`` is kept, and a configuration whose
dims already include the batch axis is left unbatched instead of being refused.
"""

from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.types.graph import GraphTensor, ModelGraph
from worker_runtime.types.tensor import BY_NAME

DEFAULT_MAX_BATCH_SIZE = 4


def complete(
    config: Any,
    graph: ModelGraph,
    *,
    max_batch_given: bool,
    default_max_batch_size: int = DEFAULT_MAX_BATCH_SIZE,
) -> dict[str, str]:
    """Fill inputs, outputs, max_batch_size and dynamic_batching in place; raise ConfigInvalid.

    Returns the provenance of each part: ``config``, ``model`` or ``default``.
    """
    provenance = {"max_batch_size": "config" if max_batch_given else "model"}
    open_choice = not max_batch_given and config.max_batch_size == 0
    if open_choice and batchable(graph) and not _has_full_dims(config, graph):
        config.max_batch_size = default_max_batch_size
        provenance["max_batch_size"] = "default"
        if default_max_batch_size > 1 and not config.WhichOneof("scheduling_choice"):
            config.dynamic_batching.preferred_batch_size.append(default_max_batch_size)
            provenance["dynamic_batching"] = "default"
    batched = config.max_batch_size > 0
    if batched:
        _check_batch_axis(config, graph)
    provenance["inputs"] = _merge(config, "input", graph.inputs, batched=batched)
    provenance["outputs"] = _merge(config, "output", graph.outputs, batched=batched)
    return provenance


def reserved_names(config: Any, kind: str) -> set[str]:
    """The tensors that sequence batching feeds or keeps itself: no client sends or gets them."""
    batching = config.sequence_batching
    if kind == "output":
        return {state.output_name for state in batching.state}
    return {item.name for item in batching.control_input} | {
        state.input_name for state in batching.state
    }


def batchable(graph: ModelGraph) -> bool:
    """Every input and output has a variable first dim."""
    tensors = (*graph.inputs, *graph.outputs)
    return bool(graph.inputs) and all(
        tensor.shape is not None and tensor.dims[:1] == (-1,) for tensor in tensors
    )


def _has_full_dims(config: Any, graph: ModelGraph) -> bool:
    """Some configured tensor has as many dims as the graph: its batch axis is spelled out."""
    ranks = {t.name: len(t.dims) for t in (*graph.inputs, *graph.outputs) if t.shape is not None}
    return any(
        len(item.dims) == ranks.get(item.name) and not item.HasField("reshape")
        for item in (*config.input, *config.output)
        if item.dims
    )


def _check_batch_axis(config: Any, graph: ModelGraph) -> None:
    for tensor in (*graph.inputs, *graph.outputs):
        if tensor.shape is None:
            continue
        if not tensor.shape or tensor.dims[0] not in (-1, config.max_batch_size):
            raise _invalid(
                f"model '{config.name}', tensor '{tensor.name}': the model's shape is "
                f"{_shown(tensor)} and has no variable first dimension, so it cannot batch; "
                f"max_batch_size is {config.max_batch_size}, expected 0",
                "max_batch_size",
            )


def _merge(config: Any, kind: str, tensors: tuple[GraphTensor, ...], *, batched: bool) -> str:
    """Merge the graph's tensors into ``config.input`` or ``.output`` by name."""
    field = getattr(config, kind)
    known = {tensor.name: tensor for tensor in tensors}
    provenance = "config" if len(field) else "model"
    for index, item in enumerate(field):
        tensor = known.get(item.name)
        if tensor is None:
            raise _invalid(
                f"model '{config.name}', unexpected {kind} '{item.name}': the model has "
                f"{', '.join(repr(name) for name in known) or 'none'}",
                f"{kind}[{index}].name",
            )
        if not item.data_type or not item.dims:
            provenance = "config+model"
        _fill(config, item, tensor, f"{kind}[{index}]", batched=batched)
    given = {item.name for item in field}
    tensors = tuple(tensor for tensor in tensors if tensor.name not in reserved_names(config, kind))
    # why only inputs are added to a partial list: outputs that are left out are a choice.
    if kind == "input" or not given:
        for tensor in tensors:
            if tensor.name not in given:
                provenance = "config+model" if given else provenance
                added = field.add(name=tensor.name)
                _fill(config, added, tensor, f"{kind}[{len(field) - 1}]", batched=batched)
    return provenance


def _fill(config: Any, item: Any, tensor: GraphTensor, path: str, *, batched: bool) -> None:
    datatype = BY_NAME.get(tensor.datatype)
    if datatype is None:
        raise _invalid(
            f"model '{config.name}', tensor '{tensor.name}' has the unsupported type "
            f"{tensor.datatype}",
            f"{path}.data_type",
        )
    if not item.data_type:
        item.data_type = datatype.number
    elif item.data_type != datatype.number:
        raise _invalid(
            f"model '{config.name}', tensor '{tensor.name}': the configuration says data_type "
            f"{type(config).DESCRIPTOR.file.enum_types_by_name['DataType'].values_by_number[item.data_type].name}"
            f", the model has {datatype.config_name}",
            f"{path}.data_type",
        )
    if tensor.shape is None:
        if not item.dims:
            item.dims.append(-1)
        return
    dims = tensor.dims[1:] if batched else tensor.dims
    if not item.dims:
        item.dims.extend(dims or (1,))
        if not dims:
            item.reshape.SetInParent()
        return
    model_dims = tuple(item.reshape.shape) if item.HasField("reshape") else tuple(item.dims)
    if not _compatible(model_dims, dims):
        raise _invalid(
            f"model '{config.name}', tensor '{tensor.name}': the model expects "
            f"{len(dims)} dimensions (shape {list(dims)}) but the model configuration specifies "
            f"{len(model_dims)} dimensions (shape {list(model_dims)})"
            + (", both without the batch dimension" if batched else ""),
            f"{path}.dims",
        )


def _compatible(given: tuple[int, ...], model: tuple[int, ...]) -> bool:
    if len(given) != len(model):
        return False
    return all(a == b or a == -1 or b == -1 for a, b in zip(given, model, strict=True))


def _shown(tensor: GraphTensor) -> str:
    return "[" + ",".join(str(d) for d in tensor.shape or ()) + "]"


def _invalid(message: str, field: str) -> ConfigInvalid:
    return ConfigInvalid(message, (Problem("ConfigInvalid", message, field=field),))
