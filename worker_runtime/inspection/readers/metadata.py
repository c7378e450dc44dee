"""What a reader found in a model file."""

from msgspec import Struct

from worker_runtime.errors import Problem
from worker_runtime.types.signature import ModelGraph


class FileMetadata(Struct, frozen=True):
    """``graph`` describes all tensors where the file does; else names alone may be known.

    ``arguments`` and ``results``: names and types as a TorchScript method declares them.
    ``reads`` and ``writes``: names of tensors that Python code asks for and makes.
    ``fills_itself``: the model completes its configuration once it is loaded.
    """

    graph: ModelGraph | None = None
    arguments: tuple[tuple[str, str], ...] = ()
    results: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    fills_itself: bool = False
    max_batch_size: int | None = None
    producer: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def producer_said(self) -> str:
        """Who made it, wherever that stands."""
        return (self.graph.producer if self.graph else "") or self.producer

    def unusable(self) -> str:
        """What no configuration can hold, in words; "" for what it can."""
        batch = self.max_batch_size
        if batch is not None and not -(2**31) <= batch < 2**31:
            return f"max_batch_size {_shown(batch)}, expected a number of 32 bits"
        tensors = (*self.graph.inputs, *self.graph.outputs) if self.graph is not None else ()
        for tensor in tensors:
            try:
                tensor.name.encode()
            except UnicodeEncodeError:
                return f"that a tensor is called {tensor.name[:100]!r}, expected text of Unicode"
            for dim in tensor.dims:
                if dim >= 2**63:
                    what = f"that tensor '{tensor.name}' has the dim {_shown(dim)}"
                    return f"{what}, expected a number of 64 bits"
        return ""


def _shown(number: int) -> str:
    # why: Python refuses to write numbers of thousands of digits
    return str(number) if number.bit_length() < 512 else f"(a number of {number.bit_length()} bits)"
