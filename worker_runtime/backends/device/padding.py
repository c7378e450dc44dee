"""Batches that are padded to another size: what is given to a model, and what is kept of it."""

from typing import Any

from worker_runtime.backends.base import BatchInput


def of_rows(item: BatchInput, rows: int) -> BatchInput:
    """An input of so many rows, without values; 0: as it is."""
    if not rows:
        return item
    return BatchInput(item.name, item.datatype, (rows, *item.shape[1:]), [])


def front(tensor: Any, rows: int) -> Any:
    """The first rows; 0: all of it."""
    return tensor[:rows] if rows else tensor
