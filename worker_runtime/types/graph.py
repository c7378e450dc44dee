"""What a model file says about itself, before any configuration."""

from msgspec import Struct


class GraphTensor(Struct, frozen=True):
    """A graph input or output. A dim is a size, -1 (unnamed) or the name of a symbolic dim.

    ``shape`` is None where the graph does not even tell the rank.
    """

    name: str
    datatype: str
    shape: tuple[int | str, ...] | None

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
