"""What a model takes and gives: as its file says, and as its configuration says, boiled down."""

from enum import IntEnum
from typing import Any

from msgspec import Struct

from worker_runtime.types.tensor import BY_NUMBER, DataType


class GraphTensor(Struct, frozen=True):
    """A graph input or output. A dim is a size, -1 (unnamed) or the name of a symbolic dim.

    ``shape`` is None where the graph does not even tell the rank. The values of a ``shape_tensor``
    are sizes, the first of which is the batch where the model batches.
    """

    name: str
    datatype: str
    shape: tuple[int | str, ...] | None
    shape_tensor: bool = False

    @property
    def dims(self) -> tuple[int, ...]:
        """The shape with every unknown dim as -1."""
        return tuple(d if isinstance(d, int) and d > 0 else -1 for d in self.shape or ())


class ModelGraph(Struct, frozen=True):
    """``initializers`` have a value of their own: inputs that a request may leave out."""

    inputs: tuple[GraphTensor, ...]
    outputs: tuple[GraphTensor, ...]
    producer: str = ""
    opset: int | None = None
    warnings: tuple[str, ...] = ()
    initializers: tuple[GraphTensor, ...] = ()


class TensorSpec(Struct, frozen=True):
    """One configured tensor. ``dims`` leave the batch axis out when the model batches.

    ``reshape`` is the shape that the model itself sees (again without the batch axis), or None.
    A ``shape_tensor`` has no batch axis. ``ragged``: requests of other shapes may share a batch.
    """

    name: str
    datatype: DataType
    dims: tuple[int, ...]
    reshape: tuple[int, ...] | None = None
    optional: bool = False
    labels: tuple[str, ...] = ()
    ragged: bool = False
    shape_tensor: bool = False

    def wire_shape(self, max_batch_size: int) -> list[int]:
        """The shape as metadata shows it: with a leading -1 when the model batches."""
        return [-1, *self.dims] if max_batch_size > 0 and not self.shape_tensor else [*self.dims]


class Signature(Struct, frozen=True):
    model: str
    max_batch_size: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


def signature_of(
    config: Any,
    labels: dict[str, tuple[str, ...]] | None = None,
    scalars: frozenset[str] = frozenset(),
) -> Signature:
    """Boil a complete ``inference.ModelConfig`` down; ``labels`` are by output name.

    ``scalars`` are tensors that have no dims in the model although their configuration, which
    cannot say so where nothing is batched, has some.
    """
    labels = labels or {}

    def spec(tensor: Any, *, optional: bool = False, ragged: bool = False) -> TensorSpec:
        reshape = tuple(tensor.reshape.shape) if tensor.HasField("reshape") else None
        return TensorSpec(
            name=tensor.name,
            datatype=BY_NUMBER[tensor.data_type],
            dims=tuple(tensor.dims),
            reshape=() if reshape is None and tensor.name in scalars else reshape,
            optional=optional,
            labels=labels.get(tensor.name, ()),
            ragged=ragged,
            shape_tensor=tensor.is_shape_tensor,
        )

    return Signature(
        model=config.name,
        max_batch_size=config.max_batch_size,
        inputs=tuple(
            spec(item, optional=item.optional, ragged=item.allow_ragged_batch)
            for item in config.input
        ),
        outputs=tuple(spec(item) for item in config.output),
    )


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
    """Tensors about a batch: made of the requests in it, or cut by their shapes.

    ``scattered``: by output that comes as one flat tensor, the input whose shapes cut it.
    """

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
