"""What the server adds to a sequence's requests: control inputs, which tell a model where in its
sequence a request stands, and implicit state, which is kept from one request to the next.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from msgspec import Struct

from worker_runtime.backends.base import Array
from worker_runtime.types.request import PlannedInput, SequencePart
from worker_runtime.types.tensor import DataType

Shapes = tuple[tuple[int, ...], ...]


class ControlKind(StrEnum):
    START = "CONTROL_SEQUENCE_START"
    END = "CONTROL_SEQUENCE_END"
    READY = "CONTROL_SEQUENCE_READY"
    CORRID = "CONTROL_SEQUENCE_CORRID"


class ControlSpec(Struct, frozen=True):
    """One control input. ``values`` are what false and true look like; CORRID has none."""

    name: str
    kind: ControlKind
    datatype: DataType
    values: tuple[Any, Any] = (False, True)


class Controls:
    """The control inputs of a model, each of shape [1], or [1, 1] where it batches."""

    def __init__(self, specs: Sequence[ControlSpec], *, batched: bool) -> None:
        self._shape = (1, 1) if batched else (1,)
        self._flags = [spec for spec in specs if spec.kind is not ControlKind.CORRID]
        self._id = next((spec for spec in specs if spec.kind is ControlKind.CORRID), None)
        ordered = [*self._flags, self._id] if self._id is not None else self._flags
        self.planned = tuple(
            PlannedInput(
                spec.name, spec.datatype, self._shape, self._shape, spec.datatype.item_size or -1
            )
            for spec in ordered
        )
        self._pairs = [
            [np.array(value, spec.datatype.dtype).reshape(self._shape) for value in spec.values]
            for spec in self._flags
        ]

    @property
    def id_type(self) -> DataType | None:
        """The data type of the correlation id input, None when the model has none."""
        return self._id.datatype if self._id is not None else None

    @property
    def id_name(self) -> str:
        return self._id.name if self._id is not None else ""

    def buffers(self, part: SequencePart | None) -> list[Array]:
        """The values for one request, in the order of ``planned``; None is a row not ready."""
        found = [
            pair[_is_set(spec.kind, part)]
            for spec, pair in zip(self._flags, self._pairs, strict=True)
        ]
        if self._id is not None:
            found.append(self._id_value(self._id.datatype, 0 if part is None else part.id))
        return found

    def _id_value(self, datatype: DataType, value: int | str) -> Array:
        if not datatype.item_size:
            text = np.empty(self._shape, dtype=object)
            text.reshape(-1)[0] = value.encode() if isinstance(value, str) else b""
            return text
        # The low bytes of the unsigned number, whatever the type makes of them: as Triton copies.
        number = value if isinstance(value, int) else 0
        raw = number.to_bytes(8, "little")[: datatype.item_size]
        return np.frombuffer(raw, dtype=datatype.dtype).reshape(self._shape)


def _is_set(kind: ControlKind, part: SequencePart | None) -> bool:
    if part is None:
        return False
    if kind is ControlKind.READY:
        return True
    return part.start if kind is ControlKind.START else part.end


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
