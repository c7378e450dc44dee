"""The tensors of one ensemble request, and which steps they make ready. Pure: no time, no models.

Each tensor has iterations: a step that answers several times writes 0, 1, 2... and a step runs
once for each number under which all of its inputs are there.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from worker_runtime.core.scheduling.ensemble.graph import Course

Due = tuple[int, int]  # the index of a step and an iteration
Form = tuple[str, tuple[int, ...], int]  # data type, shape, batch size (0: nothing batches)
SequenceNote = tuple[int | str, bool, bool]  # id, start, end
NO_SEQUENCE: SequenceNote = (0, False, False)


class Tensor(msgspec.Struct, gc=False):
    """``data`` is an array or raw bytes, passed on as it is.

    ``form`` None: it was left out, as optional ones may be. ``sequence`` is what its step said,
    None for inputs.
    """

    form: Form | None
    data: Any = None
    sequence: SequenceNote | None = None


class _Iteration:
    """``taken``: how often each tensor that is there was; ``missing`` inputs of each step and
    ``unanswered`` outputs are still to be written.
    """

    __slots__ = ("held", "missing", "taken", "unanswered")

    def __init__(self, course: Course) -> None:
        self.held: dict[str, Tensor] = {}
        self.taken: dict[str, int] = {}
        self.missing = list(course.wanted)
        self.unanswered = len(course.requested)


class Flow:
    """``due`` steps have got all of their inputs; the answer is complete for ``answered``."""

    __slots__ = ("_course", "_first", "_iterations", "_written", "answered", "due")

    def __init__(self, course: Course) -> None:
        self._course = course
        self._first = _Iteration(course)
        self._iterations: dict[int, _Iteration] = {}  # the others
        self._written: dict[str, int] = {}
        self.due: list[Due] = []
        self.answered: int | None = None

    def put(self, name: str, tensor: Tensor) -> None:
        """Write the next iteration of ``name``, which is forgotten at once when nobody reads it."""
        written = self._written
        iteration = written.get(name, 0)
        written[name] = iteration + 1
        readers, consumers = self._course.routes[name]
        if not readers:
            return
        at = self._iterations.get(iteration) if iteration else self._first
        if at is None:
            at = self._iterations[iteration] = _Iteration(self._course)
        at.held[name] = tensor
        missing = at.missing
        for index in consumers:
            missing[index] -= 1
            if not missing[index]:
                self.due.append((index, iteration))
        if readers > len(consumers):  # the answer takes it, too
            at.unanswered -= 1
            if not at.unanswered:
                self.answered = iteration

    def take(self, names: tuple[str, ...], iteration: int) -> list[Tensor]:
        """The tensors for one reader; what nobody else reads is forgotten.

        One that a step has as several inputs is read once.
        """
        at = self._iterations[iteration] if iteration else self._first
        held, taken, routes = at.held, at.taken, self._course.routes
        found = [held[name] for name in names]
        for name in names if len(names) == 1 else set(names):
            readers = routes[name][0]
            if readers > 1:
                taken[name] = taken.get(name, 0) + 1
                if taken[name] < readers:
                    continue
            del held[name]
        if iteration and not held:
            del self._iterations[iteration]
        return found


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
