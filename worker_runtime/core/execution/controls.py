"""Control inputs: tensors that tell a model where in its sequence a request stands."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from msgspec import Struct

from worker_runtime.backends.base import Array
from worker_runtime.types.request import PlannedInput, SequencePart
from worker_runtime.types.tensor import DataType


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
