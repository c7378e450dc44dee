"""The tensor data types of the protocol: wire name, config name, numpy type and item size."""

from typing import Any

import msgspec
import numpy as np


class DataType(msgspec.Struct, frozen=True):
    """``item_size`` is in bytes, 0 for BYTES; numpy has no BF16: its bits travel as integers."""

    name: str
    config_name: str
    number: int
    dtype: np.dtype[Any]
    item_size: int


def _row(name: str, number: int, numpy_name: str, size: int) -> DataType:
    config_name = "TYPE_STRING" if name == "BYTES" else f"TYPE_{name}"
    return DataType(name, config_name, number, np.dtype(numpy_name), size)


# Numbers are those of inference.DataType in Triton's model_config.proto.
DATA_TYPES = (
    _row("BOOL", 1, "?", 1),
    _row("UINT8", 2, "u1", 1),
    _row("UINT16", 3, "<u2", 2),
    _row("UINT32", 4, "<u4", 4),
    _row("UINT64", 5, "<u8", 8),
    _row("INT8", 6, "i1", 1),
    _row("INT16", 7, "<i2", 2),
    _row("INT32", 8, "<i4", 4),
    _row("INT64", 9, "<i8", 8),
    _row("FP16", 10, "<f2", 2),
    _row("FP32", 11, "<f4", 4),
    _row("FP64", 12, "<f8", 8),
    _row("BYTES", 13, "O", 0),
    _row("BF16", 14, "<u2", 2),
)

BY_NAME = {row.name: row for row in DATA_TYPES}
BY_NUMBER = {row.number: row for row in DATA_TYPES}
BY_DTYPE = {row.dtype: row for row in DATA_TYPES if row.name != "BF16"}

_MANY_AXES = 64
_BEYOND = 2**128


def element_count(shape: tuple[int, ...]) -> int:
    """How many elements a tensor of ``shape`` holds (1 for a scalar)."""
    if len(shape) > _MANY_AXES:
        return _of_many_axes(shape)
    count = 1
    for dim in shape:
        count *= dim
    return count


def _of_many_axes(shape: tuple[int, ...]) -> int:
    """The same, or any number beyond 64 bits: exact products of thousands take long to make."""
    if 0 in shape:
        return 0
    count = 1
    for dim in shape:
        count *= dim
        if abs(count) > _BEYOND:
            return _BEYOND
    return count
