"""Complete a configuration from the model's own graph, and compare the two.

As Triton's ONNX Runtime backend does it: nothing is completed when inputs and outputs are both
given; texts are that backend's own. Deviations, on purpose:

- an explicit ``max_batch_size: 0`` is kept (Triton takes it for absent);
- a partial list of inputs or outputs is merged with the graph by name, where Triton leaves it as
  it is and then refuses it;
- dims that include the batch axis leave such a model unbatched.
"""

from typing import Any

from worker_runtime.errors import ConfigInvalid, Problem
from worker_runtime.repository.normalise import fill_scheduling
from worker_runtime.types.signature import GraphTensor, ModelGraph
from worker_runtime.types.tensor import BY_NAME, BY_NUMBER

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
    if (config.input or config.batch_input) and config.output:
        return {"max_batch_size": "config", "inputs": "config", "outputs": "config"}
    provenance = {"max_batch_size": "config" if max_batch_given else "model"}
    if batchable(graph):
        open_choice = not max_batch_given and config.max_batch_size == 0
        if open_choice and not _has_full_dims(config, graph):
            config.max_batch_size = max(0, default_max_batch_size)
            provenance["max_batch_size"] = "default"
        if config.max_batch_size > 1 and not config.WhichOneof("scheduling_choice"):
            config.dynamic_batching.SetInParent()
            provenance["dynamic_batching"] = "default"
        fill_scheduling(config)
    elif config.max_batch_size:
        raise _invalid(
            f"autofill failed for model '{config.name}': model does not support batching while "
            "non-zero max_batch_size is specified",
            "max_batch_size",
            f"got {config.max_batch_size}; expected 0: not every first dimension is variable",
        )
    hidden = _hidden(config)
    batched = config.max_batch_size > 0
    provenance["inputs"] = _merge(config, "input", graph.inputs, hidden, batched=batched)
    provenance["outputs"] = _merge(config, "output", graph.outputs, hidden, batched=batched)
    return provenance


def batchable(graph: ModelGraph) -> bool:
    """Every input and output has a variable first dim, but those that are shape tensors."""
    tensors = (*graph.inputs, *graph.outputs)
    return any(not tensor.shape_tensor for tensor in graph.inputs) and all(
        tensor.shape_tensor or (tensor.shape is not None and tensor.dims[:1] == (-1,))
        for tensor in tensors
    )


def scalars(config: Any, graph: ModelGraph) -> frozenset[str]:
    """Tensors without dims in the graph, which a model that does not batch configures as [1]."""
    if config.max_batch_size > 0:
        return frozenset()
    return frozenset(t.name for t in (*graph.inputs, *graph.outputs) if t.shape == ())


def _hidden(config: Any) -> set[str]:
    """Tensors that the server itself feeds and keeps: clients never see them."""
    batching = config.sequence_batching
    names = {item.name for item in batching.control_input}
    for state in batching.state:
        names |= {state.input_name, state.output_name}
    for item in config.batch_input:
        names |= set(item.target_name)
    return names


def _has_full_dims(config: Any, graph: ModelGraph) -> bool:
    """Some configured tensor has as many dims as the graph: its batch axis is spelled out."""
    ranks = {
        t.name: len(t.dims)
        for t in (*graph.inputs, *graph.outputs)
        if t.shape is not None and not t.shape_tensor
    }
    return any(
        len(item.dims) == ranks.get(item.name) and not item.HasField("reshape")
        for item in (*config.input, *config.output)
        if item.dims
    )


