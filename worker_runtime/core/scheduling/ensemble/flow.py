"""The tensors of one ensemble request, and which steps they make ready. Pure: no time, no models.

Each tensor has iterations: a step that answers several times writes 0, 1, 2... and a step runs
once for each number under which all of its inputs are there.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from worker_runtime.core.scheduling.ensemble.graph import EnsembleGraph, Step

Update = tuple[str, int]  # a tensor and the iteration that was written
SequenceNote = tuple[int | str, bool, bool]  # id, start, end
NO_SEQUENCE: SequenceNote = (0, False, False)


class Tensor(NamedTuple):
    """``data`` is an array or raw bytes, passed on as it is; ``rows`` 0: nothing batches."""

    datatype: str
    shape: tuple[int, ...]
    data: Any
    rows: int


class Held(msgspec.Struct):
    """One iteration of a tensor. ``tensor`` None: it was left out, as optional ones may be.

    ``readers`` counts who still takes it; ``sequence`` is what its step said, None for inputs.
    """

    tensor: Tensor | None
    readers: int
    sequence: SequenceNote | None


class Flow:
    def __init__(self, graph: EnsembleGraph, requested: tuple[str, ...]) -> None:
        self._steps = graph.steps
        self._requested = requested
        self._consumers = graph.consumers_for(requested)
        self._held: dict[str, dict[int, Held]] = {}
        self._written: dict[str, int] = {}

    def put(
        self, name: str, tensor: Tensor | None, sequence: SequenceNote | None = None
    ) -> Update | None:
        """Write the next iteration; None when nobody reads it."""
        iteration = self._written.get(name, 0)
        self._written[name] = iteration + 1
        readers = len(self._consumers.get(name, ())) + (name in self._requested)
        if not readers:
            return None
        self._held.setdefault(name, {})[iteration] = Held(tensor, readers, sequence)
        return name, iteration

    def ready(self, updates: Iterable[Update]) -> list[tuple[Step, int]]:
        """The steps that these updates complete, each with its iteration, in order of the steps."""
        found: dict[tuple[int, int], None] = {}
        for name, iteration in updates:
            for index in self._consumers.get(name, ()):
                inputs = self._steps[index].inputs
                if all(iteration in self._held.get(tensor, ()) for _, tensor in inputs):
                    found[index, iteration] = None
        return [(self._steps[index], iteration) for index, iteration in sorted(found)]

    def take(self, step: Step, iteration: int) -> list[tuple[str, Held]]:
        """A step's inputs by the model's names; tensors that nobody else reads are forgotten."""
        taken = [(source, self._held[tensor][iteration]) for source, tensor in step.inputs]
        for tensor in dict.fromkeys(tensor for _, tensor in step.inputs):
            self._release(tensor, iteration)
        return taken

    def answer(self, updates: Iterable[Update]) -> int | None:
        """The iteration for which these updates complete the requested outputs, if any."""
        for name, iteration in updates:
            if name in self._requested and all(
                iteration in self._held.get(output, ()) for output in self._requested
            ):
                return iteration
        return None

    def take_answer(self, iteration: int) -> list[tuple[str, Held]]:
        taken = [(name, self._held[name][iteration]) for name in self._requested]
        for name in self._requested:
            self._release(name, iteration)
        return taken

    def _release(self, name: str, iteration: int) -> None:
        held = self._held[name][iteration]
        held.readers -= 1
        if not held.readers:
            del self._held[name][iteration]


def adapted(
    dims: Sequence[int], shape: tuple[int, ...], *, batching: bool, rows: int
) -> tuple[int, ...]:
    """The shape that a model with ``dims`` wants, where it batches and the tensor does not, or v.v.

    ``shape`` is the tensor's full shape and ``rows`` its batch size, 0 when its maker does not
    batch. Whatever needs no change, or cannot be helped, is returned as it is.
    """
    if batching == bool(rows):
        return shape
    fits = len(dims) == len(shape) and all(
        want in (-1, got) for want, got in zip(dims, shape, strict=True)
    )
    if batching:
        return (1, *shape) if fits else shape
    return shape[1:] if not fits and rows == 1 else shape
