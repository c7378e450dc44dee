"""Tensors about a batch: made of the requests in it, or cut by their shapes."""

from enum import IntEnum
from typing import Any

from msgspec import Struct

from worker_runtime.types.tensor import BY_NUMBER, DataType


class BatchInputKind(IntEnum):
    """Numbers of ``inference.BatchInput.Kind``."""

    ELEMENT_COUNT = 0
    ACCUMULATED_ELEMENT_COUNT = 1
    ACCUMULATED_ELEMENT_COUNT_WITH_ZERO = 2
    MAX_ELEMENT_COUNT_AS_SHAPE = 3
    ITEM_SHAPE = 4
    ITEM_SHAPE_FLATTEN = 5


class BatchInput(Struct, frozen=True):
    """Fed to every one of ``targets``; ``source`` is the input whose shapes it tells."""

    kind: BatchInputKind
    targets: tuple[str, ...]
    datatype: DataType
    source: str


class BatchTensors(Struct, frozen=True):
    """``scattered``: by output that comes as one flat tensor, the input whose shapes cut it."""

    inputs: tuple[BatchInput, ...] = ()
    scattered: tuple[tuple[str, str], ...] = ()


def batch_tensors_of(config: Any) -> BatchTensors | None:
    """What an ``inference.ModelConfig`` says of them; None when it says nothing."""
    if not config.batch_input and not config.batch_output:
        return None
    return BatchTensors(
        inputs=tuple(
            BatchInput(
                BatchInputKind(item.kind),
                tuple(item.target_name),
                BY_NUMBER[item.data_type],
                item.source_input[0],
            )
            for item in config.batch_input
        ),
        scattered=tuple(
            (target, item.source_input[0])
            for item in config.batch_output
            for target in item.target_name
        ),
    )
