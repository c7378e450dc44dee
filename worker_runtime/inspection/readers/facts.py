"""What a reader found in a model file."""

from dataclasses import dataclass, field

from worker_runtime.errors import Problem
from worker_runtime.types.graph import ModelGraph


@dataclass(frozen=True, slots=True)
class FileFacts:
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
    problems: tuple[Problem, ...] = field(default=())

    @property
    def producer_said(self) -> str:
        """Who made it, wherever that stands."""
        return (self.graph.producer if self.graph else "") or self.producer
