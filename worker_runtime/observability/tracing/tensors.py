"""Tensors in traces: name, values as one text, shape, type."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from worker_runtime.types.request import Arrays, InferRequest
from worker_runtime.types.tensor import DataType


class Captured(NamedTuple):
    """``data`` is a list of values separated by commas; texts stand in quotes."""

    activity: str
    name: str
    data: str
    shape: tuple[int, ...]
    datatype: str


def capture_inputs(request: InferRequest) -> Iterator[Captured]:
    """The request's inputs as they are queued."""
    for planned, buffer in zip(request.plan.inputs, request.inputs, strict=False):
        data = _values(_array(buffer, planned.datatype), planned.datatype)
        shape, datatype = planned.shape, planned.datatype.name
        yield Captured("TENSOR_QUEUE_INPUT", planned.name, data, shape, datatype)


def fed_to_model(captured: list[Captured], *, executed: bool) -> list[Captured]:
    """The same with what the model was given; nothing more unless it was ``executed``."""
    if not executed:
        return captured
    queued = [item for item in captured if item.activity == "TENSOR_QUEUE_INPUT"]
    fed = [item._replace(activity="TENSOR_BACKEND_INPUT") for item in queued]
    return [*queued, *fed, *captured[len(queued) :]]


def capture_outputs(names: tuple[str, ...], arrays: Arrays, model: Any) -> Iterator[Captured]:
    types = {spec.name: spec.datatype for spec in model.signature.outputs}
    for name, array in zip(names, arrays, strict=False):
        datatype = types.get(name)
        if datatype is not None:
            data = _values(array, datatype)
            yield Captured("TENSOR_BACKEND_OUTPUT", name, data, array.shape, datatype.name)


def _array(buffer: Any, datatype: DataType) -> np.ndarray[Any, Any]:
    if isinstance(buffer, np.ndarray):
        return buffer
    return np.frombuffer(buffer, datatype.dtype)


def _values(array: np.ndarray[Any, Any], datatype: DataType) -> str:
    flat = array.reshape(-1)
    match datatype.name:
        case "FP16" | "BF16":
            return ""  # as in Triton: there is no text form of them
        case "BYTES":
            return ",".join(f'"{_string(item)}"' for item in flat)
        case "BOOL":
            return ",".join("1" if item else "0" for item in flat)
        case "FP32" | "FP64":
            return ",".join(f"{item:g}" for item in flat.tolist())
        case _:
            return ",".join(map(str, flat.tolist()))


def _string(item: Any) -> str:
    return item.decode("utf-8", "backslashreplace") if isinstance(item, bytes) else str(item)
