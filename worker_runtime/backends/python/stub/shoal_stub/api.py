"""Everything that ``triton_python_backend_utils`` has, in one place."""

from typing import Any, Optional

import numpy as np

from .model_config import ModelConfig
from .objects import (
    RELEASE_ALL,
    RELEASE_RESCHEDULE,
    RESPONSE_FINAL,
    SEQUENCE_END,
    SEQUENCE_START,
    InferenceRequest,
    InferenceResponseSender,
)
from .responses import InferenceResponse
from .service import (
    Logger,
    LogLevel,
    Metric,
    MetricFamily,
    is_model_ready,
    load_model,
    unload_model,
)
from .tensors import DTYPES, NAMES, NUMBERS, Tensor, TritonModelException, serialize_bytes
from .tensors import deserialize_bytes as _deserialize
from .values import InferenceTrace, MemoryType, PreferredMemory, TritonError

TRITONSERVER_REQUEST_FLAG_SEQUENCE_START = SEQUENCE_START
TRITONSERVER_REQUEST_FLAG_SEQUENCE_END = SEQUENCE_END
TRITONSERVER_RESPONSE_COMPLETE_FINAL = RESPONSE_FINAL
TRITONSERVER_REQUEST_RELEASE_ALL = RELEASE_ALL
TRITONSERVER_REQUEST_RELEASE_RESCHEDULE = RELEASE_RESCHEDULE
TRITONSERVER_MEMORY_CPU = MemoryType.TRITONSERVER_MEMORY_CPU
TRITONSERVER_MEMORY_GPU = MemoryType.TRITONSERVER_MEMORY_GPU

TRITON_STRING_TO_NUMPY: "dict[str, Any]" = {
    ("TYPE_STRING" if name == "BYTES" else "TYPE_" + name): kind for name, kind in DTYPES.items()
}
TRITON_STRING_TO_NUMPY["TYPE_BOOL"] = bool


def get_input_tensor_by_name(inference_request: InferenceRequest, name: str) -> "Optional[Tensor]":
    """The request's input of that name, None when it has none."""
    return _named(inference_request.inputs(), name)


def get_output_tensor_by_name(
    inference_response: InferenceResponse, name: str
) -> "Optional[Tensor]":
    return _named(inference_response.output_tensors(), name)


def _named(tensors: "list[Tensor]", name: str) -> "Optional[Tensor]":
    for tensor in tensors:
        if tensor.name() == name:
            return tensor
    return None


def get_input_config_by_name(
    model_config: "dict[str, Any]", name: str
) -> "Optional[dict[str, Any]]":
    return _configured(model_config.get("input", []), name)


def get_output_config_by_name(
    model_config: "dict[str, Any]", name: str
) -> "Optional[dict[str, Any]]":
    return _configured(model_config.get("output", []), name)


def _configured(tensors: "list[dict[str, Any]]", name: str) -> "Optional[dict[str, Any]]":
    for tensor in tensors:
        if tensor["name"] == name:
            return tensor
    return None


def using_decoupled_model_transaction_policy(model_config: "dict[str, Any]") -> bool:
    return bool(model_config.get("model_transaction_policy", {}).get("decoupled", False))


def triton_to_numpy_type(data_type: int) -> Any:
    return DTYPES.get(NAMES.get(data_type, ""))


def numpy_to_triton_type(data_type: Any) -> "Optional[int]":
    """Triton's number for a numpy type; None where it has none."""
    if data_type == np.bytes_:
        return NUMBERS["BYTES"]
    for name, kind in DTYPES.items():
        if data_type == kind:
            return NUMBERS[name]
    return None


def triton_string_to_numpy(triton_type_string: str) -> Any:
    return TRITON_STRING_TO_NUMPY[triton_type_string]


def serialize_byte_tensor(input_tensor: "np.ndarray[Any, Any]") -> Any:
    """Each element behind its length; () for no elements, None for other data types."""
    if input_tensor.size == 0:
        return ()
    if input_tensor.dtype != np.object_ and input_tensor.dtype.type != np.bytes_:
        return None
    return serialize_bytes(input_tensor)


def deserialize_bytes_tensor(encoded_tensor: bytes) -> "np.ndarray[Any, Any]":
    """A one-dimensional array of the elements."""
    items = _deserialize(bytes(encoded_tensor))
    found = np.empty(len(items), dtype=np.object_)
    found[:] = items
    return found


__all__ = [
    "TRITONSERVER_MEMORY_CPU",
    "TRITONSERVER_MEMORY_GPU",
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_END",
    "TRITONSERVER_REQUEST_FLAG_SEQUENCE_START",
    "TRITONSERVER_REQUEST_RELEASE_ALL",
    "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE",
    "TRITONSERVER_RESPONSE_COMPLETE_FINAL",
    "TRITON_STRING_TO_NUMPY",
    "InferenceRequest",
    "InferenceResponse",
    "InferenceResponseSender",
    "InferenceTrace",
    "LogLevel",
    "Logger",
    "Metric",
    "MetricFamily",
    "ModelConfig",
    "PreferredMemory",
    "Tensor",
    "TritonError",
    "TritonModelException",
    "deserialize_bytes_tensor",
    "get_input_config_by_name",
    "get_input_tensor_by_name",
    "get_output_config_by_name",
    "get_output_tensor_by_name",
    "is_model_ready",
    "load_model",
    "numpy_to_triton_type",
    "serialize_byte_tensor",
    "triton_string_to_numpy",
    "triton_to_numpy_type",
    "unload_model",
    "using_decoupled_model_transaction_policy",
]