def _merge(
    config: Any, kind: str, tensors: tuple[GraphTensor, ...], hidden: set[str], *, batched: bool
) -> str:
    """Merge the graph's tensors into ``config.input`` or ``.output`` by name."""
    field = getattr(config, kind)
    known = {tensor.name: tensor for tensor in tensors}
    provenance = "config" if len(field) else "model"
    for item in field:
        tensor = known.get(item.name)
        if tensor is not None and not (item.data_type and item.dims):
            provenance = "config+model"
            _fill(config, item, tensor, f"{kind}[{list(field).index(item)}]", batched=batched)
    given = {item.name for item in field} | hidden
    if any(item.name not in known for item in field):
        return provenance  # a list of something else is told as it is
    # why only inputs are added to a partial list: outputs that are left out are a choice.
    if kind == "input" or not len(field):
        for tensor in tensors:
            if tensor.name not in given:
                provenance = "config+model" if provenance != "model" else provenance
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
    if tensor.shape_tensor:
        item.is_shape_tensor = True
    if item.dims:
        return
    if tensor.shape is None:
        item.dims.append(-1)
        return
    if tensor.shape_tensor:
        item.dims.extend(_values(tensor, batched=batched) or (1,))
        return
    dims = tensor.dims[1:] if batched else tensor.dims
    item.dims.extend(dims or (1,))
    # why only where it batches: elsewhere an empty reshape is no valid configuration (scalars()).
    if not dims and batched:
        item.reshape.SetInParent()


def _values(tensor: GraphTensor, *, batched: bool) -> tuple[int, ...]:
    """The dims of a shape tensor: requests leave the batch, its first value, out."""
    return tuple(count - 1 for count in tensor.dims) if batched else tensor.dims


# --- the configuration against the graph ---------------------------------------------------------


def check_graph(config: Any, graph: ModelGraph) -> None:
    """Raises ConfigInvalid unless the model can be fed and answers as the configuration says."""
    expected = sum(not item.optional for item in config.input) + len(config.batch_input)
    expected += len({item.name for item in config.sequence_batching.control_input})
    expected += len(config.sequence_batching.state)
    if expected != len(graph.inputs):
        raise _invalid(
            f"unable to load model '{config.name}', configuration expects {expected} inputs, "
            f"model provides {len(graph.inputs)}",
            "input",
            f"the model has {', '.join(tensor.name for tensor in graph.inputs)}",
        )
    for index, item in enumerate(config.input):
        path = f"input[{index}]"
        if item.optional and config.max_batch_size:
            raise _invalid(
                f"unable to load model '{config.name}', optional input '{item.name}' is not "
                "supported for models that support batching",
                f"{path}.optional",
            )
        tensor = _tensor(item, (*graph.inputs, *graph.initializers), "input", path)
        _check_type(config, item, tensor, "input", path)
        if item.allow_ragged_batch:
            _check_ragged(config, item, tensor, path)
        else:
            _check_dims(config, item, tensor, path)
    for index, item in enumerate(config.output):
        path = f"output[{index}]"
        tensor = _tensor(item, graph.outputs, "output", path)
        _check_type(config, item, tensor, "output", path)
        if item.name not in {name for out in config.batch_output for name in out.target_name}:
            _check_dims(config, item, tensor, path)


def _tensor(item: Any, tensors: tuple[GraphTensor, ...], kind: str, path: str) -> GraphTensor:
    for tensor in tensors:
        if tensor.name == item.name:
            return tensor
    allowed = ", ".join(sorted(tensor.name for tensor in tensors))
    raise _invalid(
        f"unexpected inference {kind} '{item.name}', allowed {kind}s are: {allowed}",
        f"{path}.name",
        f'got "{item.name}"; expected one of {allowed}',
    )


def _check_type(config: Any, item: Any, tensor: GraphTensor, kind: str, path: str) -> None:
    wants = BY_NUMBER[item.data_type].config_name if item.data_type else "TYPE_INVALID"
    if wants in ("TYPE_BF16", "TYPE_INVALID"):
        raise _invalid(
            f"unsupported datatype {wants} for {kind} '{item.name}' for model '{config.name}'",
            f"{path}.data_type",
        )
    datatype = BY_NAME.get(tensor.datatype)
    if datatype is None or datatype.config_name != wants:
        # why the wire's name behind TYPE_: to the letter, also for strings
        raise _invalid(
            f"unable to load model '{config.name}', configuration expects datatype {wants} for "
            f"{kind} '{item.name}', model provides TYPE_{tensor.datatype}",
            f"{path}.data_type",
            f"got {wants}; expected {datatype.config_name if datatype else 'another model'}",
        )


