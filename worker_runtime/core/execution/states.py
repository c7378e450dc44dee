"""Implicit state: tensors that the server keeps per sequence between two of its requests."""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from worker_runtime.backends.base import Array
from worker_runtime.types.request import PlannedInput
from worker_runtime.types.tensor import DataType

Shapes = tuple[tuple[int, ...], ...]


class StateSpec(Struct, frozen=True):
    """``initial`` is what the first request of a sequence sees, batch axis (1) included."""

    input_name: str
    output_name: str
    datatype: DataType
    dims: tuple[int, ...]
    initial: Array


class SequenceState(Struct, eq=False):
    """The state of one sequence, an array per state input. Only the event loop touches it."""

    arrays: list[Array]

    @property
    def shapes(self) -> Shapes:
        return tuple(array.shape for array in self.arrays)

    def blank(self) -> "SequenceState":
        """Something of the same shape for a row that is not ready."""
        return SequenceState([_blank(array) for array in self.arrays])


class States:
    """The state tensors of a model."""

    def __init__(self, specs: Sequence[StateSpec]) -> None:
        self.specs = tuple(specs)
        self._positions = {spec.output_name: i for i, spec in enumerate(specs)}

    def __bool__(self) -> bool:
        return bool(self.specs)

    def __contains__(self, output: str) -> bool:
        return output in self._positions

    def fresh(self) -> SequenceState:
        return SequenceState([spec.initial for spec in self.specs])

    def planned(self, shapes: Shapes) -> tuple[PlannedInput, ...]:
        """The state inputs of a request whose state has these shapes."""
        return tuple(
            PlannedInput(spec.input_name, spec.datatype, shape, shape, -1)
            for spec, shape in zip(self.specs, shapes, strict=True)
        )

    def keep(self, state: SequenceState, outputs: Mapping[str, Array]) -> None:
        """Remember what a request's execution left; an output that is absent changes nothing."""
        for name, position in self._positions.items():
            array = outputs.get(name)
            if array is not None:
                # why the copy of a view: it would keep the memory of the whole batch
                state.arrays[position] = array if array.base is None else array.copy()


def _blank(array: Array) -> Array:
    if array.dtype == object:
        return np.full(array.shape, b"", dtype=object)
    return np.zeros_like(array)
