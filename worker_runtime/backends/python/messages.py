"""Requests and responses as messages: what the two processes tell each other about tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from worker_runtime.backends.base import Array, BackendRequest
from worker_runtime.backends.python.regions import (
    RegionLoans,
    inputs_on_device,
    windows_of,
)
from worker_runtime.backends.python.stub.shoal_stub.memory import Arena, Window, elsewhere
from worker_runtime.errors import (
    AlreadyExists,
    BackendFailed,
    Cancelled,
    Internal,
    InvalidArgument,
    NotFound,
    RuntimeFault,
    Unavailable,
    Unknown,
    Unsupported,
)
from worker_runtime.types.request import Response
from worker_runtime.types.tensor import (
    BY_DTYPE,
    BY_NAME,
    element_count,
    parse_strings,
    write_strings,
)

# TRITONSERVER_Error_Code
_FAULTS: tuple[type[RuntimeFault], ...] = (
    Unknown, BackendFailed, NotFound, InvalidArgument, Unavailable, Unsupported, AlreadyExists,
    Cancelled,
)  # fmt: skip
_START, _END = 1, 2
_ON_DEVICE = elsewhere(0)
INLINE_BYTES = 4 * 2**10  # a block of shared memory costs more than the copies of so much


def fault_of(code: int, text: str) -> RuntimeFault:
    """A model's error as a fault."""
    return (_FAULTS[code] if 0 <= code < len(_FAULTS) else Internal)(text)


def code_of(error: Exception) -> int:
    """Triton's number for a fault, for the model that asked."""
    for code, kind in enumerate(_FAULTS):
        if isinstance(error, kind):
            return code
    return 1


def tensor_message(name: str, datatype: str, array: Array, arena: Arena) -> list[Any]:
    """An array as the model's process reads it: a small one whole, others put into ``arena``.

    Raises MemoryError.
    """
    data: Any = array
    if datatype == "BYTES":
        data = write_strings(array)
        size = len(data)
    else:
        size = array.nbytes
        if size <= INLINE_BYTES:
            data = array.tobytes()
        elif not array.flags.c_contiguous:
            data = np.ascontiguousarray(array)
    return [name, datatype, array.shape, data if size <= INLINE_BYTES else arena.put(data, size)]


def request_message(
    number: int,
    request: BackendRequest,
    types: Mapping[str, str],
    arena: Arena,
    inputs: list[Any] | None = None,
) -> dict[str, Any]:
    """One request for the model; ``types`` are the data types of its inputs by name.

    ``inputs`` may be described already.
    """
    message: dict[str, Any] = {
        "n": number,
        "id": request.id,
        "inputs": [
            tensor_message(name, types[name], array, arena)
            for name, array in request.inputs.items()
        ]
        if inputs is None
        else inputs,
        "outputs": request.outputs,
    }
    if request.timeout_ns:
        message["timeout"] = request.timeout_ns // 1000
    if request.parameters:
        message["parameters"] = msgspec.json.encode(request.parameters).decode()
    trace = request.trace
    if trace is not None and trace.context:
        message["trace"] = trace.context
    sequence = request.sequence
    if sequence is not None:
        message["corr"] = sequence.id
        message["flags"] = sequence.start * _START | sequence.end * _END
    return message


def device_request_message(
    number: int,
    request: BackendRequest,
    types: Mapping[str, str],
    arena: Arena,
    loans: RegionLoans,
    *,
    stay: bool,
    windows: bool,
) -> dict[str, Any]:
    """The same for a model on a GPU.

    ``stay``: inputs in clients' device memory are not copied. ``windows``: outputs that clients
    want there may be put there by the model's process.
    """
    places = inputs_on_device(request, loans) if stay else {}
    if places:
        on_host = request.host_inputs(places)
        inputs = []
        for item in request.source.plan.inputs:
            name, datatype = item.name, types[item.name]
            if name in places:
                inputs.append([name, datatype, item.shape, _ON_DEVICE])
            else:
                inputs.append(tensor_message(name, datatype, on_host[name], arena))
        message = request_message(number, request, types, arena, inputs)
        message["places"] = places
    else:
        message = request_message(number, request, types, arena)
    wanted = windows_of(request, loans) if windows else {}
    if wanted:
        message["windows"] = wanted
    return message


def arrays_of(tensors: Sequence[Any], window: Window, model: str) -> tuple[list[str], list[Array]]:
    """Names and arrays of described tensors: views of shared memory. Raises InvalidArgument."""
    names, arrays = [], []
    for name, datatype, shape, block in tensors:
        raw = window.look(block)
        names.append(name)
        shape = tuple(shape)
        if datatype == "BYTES":
            array = parse_strings(raw.tobytes(), element_count(shape), name, model)
            arrays.append(array.reshape(shape))
        else:
            arrays.append(raw.view(BY_NAME[datatype].dtype).reshape(shape))
    return names, arrays


def response_of(data: Mapping[str, Any], window: Window, model: str) -> Response:
    """What a model answered."""
    error = data.get("error")
    if error is not None:
        return Response(error=fault_of(error[0], error[1]))
    names, arrays = arrays_of(data["tensors"], window, model)
    return Response(tuple(names), arrays, data.get("parameters"))


def response_message(response: Response | None, arena: Arena) -> dict[str, Any] | None:
    """An answer of another model for the one that called it."""
    if response is None:
        return None
    if response.error is not None:
        return {"error": [code_of(response.error), str(response.error)]}
    types = response.types or [BY_DTYPE[array.dtype].name for array in response.arrays]
    tensors = [
        tensor_message(name, datatype, array, arena)
        for name, datatype, array in zip(response.names, types, response.arrays, strict=True)
    ]
    return {"tensors": tensors, "parameters": response.parameters}
