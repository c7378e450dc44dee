"""What a loaded model version takes and gives: its configuration, boiled down."""

from dataclasses import dataclass
from typing import Any

from worker_runtime.types.tensor import BY_NUMBER, DataType


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """One configured tensor. ``dims`` leave the batch axis out when the model batches.

    ``reshape`` is the shape that the model itself sees (again without the batch axis), or None.
    """

    name: str
    datatype: DataType
    dims: tuple[int, ...]
    reshape: tuple[int, ...] | None = None
    optional: bool = False
    labels: tuple[str, ...] = ()

    def wire_shape(self, max_batch_size: int) -> list[int]:
        """The shape as metadata shows it: with a leading -1 when the model batches."""
        return [-1, *self.dims] if max_batch_size > 0 else list(self.dims)


@dataclass(frozen=True, slots=True)
class Signature:
    model: str
    max_batch_size: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def signature_of(config: Any, labels: dict[str, tuple[str, ...]] | None = None) -> Signature:
    """Boil a complete ``inference.ModelConfig`` down; ``labels`` are by output name."""
    labels = labels or {}

    def spec(tensor: Any, *, optional: bool) -> TensorSpec:
        return TensorSpec(
            name=tensor.name,
            datatype=BY_NUMBER[tensor.data_type],
            dims=tuple(tensor.dims),
            reshape=tuple(tensor.reshape.shape) if tensor.HasField("reshape") else None,
            optional=optional,
            labels=labels.get(tensor.name, ()),
        )

    return Signature(
        model=config.name,
        max_batch_size=config.max_batch_size,
        inputs=tuple(spec(item, optional=item.optional) for item in config.input),
        outputs=tuple(spec(item, optional=False) for item in config.output),
    )
