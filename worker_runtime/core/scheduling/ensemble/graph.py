"""The steps of an ensemble, as its configuration has them, and how one request flows through them.

Pure: no time, no models. Each tensor has iterations: a step that answers several times writes 0, 1,
2... and a step runs once for each number under which all of its inputs are there.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct

from worker_runtime.types.repository import display_name, key_of

_MAX_COURSES = 256
Due = tuple[int, int]  # the index of a step and an iteration
Form = tuple[str, tuple[int, ...], int]  # data type, shape, batch size (0: nothing batches)
SequenceNote = tuple[int | str, bool, bool]  # id, start, end
NO_SEQUENCE: SequenceNote = (0, False, False)


class Step(Struct, frozen=True):
    """``version`` is "" for the highest READY one. The maps go from model names to tensors.

    ``model`` is a key of `types.repository`.
    """

    index: int
    model: str
    version: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"step {self.index} ('{display_name(self.model)}')"


class Course(NamedTuple):
    """What runs for one choice of outputs: the steps that only others need are left out.

    ``routes``: for every tensor how many take it, and which steps do: the answer may be one more.
    ``wanted``: how many tensors each step waits for.
    """

    requested: tuple[str, ...]
    routes: Mapping[str, tuple[int, tuple[int, ...]]]
    wanted: tuple[int, ...]


class EnsembleGraph:
    """``models``: name and version of each model, once; ``optional``: inputs."""

    def __init__(self, config: Any) -> None:
        self.name: str = config.name
        self.steps = tuple(
            Step(
                index,
                key_of(step.model_name, step.model_namespace),
                "" if step.model_version < 0 else str(step.model_version),
                tuple(sorted(step.input_map.items())),
                tuple(sorted(step.output_map.items())),
            )
            for index, step in enumerate(config.ensemble_scheduling.step)
        )
        self.outputs = tuple(item.name for item in config.output)
        self.optional = tuple(item.name for item in config.input if item.optional)
        self._producer = {tensor: step for step in self.steps for _, tensor in step.outputs}
        readers: dict[str, list[int]] = {
            name: [] for name in (*(item.name for item in config.input), *self.outputs)
        }
        for step in self.steps:
            for _, tensor in (*step.inputs, *step.outputs):
                readers.setdefault(tensor, [])
            for tensor in dict.fromkeys(tensor for _, tensor in step.inputs):
                readers[tensor].append(step.index)
        self.models = tuple(dict.fromkeys((step.model, step.version) for step in self.steps))
        self._wanted = tuple(len({tensor for _, tensor in step.inputs}) for step in self.steps)
        self._consumers = {tensor: tuple(steps) for tensor, steps in readers.items()}
        self._courses: dict[tuple[str, ...], Course] = {}

    def readers(self, tensor: str) -> tuple[int, ...]:
        """The steps that take it, by their index."""
        return self._consumers.get(tensor, ())

    def course(self, requested: tuple[str, ...]) -> Course:
        """Worked out once for each choice; ``requested`` is in the order of the configuration."""
        found = self._courses.get(requested)
        if found is None:
            if len(self._courses) >= _MAX_COURSES:
                self._courses.clear()
            found = self._courses[requested] = self._course(requested)
        return found

    def _course(self, requested: tuple[str, ...]) -> Course:
        routes = {
            name: (len(steps) + (name in requested), steps)
            for name, steps in self._prune(frozenset(requested)).items()
        }
        return Course(requested, routes, self._wanted)

    def _prune(self, requested: frozenset[str]) -> Mapping[str, tuple[int, ...]]:
        """Walk backwards from what nobody wants, dropping steps all of whose outputs are idle."""
        readers = {tensor: set(steps) for tensor, steps in self._consumers.items()}
        wanted_outputs = {step.index: len(step.outputs) for step in self.steps}
        idle = [name for name in self.outputs if name not in requested and not readers[name]]
        while idle:
            step = self._producer.get(idle.pop())
            if step is None:
                continue  # an input of the ensemble
            wanted_outputs[step.index] -= 1
            if wanted_outputs[step.index]:
                continue
            for tensor in dict.fromkeys(tensor for _, tensor in step.inputs):
                readers[tensor].discard(step.index)
                if not readers[tensor] and tensor not in requested:
                    idle.append(tensor)
        return {tensor: tuple(sorted(steps)) for tensor, steps in readers.items()}


class Tensor(Struct, gc=False):
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
