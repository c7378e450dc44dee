"""The classification extension: an output as its top k ``value:index[:label]`` texts."""

from typing import Any

import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.signature import Signature
from worker_runtime.types.tensor import string_array

_CLASSIFIABLE = frozenset(
    {"UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP32", "FP64"}
)
_MAX_ELEMENTS = 1_000_000


def classify(
    signature: Signature, name: str, array: "np.ndarray[Any, Any]", count: int
) -> "np.ndarray[Any, Any]":
    """An object array of bytes: ``[rows, k]`` when the model batches, ``[k]`` otherwise.

    Sorted by value, highest first; ties keep the lower index first. Raises InvalidArgument.
    """
    spec = next(item for item in signature.outputs if item.name == name)
    if spec.datatype.name not in _CLASSIFIABLE:
        raise InvalidArgument(
            f"class result not available for output due to unsupported type '{spec.datatype.name}'"
        )
    batched = signature.max_batch_size > 0 and array.ndim > 0
    rows = array.shape[0] if batched else 1
    columns = array.size // rows if rows else 0
    if columns > _MAX_ELEMENTS:
        raise InvalidArgument("classification output tensor too large")
    k = min(count, columns)
    texts: list[bytes] = []
    for row in array.reshape(rows, columns):
        texts.extend(_text(row[i], int(i), spec.labels) for i in _descending(row)[:k])
    result = string_array(texts)
    return result.reshape(rows, k) if batched else result


def _descending(row: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    """Positions by value, highest first, equal ones in their order; NaN comes last."""
    if row.dtype.kind == "f":
        return np.argsort(-row, kind="stable")
    # why backwards: there is no stable descending sort, and negated integers overflow.
    return len(row) - 1 - np.argsort(row[::-1], kind="stable")[::-1]


def _text(value: Any, index: int, labels: tuple[str, ...]) -> bytes:
    shown = f"{float(value):.6f}" if value.dtype.kind == "f" else str(int(value))
    label = f":{labels[index]}" if index < len(labels) and labels[index] else ""
    return f"{shown}:{index}{label}".encode()