def _check_ragged(config: Any, item: Any, tensor: GraphTensor, path: str) -> None:
    if tensor.shape is not None and tensor.dims != (-1,):
        # why two blanks: to the letter
        raise _invalid(
            f"unable to load model '{config.name}', configuration expects model provides input "
            f"with shape [-1]  for ragged input '{item.name}', model provides "
            f"{_shown(tensor.dims)}",
            f"{path}.allow_ragged_batch",
        )


def _check_shape_tensor(config: Any, item: Any, tensor: GraphTensor, path: str) -> None:
    if config.backend != "tensorrt":
        return  # other libraries have no such tensors, and Triton's backends for them do not look
    if item.is_shape_tensor is not tensor.shape_tensor:
        kind = "a shape tensor" if item.is_shape_tensor else "an execution tensor"
        raise _invalid(
            f"'{item.name}' is incorrectly specified as {kind}.",
            f"{path}.is_shape_tensor",
            f"got {item.is_shape_tensor}; expected {tensor.shape_tensor}",
        )
    expected = _values(tensor, batched=config.max_batch_size > 0) or (1,)
    if tensor.shape_tensor and tuple(item.dims) != expected:
        raise _invalid(
            f"model '{config.name}', shape tensor '{item.name}': the model expects "
            f"{_shown(expected)} but the model configuration specifies {_shown(item.dims)} values",
            f"{path}.dims",
            f"got {list(item.dims)}; expected {list(expected)}",
            "the batch, the first value, is left out where max_batch_size is more than 0",
        )


def _check_dims(config: Any, item: Any, tensor: GraphTensor, path: str) -> None:
    _check_shape_tensor(config, item, tensor, path)
    if tensor.shape is None or tensor.shape_tensor:
        return
    reshaped = item.HasField("reshape")
    dims = tuple(item.reshape.shape) if reshaped else tuple(item.dims)
    field = f"{path}.reshape" if reshaped else f"{path}.dims"
    start = f"model '{config.name}', tensor '{item.name}': "
    if not tensor.shape:
        if any(dim != 1 for dim in dims):
            raise _invalid(
                f"unable to load model '{config.name}', scalar tensor '{item.name}', should only "
                "provide 1 in the model configuration when the model doesn't support batching. "
                f"Model configuration provided: {_shown(dims)}.",
                field,
            )
        return
    given, note = dims, f"dimensions (shape {_shown(dims)})"
    if config.max_batch_size > 0:
        if tensor.dims[0] != -1:
            raise _invalid(
                f"{start}for the model to support batching the shape should have at least 1 "
                "dimension and the first dimension must be -1; but shape expected by the model is "
                f"{_shown(tensor.dims)}",
                "max_batch_size",
                f"got {config.max_batch_size}; expected 0",
            )
        given = (-1, *dims)
        note = (
            "dimensions (an initial batch dimension because max_batch_size > 0 followed by the "
            f"explicit tensor shape, making complete shape {_shown(given)})"
        )
    if len(given) != len(tensor.dims) or any(
        want not in (-1, got) for want, got in zip(tensor.dims, given, strict=True)
    ):
        hint = ""
        if config.max_batch_size > 0 and len(dims) == len(tensor.dims):
            hint = (
                "dims leave the batch axis out where max_batch_size is more than 0: write dims: "
                f"{list(tensor.dims[1:])}, or max_batch_size: 0"
            )
        elif not config.max_batch_size and len(dims) + 1 == len(tensor.dims):
            hint = f"write dims: {list(tensor.dims)}, or set max_batch_size"
        raise _invalid(
            f"{start}the model expects {len(tensor.dims)} dimensions (shape "
            f"{_shown(tensor.dims)}) but the model configuration specifies {len(given)} {note}",
            field,
            f"got {list(dims)}; expected {list(tensor.dims[len(given) - len(dims) :])}",
            hint,
        )


def _shown(dims: tuple[int, ...]) -> str:
    return "[" + ",".join(map(str, dims)) + "]"


def _invalid(message: str, field: str, detail: str = "", hint: str = "") -> ConfigInvalid:
    hints = (hint,) if hint else ()
    problem = Problem("ConfigInvalid", message, field=field, detail=detail, hints=hints)
    return ConfigInvalid(message, (problem,))
