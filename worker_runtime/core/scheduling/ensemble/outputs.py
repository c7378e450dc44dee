"""What an ensemble reads from its steps' answers and makes of their tensors in the end."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace

from worker_runtime.backends.base import Array
from worker_runtime.core.execution.executor import restored
from worker_runtime.core.scheduling.base import ServedModel
from worker_runtime.core.scheduling.ensemble.graph import (
    EnsembleGraph,
    Form,
    SequenceNote,
    Tensor,
    adapted,
)
from worker_runtime.errors import InvalidArgument, RuntimeFault
from worker_runtime.types.device_memory import DeviceBuffer
from worker_runtime.types.request import ParameterValue
from worker_runtime.types.signature import Signature, TensorSpec
from worker_runtime.types.tensor import BY_DTYPE, BY_NAME, DataType

_NAMES = ("sequence_id", "sequence_start", "sequence_end")


def sequence_parameters(
    parameters: Mapping[str, ParameterValue] | None, inherited: SequenceNote
) -> SequenceNote:
    """What later steps belong to: ``inherited``, or what a step's answer says.

    Raises InvalidArgument when it says it in a wrong type.
    """
    if not parameters or not any(name in parameters for name in _NAMES):
        return inherited
    number: Any = parameters.get("sequence_id", inherited[0])
    if isinstance(number, bool) or not isinstance(number, int | str):
        raise InvalidArgument(
            "expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or "
            "TRITONSERVER_PARAMETER_STRING"
        )
    flags = []
    for name in ("sequence_start", "sequence_end"):
        flag = parameters.get(name, False)
        if not isinstance(flag, bool):
            raise InvalidArgument(f"expect parameter '{name}' to be TRITONSERVER_PARAMETER_BOOL")
        flags.append(flag)
    return number, flags[0], flags[1]


def step_output(datatype: DataType, array: Array, rows: int, sequence: SequenceNote) -> Tensor:
    """An output as it goes on to other steps; ``rows`` 0 when its model does not batch.

    Its type is what the model gave: the next one may find that it is not what it expects.
    """
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    # why `is`: numpy's own types exist once; the long way settles the rest.
    if array.dtype is not datatype.dtype and array.dtype != datatype.dtype:
        datatype = BY_DTYPE.get(array.dtype, datatype)
    return Tensor((datatype.name, array.shape, rows), array, sequence)


def output_array(spec: TensorSpec, form: Form, data: Any, *, batching: bool) -> Array:
    """A tensor in the shape that the ensemble promises. The data is not copied."""
    datatype, shape, rows = form
    if not isinstance(data, np.ndarray):
        if isinstance(data, DeviceBuffer):
            data = bytes(data)
        data = np.frombuffer(data, BY_NAME[datatype].dtype)
    elif spec.reshape is None and batching == (rows > 0):
        found: Array = data
        return found
    dims = spec.dims if spec.reshape is None else spec.reshape
    array: Array = data.reshape(adapted(dims, shape, batching=batching, rows=rows))
    if spec.reshape is not None:
        array = restored(array, spec.dims, spec.reshape, batched=batching)
    return array


def labelled(
    signature: Signature, config: Any, resolve: Callable[[str, str], ServedModel]
) -> Signature:
    """The signature of an ensemble, with the labels that it does not give itself."""
    made = {
        tensor: (step, source)
        for step in EnsembleGraph(config).steps
        for source, tensor in step.outputs
    }
    outputs = []
    for spec in signature.outputs:
        step, source = made.get(spec.name, (None, ""))
        if not spec.labels and step is not None:
            try:
                parts = resolve(step.model, step.version).signature.outputs
            except RuntimeFault:
                parts = ()  # it has gone while we load: the manager loads us once more
            found = next((part.labels for part in parts if part.name == source), ())
            spec = replace(spec, labels=found)
        outputs.append(spec)
    return replace(signature, outputs=tuple(outputs))
