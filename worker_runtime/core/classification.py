"""The classification extension: an output as its top k ``value:index[:label]`` texts."""

import asyncio
from collections.abc import Generator, Iterable
from typing import Any

import numpy as np

from worker_runtime.errors import InvalidArgument
from worker_runtime.types.signature import Signature, TensorSpec

_CLASSIFIABLE = frozenset(
    {"UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP32", "FP64"}
)
_MAX_ELEMENTS = 1_000_000
_AT_ONCE = 4096  # elements that are sorted, and ...
_TEXTS_AT_ONCE = 1024  # written in one go, at 1.2 µs each
_GIVEN_BACK_AT_ONCE = 64 * 1024


def takes_long(array: "np.ndarray[Any, Any]", count: int) -> bool:
    """Whether to classify it in one go, ``count`` classes of each row, would hold the event loop
    up."""
    rows = len(array) if array.ndim > 1 else 1
    return array.size > _AT_ONCE or min(array.size, rows * count) > _TEXTS_AT_ONCE


def classify(
    signature: Signature, name: str, array: "np.ndarray[Any, Any]", count: int
) -> "np.ndarray[Any, Any]":
    """An object array of bytes: ``[rows, k]`` when the model batches, ``[k]`` otherwise.

    Sorted by value, highest first; ties keep the lower index first. Raises InvalidArgument.
    """
    spec, rows, columns = _rows(signature, name, array)
    k = min(count, columns)
    result = np.empty((rows, k), dtype=object)
    for i, row in enumerate(array.reshape(rows, columns)):
        result[i] = _texts(row, _descending(row)[:k], spec.labels)
    return result if _batched(signature, array) else result.reshape(k)


def classify_in_slices(
    signature: Signature, name: str, array: "np.ndarray[Any, Any]", count: int
) -> Generator["asyncio.Future[Any] | None", None, "np.ndarray[Any, Any]"]:
    """The same of an array that ``takes_long``: a thread sorts, which lets go of the interpreter.

    Each of the futures is to be waited for before the next step.
    """
    spec, rows, columns = _rows(signature, name, array)
    k = min(count, columns)
    loop = asyncio.get_running_loop()
    result = np.empty((rows, k), dtype=object)
    sorted_now = written_now = 0
    for i, row in enumerate(array.reshape(rows, columns)):
        if columns > _AT_ONCE:
            sorting = loop.run_in_executor(None, _descending, row)
            yield sorting
            order = sorting.result()[:k]
        else:
            order = _descending(row)[:k]
            sorted_now += columns
        for begin in range(0, k, _TEXTS_AT_ONCE):
            part = order[begin : begin + _TEXTS_AT_ONCE]
            result[i, begin : begin + len(part)] = _texts(row, part, spec.labels)
            written_now += len(part)
            if written_now >= _TEXTS_AT_ONCE or sorted_now >= _AT_ONCE:
                sorted_now = written_now = 0
                yield None
    return result if _batched(signature, array) else result.reshape(k)


def given_back(
    arrays: Iterable["np.ndarray[Any, Any]"],
) -> Generator[None, None, None]:
    """Let go of the texts of ``classify_in_slices``, in slices: of a million in one go, which the
    end of their array is, takes 10 ms."""
    for array in arrays:
        texts = array.reshape(-1)
        for begin in range(0, texts.size, _GIVEN_BACK_AT_ONCE):
            texts[begin : begin + _GIVEN_BACK_AT_ONCE] = None
            yield None


def _rows(
    signature: Signature, name: str, array: "np.ndarray[Any, Any]"
) -> tuple[TensorSpec, int, int]:
    """What is known of an output, and how many rows and columns it has. Raises InvalidArgument."""
    spec = next(item for item in signature.outputs if item.name == name)
    if spec.datatype.name not in _CLASSIFIABLE:
        raise InvalidArgument(
            f"class result not available for output due to unsupported type '{spec.datatype.name}'"
        )
    rows = array.shape[0] if _batched(signature, array) else 1
    columns = array.size // rows if rows else 0
    if columns > _MAX_ELEMENTS:
        raise InvalidArgument("classification output tensor too large")
    return spec, rows, columns


def _batched(signature: Signature, array: "np.ndarray[Any, Any]") -> bool:
    return signature.max_batch_size > 0 and array.ndim > 0


def _texts(
    row: "np.ndarray[Any, Any]", order: "np.ndarray[Any, Any]", labels: tuple[str, ...]
) -> list[bytes]:
    return [_text(row[i], int(i), labels) for i in order]


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
