"""What an OpenVINO model tells about its configuration: as much as Triton's backend takes."""

from typing import Any

from worker_runtime.backends.base import LoadSpec
from worker_runtime.types.graph import GraphTensor, ModelGraph
from worker_runtime.types.tensor import BY_NAME


def fill(spec: LoadSpec, graph: ModelGraph, *, batches: bool) -> None:
    """Fill lists of inputs and outputs that are empty, max_batch_size and dynamic_batching.

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
