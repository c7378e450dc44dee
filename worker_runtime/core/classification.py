"""The classification extension: an output as its top k ``value:index[:label]`` texts."""

from typing import Any

import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.signature import Signature
from worker_runtime.types.strings import string_array

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
            "class result not available for output due to unsupported type "
            f"'{spec.datatype.name}'"
        )
    batched = signature.max_batch_size > 0 and array.ndim > 0
    rows = array.shape[0] if batched else 1
    flat = array.reshape(rows, -1)
    if flat.shape[1] > _MAX_ELEMENTS:
        raise InvalidArgument(f"output '{name}' has too many elements to classify: {flat.shape[1]}")
    k = min(count, flat.shape[1])
    texts: list[bytes] = []
    for row in flat:
        # why stable on the negated float: numpy has no descending stable sort.
        order = np.argsort(-row.astype(np.float64), kind="stable")[:k]
        texts.extend(_text(row[i], int(i), spec.labels) for i in order)
    result = string_array(texts)
    return result.reshape(rows, k) if batched else result


def _text(value: Any, index: int, labels: tuple[str, ...]) -> bytes:
    shown = f"{float(value):.6f}" if value.dtype.kind == "f" else str(int(value))
    label = f":{labels[index]}" if index < len(labels) else ""
    return f"{shown}:{index}{label}".encode()
